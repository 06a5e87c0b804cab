/* Keeps /proc/driver/nvidia/capabilities/gpuN/mig in step with the instances, as the kernel module does. */
#include "call.h"
#include "text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH 512

static const char *driver_root(void)
{
    const char *root = getenv("GPU_FLEET_SIM_PROC");
    if (root && *root)
        return root;
    return state_is_overridden() ? 0 : "/proc/driver";
}

/* The static table of mig-minors: config 1, monitor 2, then 9 numbers for each of 15 GPU instances per GPU. */
unsigned capability_minor(unsigned gpu, unsigned gi)
{
    return 3 + gpu * 135 + gi * 9;
}

static void write_access(const char *folder, unsigned minor)
{
    char path[PATH + 16];
    mkdir(folder, geteuid() ? 0755 : 0555); /* without root, a folder of mode 555 could not be filled */
    snprintf(path, sizeof path, "%s/access", folder);
    FILE *file = access(path, F_OK) ? fopen(path, "w") : 0;
    if (!file)
        return;
    fprintf(file, "DeviceFileMinor: %u\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor);
    fclose(file);
}

static void remove_folder(const char *folder)
{
    char path[PATH + 16];
    snprintf(path, sizeof path, "%s/access", folder);
    unlink(path);
    rmdir(folder);
}

/* "gi7" -> 7 for the prefix "gi"; -1 for any other name. */
static int entry_number(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) || !name[length] ? -1 : (int)parse_number(name + length, 0);
}

static void remove_stale_cis(struct state *state, const char *folder, unsigned gpu, unsigned gi)
{
    char path[PATH];
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        int ci = entry_number(e->d_name, "ci");
        if (ci < 0 || ci_find(state, gpu, gi, ci) || snprintf(path, PATH, "%s/%s", folder, e->d_name) >= PATH)
            continue;
        remove_folder(path);
    }
    if (dir)
        closedir(dir);
}

static void remove_stale(struct state *state, const char *mig, unsigned gpu)
{
    char path[PATH];
    DIR *dir = opendir(mig);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        int gi = entry_number(e->d_name, "gi");
        if (gi < 0 || snprintf(path, PATH, "%s/%s", mig, e->d_name) >= PATH)
            continue;
        remove_stale_cis(state, path, gpu, gi);
        if (!gi_find(state, gpu, gi))
            remove_folder(path);
    }
    if (dir)
        closedir(dir);
}

void capabilities_sync(struct state *state)
{
    char path[PATH];
    const char *root = driver_root();
    if (!root || snprintf(path, PATH, "%s/nvidia/capabilities/mig", root) >= PATH || access(path, W_OK))
        return;
    for (struct gpu *g = state->gpu; g < state->gpu + state->gpus; g++) {
        snprintf(path, PATH, "%s/nvidia/capabilities/gpu%u/mig", root, g->minor);
        remove_stale(state, path, g->minor);
    }
    for (struct gpu_instance *i = state->gi; i < state->gi + state->gis; i++) {
        snprintf(path, PATH, "%s/nvidia/capabilities/gpu%u/mig/gi%u", root, i->gpu, i->id);
        write_access(path, capability_minor(i->gpu, i->id));
    }
    for (struct compute_instance *i = state->ci; i < state->ci + state->cis; i++) {
        snprintf(path, PATH, "%s/nvidia/capabilities/gpu%u/mig/gi%u/ci%u", root, i->gpu, i->gi, i->id);
        write_access(path, capability_minor(i->gpu, i->gi) + 1 + i->id);
    }
}
