/* Memory, processes, power, temperature, clocks, errors: steady numbers of an idle, healthy GPU plus its processes. */
#include "call.h"

#include <string.h>

#define MIB (1024ull * 1024)
#define RESERVED_MIB 512u

static int in_scope(const struct call *c, const struct process *process)
{
    if (process->gpu != c->gpu->minor)
        return 0;
    return !c->ci || (process->gi == c->ci->gi && (process->ci == c->ci->id || process->ci == NVML_NO_INSTANCE));
}

static unsigned used_mib(const struct call *c)
{
    unsigned used = 0;
    for (const struct process *p = c->state->process; p < c->state->process + c->state->processes; p++)
        if (in_scope(c, p))
            used += p->memory_mib;
    return used;
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
    memory->total = total_mib(&c) * MIB;
    memory->reserved = c.gi ? 0 : RESERVED_MIB * MIB;
    memory->used = used_mib(&c) * MIB;
    memory->free = memory->total - memory->used - memory->reserved;
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

static nvmlReturn_t list_processes(struct call *c, unsigned *count, nvmlProcessInfo_t *infos)
{
    unsigned found = 0, room = *count;
    for (const struct process *p = c->state->process; p < c->state->process + c->state->processes; p++) {
        if (!in_scope(c, p))
            continue;
        if (infos && found < room)
            infos[found] = (nvmlProcessInfo_t){p->pid, p->memory_mib * MIB, p->gi, p->ci};
        found++;
    }
    *count = found;
    return call_end(c, found > room || (found && !infos) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetComputeRunningProcesses", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    return list_processes(&c, count, infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos)
    ALIAS(nvmlDeviceGetComputeRunningProcesses_v3);

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_v1_t *infos)
{
    nvmlProcessInfo_t full[MAX_PROCESSES];
    unsigned room = *count, found = room < MAX_PROCESSES ? room : MAX_PROCESSES;
    nvmlReturn_t code = nvmlDeviceGetComputeRunningProcesses_v3(device, &found, infos ? full : 0);
    for (unsigned i = 0; infos && !code && i < found; i++)
        infos[i] = (nvmlProcessInfo_v1_t){full[i].pid, full[i].usedGpuMemory};
    *count = found;
    return code;
}

EXPORT nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos)
{
    struct call c;
    (void)infos;
    if (!call_on(&c, "nvmlDeviceGetGraphicsRunningProcesses", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    *count = 0;
    return call_end(&c, NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos)
    ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v3);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos)
    ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v3);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos)
    ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v3);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos)
    ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v3);

EXPORT nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length)
{
    struct call c;
    if (!call_begin(&c, "nvmlSystemGetProcessName"))
        return c.code;
    for (const struct process *p = c.state->process; p < c.state->process + c.state->processes; p++) {
        if (p->pid != pid || !length)
            continue;
        strncpy(name, p->name, length - 1);
        name[length - 1] = 0;
        return call_end(&c, NVML_SUCCESS);
    }
    return call_end(&c, NVML_ERROR_NOT_FOUND);
}

static unsigned milliwatts(const struct call *c)
{
    const struct model *model = c->gpu->model;
    return (gpu_is_busy(c->state, c->gpu) ? model->power_max * 8 / 10 : model->power_idle) * 1000;
}

#define NUMBER(function, value)                                                                                          \
    EXPORT nvmlReturn_t function(nvmlDevice_t device, unsigned *number)                                                  \
    {                                                                                                                  \
        struct call c;                                                                                                 \
        if (!call_on(&c, #function, device, HANDLE_GPU))                                                               \
            return c.code;                                                                                             \
        *number = value;                                                                                               \
        return call_end(&c, NVML_SUCCESS);                                                                             \
    }

NUMBER(nvmlDeviceGetPowerUsage, milliwatts(&c))
NUMBER(nvmlDeviceGetPowerManagementMode, 1)
NUMBER(nvmlDeviceGetPowerManagementLimit, c.gpu->model->power_max * 1000)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, c.gpu->model->power_max * 1000)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, c.gpu->model->power_max * 1000)
NUMBER(nvmlDeviceGetPerformanceState, 0)
NUMBER(nvmlDeviceGetPcieReplayCounter, 0)
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, 0)

EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned *low, unsigned *high)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetPowerManagementLimitConstraints", device, HANDLE_GPU))
        return c.code;
    *low = c.gpu->model->power_min * 1000;
    *high = c.gpu->model->power_max * 1000;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, u64 *energy)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetTotalEnergyConsumption", device, HANDLE_GPU))
        return c.code;
    *energy = milliwatts(&c) * 3600ull;
    return call_end(&c, NVML_SUCCESS);
}

