/* Device files. A GPU without its file is invisible, which is what a container without the device sees. */
#define _GNU_SOURCE
#include "call.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NVIDIA_MAJOR 195

int node_path(char *path, unsigned size, const char *name)
{
    const char *root = getenv("GPU_FLEET_SIM_DEV");
    return snprintf(path, size, "%s/%s", root && *root ? root : "/dev", name);
}

int node_exists(const char *name)
{
    char path[4096];
    struct stat st;
    node_path(path, sizeof path, name);
    if (stat(path, &st))
        return 0;
    return getenv("GPU_FLEET_SIM_DEV") ? 1 : S_ISCHR(st.st_mode) && major(st.st_rdev) == NVIDIA_MAJOR;
}

int gpu_is_visible(const struct gpu *gpu)
{
    char name[32];
    snprintf(name, sizeof name, "nvidia%u", gpu->minor);
    return node_exists(name);
}

static int capability_exists(unsigned minor)
{
    char name[48], path[4096];
    snprintf(name, sizeof name, "nvidia-caps/nvidia-cap%u", minor);
    node_path(path, sizeof path, name);
    return !access(path, F_OK);
}

/* On the host itself the administrator sees all; a folder in place of /dev is a host's unless it has nvidia-caps. */
static int sees_all_instances(void)
{
    char path[4096];
    node_path(path, sizeof path, "nvidia-caps");
    return getenv("GPU_FLEET_SIM_DEV") ? access(path, F_OK) : !access("/usr/lib/simhw", F_OK);
}

/* Minors 1 and 2 are the capabilities to configure and to monitor all instances. */
int mig_is_visible(const struct compute_instance *ci)
{
    unsigned minor = capability_minor(ci->gpu, ci->gi);
    if (sees_all_instances() || capability_exists(1) || capability_exists(2))
        return 1;
    return capability_exists(minor) && capability_exists(minor + 1 + ci->id);
}

/* The driver's ModifyDeviceFiles; the container toolkit masks it with 0 inside containers. */
static int may_modify(void)
{
    char line[256];
    int modify = 0;
    FILE *file = fopen("/proc/driver/nvidia/params", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "ModifyDeviceFiles: 1", 20))
            modify = 1;
    if (file)
        fclose(file);
    return modify;
}

static int hold(const char *name)
{
    char path[4096];
    node_path(path, sizeof path, name);
    return open(path, O_PATH | O_CLOEXEC);
}

/* A client shows in /proc/PID/fd as with the real driver. O_PATH: there is no driver behind the files, or not ours. */
int nodes_hold(const struct state *state, int *fds)
{
    char name[32];
    int count = 0, fd = hold("nvidiactl");
    if (fd >= 0)
        fds[count++] = fd;
    for (const struct gpu *g = state->gpu; g < state->gpu + state->gpus; g++) {
        snprintf(name, sizeof name, "nvidia%u", g->minor);
        if (gpu_is_visible(g) && (fd = hold(name)) >= 0)
            fds[count++] = fd;
    }
    return count;
}

static void make_node(const char *name, unsigned minor)
{
    char path[4096];
    node_path(path, sizeof path, name);
    if (mknod(path, S_IFCHR | 0666, makedev(NVIDIA_MAJOR, minor)) == 0)
        chmod(path, 0666);
}

void nodes_make(struct state *state)
{
    char name[32];
    if (getenv("GPU_FLEET_SIM_DEV") || geteuid() || access("/usr/lib/simhw", F_OK) || !may_modify())
        return;
    make_node("nvidiactl", 255);
    for (unsigned i = 0; i < state->gpus; i++) {
        snprintf(name, sizeof name, "nvidia%u", state->gpu[i].minor);
        make_node(name, state->gpu[i].minor);
    }
}
