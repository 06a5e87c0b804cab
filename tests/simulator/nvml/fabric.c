/* The NVLink fabric of a node: what the fabric manager has done with the GPU. From Hopper on the GPU says it itself. */
#define _GNU_SOURCE
#include "call.h"
#include "text.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define UUID_BYTES 16
#define SUMMARY_BRANCH 580 /* nvml.h of CUDA 13.0 */

const struct fabric *fabric_of(const struct state *state, const struct gpu *gpu)
{
    for (const struct fabric *f = state->fabric; f < state->fabric + state->fabrics; f++)
        if (f->gpu == gpu->minor)
            return f;
    return 0;
}

int fabric_is_held(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.fabric", state_path());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    int held = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return held;
}

static void put_cluster(const char *text, unsigned char *bytes)
{
    memset(bytes, 0, UUID_BYTES);
    for (unsigned i = 0; *text && i < UUID_BYTES; text += *text == '-' ? 1 : 2) {
        char pair[3] = {text[0], text[0] == '-' ? 0 : text[1], 0};
        if (*text != '-')
            bytes[i++] = parse_hex(pair, 0);
    }
}

static void fill(const struct call *c, nvmlGpuFabricInfo_v3_t *info)
{
    const struct fabric *fabric = fabric_of(c->state, c->gpu);
    memset(info, 0, sizeof *info);
    if (!fabric)
        return;
    put_cluster(fabric->cluster, info->clusterUuid);
    info->status = fabric->status;
    info->cliqueId = fabric->clique;
    info->state = fabric->state;
    info->healthMask = fabric->health;
    info->healthSummary = fabric->summary;
}

static nvmlReturn_t read_fabric(nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *info, unsigned *branch)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetGpuFabricInfo", device, HANDLE_GPU))
        return c.code;
    fill(&c, info);
    *branch = driver_branch(c.state);
    return call_end(&c, c.gpu->model->architecture < NVML_ARCH_HOPPER ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
    nvmlGpuFabricInfo_v3_t full;
    unsigned branch;
    nvmlReturn_t code = read_fabric(device, &full, &branch);
    if (code)
        return code;
    memcpy(info->clusterUuid, full.clusterUuid, sizeof info->clusterUuid);
    info->status = full.status;
    info->cliqueId = full.cliqueId;
    info->state = full.state;
    return code;
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *info)
{
    nvmlGpuFabricInfo_v3_t full;
    unsigned branch, version = info->version;
    int has_summary = version == STRUCT_VERSION(nvmlGpuFabricInfo_v3_t, 3);
    if (!has_summary && version != STRUCT_VERSION(nvmlGpuFabricInfo_v2_t, 2))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t code = read_fabric(device, &full, &branch);
    if (!code && has_summary && branch < SUMMARY_BRANCH)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (!code)
        memcpy((char *)info + sizeof version, (char *)&full + sizeof version,
               (has_summary ? sizeof full : sizeof(nvmlGpuFabricInfo_v2_t)) - sizeof version);
    return code;
}
