#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include "nodes.h"

#include "text.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define CAPABILITIES "/proc/driver/nvidia/capabilities"

/* The number after "NAME:" in a file of such lines, or -1. */
static long file_number(const char *path, const char *name)
{
    char line[256];
    long found = -1;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
            found = parse_number(line + strlen(name) + 1 + strspn(line + strlen(name) + 1, " \t"), 0);
    if (file)
        fclose(file);
    return found;
}

int nodes_may_modify(void)
{
    return file_number("/proc/driver/nvidia/params", "ModifyDeviceFiles") == 1;
}

int node_major(const char *device)
{
    char line[128];
    int found = -1;
    FILE *file = fopen("/proc/devices", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *cursor = line, *number = next_token(&cursor), *name = next_token(&cursor);
        if (number && name && !strcmp(name, device))
            found = parse_number(number, 0);
    }
    if (file)
        fclose(file);
    return found;
}

int node_make(const char *path, int major, int minor, int mode)
{
    struct stat st;
    if (major < 0)
        return -1;
    if (!stat(path, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(major, minor))
        return 0;
    unlink(path);
    if (mknod(path, S_IFCHR | mode, makedev(major, minor)))
        return -1;
    return chmod(path, mode);
}

int node_make_capability(const char *file)
{
    char path[64];
    long minor = file_number(file, "DeviceFileMinor"), mode = file_number(file, "DeviceFileMode");
    if (minor < 0 || mode < 0 || (mkdir("/dev/nvidia-caps", 0755) && errno != EEXIST))
        return -1;
    snprintf(path, sizeof path, "/dev/nvidia-caps/nvidia-cap%ld", minor);
    return node_make(path, node_major("nvidia-caps"), minor, mode);
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *place)
{
    (void)st;
    (void)place;
    if (type == FTW_F && node_make_capability(path))
        fprintf(stderr, "cannot make the device file of %s\n", path);
    return 0;
}

void node_make_capabilities(void)
{
    if (!access(CAPABILITIES, R_OK))
        nftw(CAPABILITIES, visit, 16, FTW_PHYS);
}
