/* Where a GPU sits: PCI tree, NUMA node, and what it can do with another GPU. */
#define _GNU_SOURCE
#include "call.h"
#include "text.h"

#include <string.h>
#include <unistd.h>

enum { INTERNAL = 0, SINGLE_SWITCH = 10, MULTIPLE_SWITCHES = 20, HOST_BRIDGE = 30, NODE = 40, SYSTEM = 50 };
enum { P2P_READ, P2P_WRITE, P2P_NVLINK, P2P_ATOMICS, P2P_PCI, P2P_KINDS };
enum { P2P_OK, P2P_CHIPSET, P2P_NOT_SUPPORTED = 5 };
enum { SCOPE_NODE, SCOPE_SOCKET, SCOPES };
#define BITS (8 * sizeof(unsigned long))

/* place: NUMA node, host bridge, upper and lower switch. */
static int common_ancestor(const struct gpu *one, const struct gpu *two)
{
    static const int levels[PLACE_PARTS + 1] = {SYSTEM, NODE, HOST_BRIDGE, MULTIPLE_SWITCHES, SINGLE_SWITCH};
    unsigned same = 0;
    while (same < PLACE_PARTS && one->place[same] == two->place[same])
        same++;
    return one == two ? INTERNAL : levels[same];
}

/* A second GPU beside the one of the call. NULL: no handle, or not of a GPU. */
static const struct gpu *second(const struct call *c, const void *handle)
{
    const struct handle *h = handle_check(handle);
    return h && h->kind == HANDLE_GPU ? gpu_by_minor(c->state, h->gpu) : 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t two, int *level)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetTopologyCommonAncestor", one, HANDLE_GPU))
        return c.code;
    const struct gpu *other = second(&c, two);
    if (!other || !level)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    *level = common_ancestor(c.gpu, other);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, int level, unsigned *count, nvmlDevice_t *gpus)
{
    struct call c;
    struct gpu *other;
    if (!call_on(&c, "nvmlDeviceGetTopologyNearestGpus", device, HANDLE_GPU))
        return c.code;
    unsigned found = 0, room = *count;
    for (unsigned i = 0; (other = gpu_by_index(c.state, i)); i++) {
        if (other == c.gpu || common_ancestor(c.gpu, other) != level)
            continue;
        if (gpus && found < room)
            gpus[found] = handle_of(HANDLE_GPU, other->minor, 0, 0);
        found++;
    }
    *count = found;
    int is_level = level % 10 == 0 && level >= INTERNAL && level <= SYSTEM;
    return call_end(&c, is_level ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT);
}

static int p2p_status(const struct call *c, const struct gpu *other, unsigned kind)
{
    if (c->gpu->mig || other->mig)
        return P2P_NOT_SUPPORTED;
    if (nvlink_joins(c->state, c->gpu, other))
        return P2P_OK;
    if (kind == P2P_NVLINK || kind == P2P_ATOMICS)
        return P2P_NOT_SUPPORTED;
    return common_ancestor(c->gpu, other) == SYSTEM ? P2P_CHIPSET : P2P_OK;
}

EXPORT nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t two, unsigned kind, unsigned *status)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetP2PStatus", one, HANDLE_GPU))
        return c.code;
    const struct gpu *other = second(&c, two);
    if (!other || other == c.gpu || kind >= P2P_KINDS)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    *status = p2p_status(&c, other, kind);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t one, nvmlDevice_t two, int *same)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceOnSameBoard", one, HANDLE_GPU))
        return c.code;
    const struct gpu *other = second(&c, two);
    *same = other == c.gpu;
    return call_end(&c, other ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT);
}

static const char *cpus_of(const struct state *state, unsigned node)
{
    for (const struct numa_node *n = state->node; n < state->node + state->nodes; n++)
        if (n->node == node)
            return n->cpus;
    return 0;
}

static void set_range(unsigned long *mask, unsigned words, unsigned first, unsigned last)
{
    for (unsigned cpu = first; cpu <= last && cpu < words * BITS; cpu++)
        mask[cpu / BITS] |= 1ul << cpu % BITS;
}

/* "0-3,8" -> bits. */
static void set_list(unsigned long *mask, unsigned words, const char *list)
{
    while (*list) {
        char *end;
        unsigned first = parse_number(list, &end), last = first;
        if (*end == '-')
            last = parse_number(end + 1, &end);
        set_range(mask, words, first, last);
        list = *end ? end + 1 : end;
    }
}

static int includes_cpu(const char *list, unsigned cpu)
{
    unsigned long mask[64] = {0};
    set_list(mask, 64, list ? list : "");
    return cpu < 64 * BITS && mask[cpu / BITS] >> cpu % BITS & 1;
}

static nvmlReturn_t cpu_affinity(nvmlDevice_t device, const char *function, unsigned words, unsigned long *mask)
{
    struct call c;
    if (!call_on(&c, function, device, HANDLE_GPU))
        return c.code;
    if (!words || !mask)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    memset(mask, 0, words * sizeof *mask);
    const char *cpus = cpus_of(c.state, c.gpu->place[0]);
    if (cpus)
        set_list(mask, words, cpus);
    else
        set_range(mask, words, 0, sysconf(_SC_NPROCESSORS_ONLN) - 1);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned words, unsigned long *mask)
{
    return cpu_affinity(device, "nvmlDeviceGetCpuAffinity", words, mask);
}

EXPORT nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned words, unsigned long *mask,
                                                        unsigned scope)
{
    if (scope >= SCOPES)
        return NVML_ERROR_INVALID_ARGUMENT;
    return cpu_affinity(device, "nvmlDeviceGetCpuAffinityWithinScope", words, mask);
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned words, unsigned long *mask, unsigned scope)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetMemoryAffinity", device, HANDLE_GPU))
        return c.code;
    if (!words || !mask || scope >= SCOPES)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    memset(mask, 0, words * sizeof *mask);
    set_range(mask, words, c.gpu->place[0], c.gpu->place[0]);
    return call_end(&c, NVML_SUCCESS);
}

/* The node of the GPU's own memory is there on coherent boards only: nvidia-smi topo says N/A of the others. */
EXPORT nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned *node)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetNumaNodeId", device, HANDLE_GPU))
        return c.code;
    if (!node)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    *node = c.gpu->place[0];
    return call_end(&c, c.gpu->model->coherent ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
}

EXPORT nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned cpu, unsigned *count, nvmlDevice_t *gpus)
{
    struct call c;
    struct gpu *gpu;
    if (!call_begin(&c, "nvmlSystemGetTopologyGpuSet"))
        return c.code;
    unsigned found = 0, room = *count;
    for (unsigned i = 0; (gpu = gpu_by_index(c.state, i)); i++) {
        if (!includes_cpu(cpus_of(c.state, gpu->place[0]), cpu))
            continue;
        if (gpus && found < room)
            gpus[found] = handle_of(HANDLE_GPU, gpu->minor, 0, 0);
        found++;
    }
    *count = found;
    return call_end(&c, NVML_SUCCESS);
}