static int celsius(const struct call *c)
{
    return gpu_is_busy(c->state, c->gpu) ? 61 : 34;
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned *temperature)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetTemperature", device, HANDLE_GPU))
        return c.code;
    *temperature = celsius(&c);
    return call_end(&c, sensor ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t *temperature)
{
    unsigned value = 0;
    if (temperature->version != STRUCT_VERSION(nvmlTemperature_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t code = nvmlDeviceGetTemperature(device, temperature->sensorType, &value);
    temperature->temperature = value;
    return code;
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, unsigned threshold, unsigned *temperature)
{
    static const unsigned values[] = {95, 92, 95, 87};
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetTemperatureThreshold", device, HANDLE_GPU))
        return c.code;
    if (threshold >= sizeof values / sizeof *values)
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    *temperature = values[threshold];
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetUtilizationRates", device, HANDLE_GPU))
        return c.code;
    int busy = gpu_is_busy(c.state, c.gpu);
    *utilization = (nvmlUtilization_t){busy ? 97 : 0, busy ? 40 : 0};
    return call_end(&c, c.gpu->mig ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS);
}

static nvmlReturn_t clock(nvmlDevice_t device, const char *function, unsigned type, unsigned *mhz)
{
    struct call c;
    if (!call_on(&c, function, device, HANDLE_GPU))
        return c.code;
    *mhz = type == 2 ? c.gpu->model->clock_memory : c.gpu->model->clock_sm;
    return call_end(&c, type > 3 ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type, unsigned *mhz)
{
    return clock(device, "nvmlDeviceGetClockInfo", type, mhz);
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned type, unsigned *mhz)
{
    return clock(device, "nvmlDeviceGetMaxClockInfo", type, mhz);
}

EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, u64 *reasons)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetCurrentClocksEventReasons", device, HANDLE_GPU))
        return c.code;
    *reasons = gpu_is_busy(c.state, c.gpu) ? 0 : 1;
    return call_end(&c, NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, u64 *reasons)
    ALIAS(nvmlDeviceGetCurrentClocksEventReasons);

EXPORT nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned *now, unsigned *pending)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetEccMode", device, HANDLE_GPU))
        return c.code;
    *now = *pending = 1;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned type, unsigned counter, u64 *errors)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetTotalEccErrors", device, HANDLE_GPU))
        return c.code;
    *errors = 0;
    return call_end(&c, type > 1 || counter > 1 ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device, unsigned type, unsigned counter,
                                                   nvmlEccErrorCounts_t *errors)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetDetailedEccErrors", device, HANDLE_GPU))
        return c.code;
    memset(errors, 0, sizeof *errors);
    return call_end(&c, type > 1 || counter > 1 ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, unsigned type, unsigned counter,
                                                    unsigned location, u64 *errors)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetMemoryErrorCounter", device, HANDLE_GPU))
        return c.code;
    *errors = 0;
    return call_end(&c, type > 1 || counter > 1 || location > 7 ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected,
                                              unsigned *pending, unsigned *failed)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetRemappedRows", device, HANDLE_GPU))
        return c.code;
    *corrected = *uncorrected = *pending = *failed = 0;
    return call_end(&c, c.gpu->mig || c.gpu->model->architecture < 7 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS);
}

/* Fields of an exporter: ECC modes and totals (1-6), memory temperature (82), energy (83), remapped rows (142-145). */
static nvmlReturn_t read_field(const struct call *c, nvmlFieldValue_t *field)
{
    field->valueType = 1;
    field->value.ullVal = 0;
    if (field->fieldId == 1 || field->fieldId == 2)
        field->value.uiVal = 1;
    else if (field->fieldId == 82)
        field->value.uiVal = celsius(c) + 8;
    else if (field->fieldId == 83) {
        field->valueType = 3;
        field->value.ullVal = milliwatts(c) * 3600ull;
    } else if (!(field->fieldId >= 3 && field->fieldId <= 6) && !(field->fieldId >= 142 && field->fieldId <= 145))
        return NVML_ERROR_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *fields)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetFieldValues", device, HANDLE_GPU))
        return c.code;
    for (int i = 0; i < count; i++)
        fields[i].nvmlReturn = read_field(&c, &fields[i]);
    return call_end(&c, NVML_SUCCESS);
}
