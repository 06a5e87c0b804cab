/* Memory, and the processes that use it. */
#include "call.h"

#include <string.h>

#define MIB (1024ull * 1024)
#define RESERVED_MIB 512u
#define ALL_TYPES 0

static int in_scope(const struct call *c, const struct process *process, const char *type)
{
    if (process->gpu != c->gpu->minor || (type && strcmp(process->type, type)))
        return 0;
    return !c->ci || (process->gi == c->ci->gi && (process->ci == c->ci->id || process->ci == NVML_NO_INSTANCE));
}

static unsigned used_mib(const struct call *c)
{
    unsigned used = 0, total = c->gpu->model->memory_mib - RESERVED_MIB;
    for (const struct process *p = c->state->process; p < c->state->process + c->state->processes; p++)
        if (in_scope(c, p, ALL_TYPES))
            used += p->memory_mib;
    return used < total ? used : total;
}

static unsigned total_mib(const struct call *c)
{
    return c->gi ? profile_by_id(c->gpu->model, c->gi->profile)->memory_mib : c->gpu->model->memory_mib;
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    struct call c;
    if (memory->version != STRUCT_VERSION(nvmlMemory_v2_t, 2))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (!call_on(&c, "nvmlDeviceGetMemoryInfo", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    u64 total = total_mib(&c), reserved = c.gi ? 0 : RESERVED_MIB, used = used_mib(&c);
    if (used > total - reserved)
        used = total - reserved;
    memory->total = total * MIB;
    memory->reserved = reserved * MIB;
    memory->used = used * MIB;
    memory->free = (total - used - reserved) * MIB;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    nvmlMemory_v2_t full = {STRUCT_VERSION(nvmlMemory_v2_t, 2), 0, 0, 0, 0};
    nvmlReturn_t code = nvmlDeviceGetMemoryInfo_v2(device, &full);
    if (!code)
        *memory = (nvmlMemory_t){full.total, full.free, full.used + full.reserved};
    return code;
}

EXPORT nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *memory)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetBAR1MemoryInfo", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    u64 total = c.gpu->model->bar1_mib * MIB;
    *memory = (nvmlBAR1Memory_t){total, total - MIB, MIB};
    return call_end(&c, NVML_SUCCESS);
}

static nvmlReturn_t list_processes(nvmlDevice_t device, const char *function, const char *type, unsigned *count,
                                   nvmlProcessInfo_t *infos)
{
    struct call c;
    if (!call_on(&c, function, device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    unsigned found = 0, room = *count;
    for (const struct process *p = c.state->process; p < c.state->process + c.state->processes; p++) {
        if (!in_scope(&c, p, type))
            continue;
        if (infos && found < room)
            infos[found] = (nvmlProcessInfo_t){p->pid, p->memory_mib * MIB, p->gi, p->ci};
        found++;
    }
    *count = found;
    return call_end(&c, found > room || (found && !infos) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

static nvmlReturn_t list_old(nvmlDevice_t device, const char *function, const char *type, unsigned *count,
                             nvmlProcessInfo_v1_t *infos)
{
    nvmlProcessInfo_t full[MAX_PROCESSES];
    unsigned found = *count < MAX_PROCESSES ? *count : MAX_PROCESSES;
    nvmlReturn_t code = list_processes(device, function, type, &found, infos ? full : 0);
    for (unsigned i = 0; infos && !code && i < found; i++)
        infos[i] = (nvmlProcessInfo_v1_t){full[i].pid, full[i].usedGpuMemory};
    *count = found;
    return code;
}

#define PROCESSES(kind, type)                                                                                            \
    EXPORT nvmlReturn_t nvmlDeviceGet##kind##RunningProcesses_v3(nvmlDevice_t device, unsigned *count,                   \
                                                                 nvmlProcessInfo_t *infos)                               \
    {                                                                                                                  \
        return list_processes(device, "nvmlDeviceGet" #kind "RunningProcesses", type, count, infos);                     \
    }                                                                                                                  \
    nvmlReturn_t nvmlDeviceGet##kind##RunningProcesses_v2(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos) \
        ALIAS(nvmlDeviceGet##kind##RunningProcesses_v3);                                                                 \
    EXPORT nvmlReturn_t nvmlDeviceGet##kind##RunningProcesses(nvmlDevice_t device, unsigned *count,                      \
                                                              nvmlProcessInfo_v1_t *infos)                               \
    {                                                                                                                  \
        return list_old(device, "nvmlDeviceGet" #kind "RunningProcesses", type, count, infos);                           \
    }

PROCESSES(Compute, "compute")
PROCESSES(Graphics, "graphics")
PROCESSES(MPSCompute, "mps")

EXPORT nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length)
{
    struct call c;
    if (!call_begin(&c, "nvmlSystemGetProcessName"))
        return c.code;
    if (!name || !length)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    for (const struct process *p = c.state->process; p < c.state->process + c.state->processes; p++) {
        if (p->pid != pid)
            continue;
        strncpy(name, p->name, length - 1);
        name[length - 1] = 0;
        return call_end(&c, NVML_SUCCESS);
    }
    return call_end(&c, NVML_ERROR_NOT_FOUND);
}

static int has_mode(const struct process *process, unsigned mode)
{
    static const char *const types[] = {"compute", "graphics", "mps"};
    return mode == sizeof types / sizeof *types || !strcmp(process->type, types[mode]);
}

EXPORT nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_v1_t *list)
{
    struct call c;
    if (list->version != STRUCT_VERSION(nvmlProcessDetailList_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (!call_on(&c, "nvmlDeviceGetRunningProcessDetailList", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    unsigned found = 0, room = list->numProcArrayEntries;
    for (const struct process *p = c.state->process; list->mode < 4 && p < c.state->process + c.state->processes; p++) {
        if (!in_scope(&c, p, ALL_TYPES) || !has_mode(p, list->mode))
            continue;
        if (list->procArray && found < room)
            list->procArray[found] = (nvmlProcessDetail_v1_t){p->pid, p->memory_mib * MIB, p->gi, p->ci, 0};
        found++;
    }
    list->numProcArrayEntries = found;
    if (list->mode > 3)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    return call_end(&c, found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}
