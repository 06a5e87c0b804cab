#define _GNU_SOURCE
#include "nodes.h"

#include "text.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DRIVER "/proc/driver/nvidia"
#define CAPABILITIES DRIVER "/capabilities"
#define PERMISSIONS 0777

void node_rooted(char *path, const char *name)
{
    const char *root = getenv("GPU_FLEET_SIM_ROOT");
    snprintf(path, NODE_PATH, "%s%s", root ? root : "", name);
}

static FILE *open_rooted(const char *name)
{
    char path[NODE_PATH];
    node_rooted(path, name);
    return fopen(path, "r");
}

struct rules {
    long minor, uid, gid, mode, modify;
};

/* Lines such as DeviceFileMode: 438. What the file lacks, or all without it, is as usual. */
static struct rules read_rules(const char *file)
{
    struct rules rules = {-1, 0, 0, 0666, 1};
    const struct {
        const char *name;
        long *value;
    } known[] = {{"DeviceFileMinor", &rules.minor},    {"DeviceFileUID", &rules.uid},
                 {"DeviceFileGID", &rules.gid},        {"DeviceFileMode", &rules.mode},
                 {"ModifyDeviceFiles", &rules.modify}, {"DeviceFileModify", &rules.modify}};
    char line[256];
    FILE *lines = file ? open_rooted(file) : 0;
    while (lines && fgets(line, sizeof line, lines)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = 0;
        for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
            if (!strcmp(line, known[i].name))
                *known[i].value = parse_number(colon + 1 + strspn(colon + 1, " \t"), 0);
    }
    if (lines)
        fclose(lines);
    return rules;
}

int nodes_may_modify(void)
{
    return !access(NODE_RULES, R_OK) && read_rules(NODE_RULES).modify == 1;
}

int node_major(const char *device)
{
    char line[128];
    int found = -1;
    FILE *file = open_rooted("/proc/devices");
    while (file && fgets(line, sizeof line, file) && strncmp(line, "Block", 5)) {
        char *cursor = line, *number = next_token(&cursor), *name = next_token(&cursor);
        if (number && name && !strcmp(name, device))
            found = parse_number(number, 0);
    }
    if (file)
        fclose(file);
    return found;
}

/* /dev/char/195:0 -> ../nvidia0: systemd finds a device's file by it. The kernel's /dev has the folder, a plain one not. */
static int link_by_number(int major, int minor, const char *path)
{
    char link[NODE_PATH], target[NODE_PATH], number[64];
    struct stat st;
    node_rooted(target, path);
    if (stat(target, &st) || !S_ISCHR(st.st_mode))
        return -1;
    node_rooted(link, "/dev/char");
    mkdir(link, 0755);
    snprintf(number, sizeof number, "/dev/char/%d:%d", major, minor);
    node_rooted(link, number);
    unlink(link);
    snprintf(target, sizeof target, "../%s", path + strlen("/dev/"));
    return symlink(target, link);
}

static int is_right(const char *path, int major, int minor)
{
    struct stat st;
    return !stat(path, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(major, minor);
}

int node_make(int major, int minor, const char *path, const char *file)
{
    struct rules rules = read_rules(file);
    char real[NODE_PATH];
    node_rooted(real, path);
    if (major < 0)
        return -1;
    if (rules.modify != 1)
        return link_by_number(major, minor, path);
    if (!is_right(real, major, minor)) {
        if (unlink(real) && errno != ENOENT)
            return -1;
        if (mknod(real, S_IFCHR | (rules.mode & PERMISSIONS), makedev(major, minor)))
            return -1;
    }
    if (chmod(real, rules.mode & PERMISSIONS) || chown(real, rules.uid, rules.gid))
        return -1;
    return link_by_number(major, minor, path);
}

int node_make_capability(const char *file)
{
    char path[64], folder[NODE_PATH], real[NODE_PATH];
    struct rules rules = read_rules(file);
    node_rooted(folder, "/dev/nvidia-caps");
    node_rooted(real, file);
    if (strncmp(file, DRIVER, strlen(DRIVER)) || strstr(file, "./") || access(real, R_OK) || rules.minor < 0)
        return -1;
    if (mkdir(folder, 0755) && errno != EEXIST)
        return -1;
    snprintf(path, sizeof path, "/dev/nvidia-caps/nvidia-cap%ld", rules.minor);
    return node_make(node_major("nvidia-caps"), rules.minor, path, file);
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *place)
{
    const char *root = getenv("GPU_FLEET_SIM_ROOT");
    (void)st;
    (void)place;
    if (type == FTW_F && node_make_capability(path + (root ? strlen(root) : 0)))
        fprintf(stderr, "cannot make the device file of %s\n", path);
    return 0;
}

void node_make_capabilities(void)
{
    char folder[NODE_PATH];
    node_rooted(folder, CAPABILITIES);
    if (!access(folder, R_OK))
        nftw(folder, visit, 16, FTW_PHYS);
}
