/* Clocks, what holds them down, and how busy the GPU is. */
#include "call.h"

#define IDLE_MHZ 345u
#define GRAPHICS_STEP 15u /* the steps of supported graphics clocks */

enum { CLOCK_GRAPHICS, CLOCK_SM, CLOCK_MEMORY, CLOCK_VIDEO, CLOCK_TYPES };
enum { ID_CURRENT, ID_APPLICATION, ID_DEFAULT, ID_BOOST_MAXIMUM, CLOCK_IDS };

/* nvmlClocksEventReason* */
enum { IDLE = 1, APPLICATION = 2, POWER_CAP = 4, HARDWARE = 8, SOFTWARE_THERMAL = 0x20, HARDWARE_THERMAL = 0x40 };
#define SUPPORTED_REASONS 0x1ffull

/* Heat and power speak first; a GPU without work is idle. */
u64 gpu_event_reasons(const struct call *c)
{
    const struct model *model = c->gpu->model;
    u64 reasons = 0;
    unsigned heat = gpu_celsius(c);
    if (heat >= model->slowdown)
        reasons = HARDWARE | HARDWARE_THERMAL;
    else if (heat >= model->operating_maximum)
        reasons = SOFTWARE_THERMAL;
    if (gpu_milliwatts(c) >= gpu_power_limit(c))
        reasons |= POWER_CAP;
    if (!reasons)
        reasons = gpu_is_busy(c->state, c->gpu) ? 0 : IDLE;
    return health_or(c->gpu, HEALTH_event_reasons, reasons);
}

GPU_VALUE(nvmlDeviceGetSupportedClocksEventReasons, u64, HANDLE_GPU, SUPPORTED_REASONS)
nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device, u64 *reasons)
    ALIAS(nvmlDeviceGetSupportedClocksEventReasons);
GPU_VALUE(nvmlDeviceGetCurrentClocksEventReasons, u64, HANDLE_GPU, gpu_event_reasons(&c))
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, u64 *reasons)
    ALIAS(nvmlDeviceGetCurrentClocksEventReasons);

static unsigned bounded(unsigned value, unsigned low, unsigned high)
{
    return value < low ? low : value > high ? high : value;
}

static unsigned graphics_clock(const struct call *c)
{
    unsigned maximum = c->gpu->model->clock_sm, usual = gpu_is_busy(c->state, c->gpu) ? maximum : IDLE_MHZ;
    if (gpu_event_reasons(c) & HARDWARE)
        usual = maximum / 2;
    usual = bounded(usual, health_or(c->gpu, HEALTH_clock_low, 0), health_or(c->gpu, HEALTH_clock_high, maximum));
    return health_or(c->gpu, HEALTH_clock_graphics, usual);
}

static unsigned memory_clock(const struct call *c)
{
    unsigned maximum = c->gpu->model->clock_memory;
    unsigned high = health_or(c->gpu, HEALTH_memory_clock_high, maximum);
    return health_or(c->gpu, HEALTH_clock_memory, bounded(maximum, 0, high));
}

static unsigned maximum_clock(const struct call *c, unsigned type)
{
    return type == CLOCK_MEMORY ? c->gpu->model->clock_memory : c->gpu->model->clock_sm;
}

static nvmlReturn_t get_clock(nvmlDevice_t device, const char *function, unsigned type, unsigned id, unsigned *mhz)
{
    struct call c;
    if (!call_on(&c, function, device, HANDLE_GPU))
        return c.code;
    if (type >= CLOCK_TYPES || id >= CLOCK_IDS)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    if (id != ID_CURRENT)
        *mhz = maximum_clock(&c, type);
    else
        *mhz = type == CLOCK_MEMORY ? memory_clock(&c) : graphics_clock(&c);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type, unsigned *mhz)
{
    return get_clock(device, "nvmlDeviceGetClockInfo", type, ID_CURRENT, mhz);
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned type, unsigned *mhz)
{
    return get_clock(device, "nvmlDeviceGetMaxClockInfo", type, ID_BOOST_MAXIMUM, mhz);
}

EXPORT nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, unsigned type, unsigned id, unsigned *mhz)
{
    return get_clock(device, "nvmlDeviceGetClock", type, id, mhz);
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, unsigned type, unsigned *mhz)
{
    return get_clock(device, "nvmlDeviceGetMaxCustomerBoostClock", type, ID_BOOST_MAXIMUM, mhz);
}

EXPORT nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, unsigned type, unsigned *mhz)
{
    return get_clock(device, "nvmlDeviceGetApplicationsClock", type, ID_APPLICATION, mhz);
}

EXPORT nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, unsigned type, unsigned *mhz)
{
    return get_clock(device, "nvmlDeviceGetDefaultApplicationsClock", type, ID_DEFAULT, mhz);
}

static nvmlReturn_t put_clocks(struct call *c, unsigned first, unsigned last, unsigned *count, unsigned *clocks)
{
    unsigned found = 0, room = *count;
    for (unsigned mhz = first; mhz >= last && mhz <= first; mhz -= GRAPHICS_STEP, found++)
        if (clocks && found < room)
            clocks[found] = mhz;
    *count = found;
    return call_end(c, !clocks || found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned *count, unsigned *clocks)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetSupportedMemoryClocks", device, HANDLE_GPU))
        return c.code;
    return put_clocks(&c, c.gpu->model->clock_memory, c.gpu->model->clock_memory, count, clocks);
}

EXPORT nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned memory, unsigned *count,
                                                         unsigned *clocks)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetSupportedGraphicsClocks", device, HANDLE_GPU))
        return c.code;
    if (memory != c.gpu->model->clock_memory)
        return call_end(&c, NVML_ERROR_NOT_FOUND);
    return put_clocks(&c, c.gpu->model->clock_sm, IDLE_MHZ, count, clocks);
}

static nvmlReturn_t lock_clocks(nvmlDevice_t device, const char *function, unsigned type, unsigned low, unsigned high)
{
    struct call c;
    if (!call_on(&c, function, device, HANDLE_GPU))
        return c.code;
    call_log("%s gpu=%u low=%u high=%u", function, c.gpu->minor, low, high);
    int is_memory = type == CLOCK_MEMORY;
    nvmlReturn_t code = may_set(&c, low <= high && high <= maximum_clock(&c, type));
    if (c.gpu->model->architecture < (is_memory ? NVML_ARCH_AMPERE : NVML_ARCH_VOLTA))
        code = NVML_ERROR_NOT_SUPPORTED;
    if (code)
        return call_end(&c, code);
    health_set(&c, is_memory ? HEALTH_memory_clock_low : HEALTH_clock_low, low);
    health_set(&c, is_memory ? HEALTH_memory_clock_high : HEALTH_clock_high, high);
    return call_end(&c, NVML_SUCCESS);
}

static nvmlReturn_t unlock_clocks(nvmlDevice_t device, const char *function, unsigned low, unsigned high)
{
    struct call c;
    if (!call_on(&c, function, device, HANDLE_GPU))
        return c.code;
    call_log("%s gpu=%u", function, c.gpu->minor);
    nvmlReturn_t code = may_set(&c, 1);
    if (code)
        return call_end(&c, code);
    health_set(&c, low, HEALTH_UNSET);
    health_set(&c, high, HEALTH_UNSET);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned low, unsigned high)
{
    return lock_clocks(device, "nvmlDeviceSetGpuLockedClocks", CLOCK_GRAPHICS, low, high);
}

EXPORT nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device)
{
    return unlock_clocks(device, "nvmlDeviceResetGpuLockedClocks", HEALTH_clock_low, HEALTH_clock_high);
}

EXPORT nvmlReturn_t nvmlDeviceSetMemoryLockedClocks(nvmlDevice_t device, unsigned low, unsigned high)
{
    return lock_clocks(device, "nvmlDeviceSetMemoryLockedClocks", CLOCK_MEMORY, low, high);
}

EXPORT nvmlReturn_t nvmlDeviceResetMemoryLockedClocks(nvmlDevice_t device)
{
    return unlock_clocks(device, "nvmlDeviceResetMemoryLockedClocks", HEALTH_memory_clock_low, HEALTH_memory_clock_high);
}

GPU_NUMBER(nvmlDeviceGetPerformanceState, 0)
GPU_NUMBER(nvmlDeviceGetPowerState, 0)
GPU_NUMBER(nvmlDeviceGetAdaptiveClockInfoStatus, 0)

EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetUtilizationRates", device, HANDLE_GPU))
        return c.code;
    int busy = gpu_is_busy(c.state, c.gpu);
    utilization->gpu = health_or(c.gpu, HEALTH_utilization, busy ? 97 : 0);
    utilization->memory = health_or(c.gpu, HEALTH_memory_utilization, busy ? 40 : 0);
    return call_end(&c, c.gpu->mig ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS);
}

#define ENGINE(name)                                                                                            \
    EXPORT nvmlReturn_t nvmlDeviceGet##name##Utilization(nvmlDevice_t device, unsigned *percent, unsigned *period) \
    {                                                                                                         \
        struct call c;                                                                                          \
        if (!call_on(&c, "nvmlDeviceGet" #name "Utilization", device, HANDLE_GPU))                              \
            return c.code;                                                                                      \
        *percent = 0;                                                                                           \
        *period = 167000;                                                                                       \
        return call_end(&c, c.gpu->mig ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS);                              \
    }

ENGINE(Encoder)
ENGINE(Decoder)
ENGINE(Jpg)
ENGINE(Ofa)

/* How long a policy has held the clocks down: not counted here, so never. */
EXPORT nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, unsigned policy, nvmlViolationTime_t *time)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetViolationStatus", device, HANDLE_GPU))
        return c.code;
    *time = (nvmlViolationTime_t){uptime_ns(), 0};
    return call_end(&c, policy < 6 || policy == 10 || policy == 11 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT);
}
