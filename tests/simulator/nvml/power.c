/* Power, its limits, temperature. */
#include "call.h"

#include <time.h>

#define MILLI 1000u

unsigned gpu_power_limit(const struct call *c)
{
    return health_or(c->gpu, HEALTH_power_limit, c->gpu->model->power_max * MILLI);
}

/* A busy GPU draws four fifths of what it may; no GPU draws more than its limit. */
unsigned gpu_milliwatts(const struct call *c)
{
    const struct model *model = c->gpu->model;
    unsigned usual = gpu_is_busy(c->state, c->gpu) ? model->power_max * 800 : model->power_idle * MILLI;
    unsigned draw = health_or(c->gpu, HEALTH_power, usual), limit = gpu_power_limit(c);
    return draw < limit ? draw : limit;
}

u64 uptime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

u64 gpu_millijoules(const struct call *c)
{
    return gpu_milliwatts(c) * (uptime_ns() / 1000000000ull);
}

GPU_NUMBER(nvmlDeviceGetPowerUsage, gpu_milliwatts(&c))
GPU_NUMBER(nvmlDeviceGetPowerManagementMode, 1)
GPU_NUMBER(nvmlDeviceGetPowerManagementLimit, gpu_power_limit(&c))
GPU_NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, c.gpu->model->power_max *MILLI)
GPU_NUMBER(nvmlDeviceGetEnforcedPowerLimit, gpu_power_limit(&c))
GPU_NUMBER(nvmlDeviceGetPowerSource, 0)
GPU_VALUE(nvmlDeviceGetTotalEnergyConsumption, u64, HANDLE_GPU, gpu_millijoules(&c))

EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned *low, unsigned *high)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetPowerManagementLimitConstraints", device, HANDLE_GPU))
        return c.code;
    *low = c.gpu->model->power_min * MILLI;
    *high = c.gpu->model->power_max * MILLI;
    return call_end(&c, NVML_SUCCESS);
}

static nvmlReturn_t set_limit(nvmlDevice_t device, unsigned limit)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceSetPowerManagementLimit", device, HANDLE_GPU))
        return c.code;
    call_log("nvmlDeviceSetPowerManagementLimit gpu=%u limit=%u", c.gpu->minor, limit);
    const struct model *model = c.gpu->model;
    nvmlReturn_t code = may_set(&c, limit >= model->power_min * MILLI && limit <= model->power_max * MILLI);
    if (!code)
        health_set(&c, HEALTH_power_limit, limit);
    return call_end(&c, code);
}

EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned limit)
{
    return set_limit(device, limit);
}

/* Only the scope of the whole GPU (0); modules and memory are for boards that say so. */
EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t device, nvmlPowerValue_v2_t *value)
{
    if (value->version != STRUCT_VERSION(nvmlPowerValue_v2_t, 2))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return value->powerScope ? NVML_ERROR_NOT_SUPPORTED : set_limit(device, value->powerValueMw);
}

unsigned gpu_celsius(const struct call *c)
{
    return health_or(c->gpu, HEALTH_temperature, gpu_is_busy(c->state, c->gpu) ? 61 : 34);
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned *temperature)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetTemperature", device, HANDLE_GPU))
        return c.code;
    *temperature = gpu_celsius(&c);
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

/* The rest of the thresholds (acoustic, GPS) is for boards with a fan control of their own. */
EXPORT nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, unsigned threshold, unsigned *temperature)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetTemperatureThreshold", device, HANDLE_GPU))
        return c.code;
    const struct model *m = c.gpu->model;
    const unsigned values[] = {m->shutdown, m->slowdown, m->memory_maximum, m->operating_maximum};
    if (threshold >= NVML_TEMPERATURE_THRESHOLD_COUNT)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    if (threshold >= sizeof values / sizeof *values || !values[threshold])
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    *temperature = values[threshold];
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_v1_t *margin)
{
    struct call c;
    if (margin->version != STRUCT_VERSION(nvmlMarginTemperature_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (!call_on(&c, "nvmlDeviceGetMarginTemperature", device, HANDLE_GPU))
        return c.code;
    margin->marginTemperature = (int)c.gpu->model->operating_maximum - (int)gpu_celsius(&c);
    return call_end(&c, c.gpu->model->architecture < NVML_ARCH_ADA ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetThermalSettings(nvmlDevice_t device, unsigned sensor, nvmlGpuThermalSettings_t *settings)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetThermalSettings", device, HANDLE_GPU))
        return c.code;
    if (sensor && sensor != NVML_THERMAL_TARGET_ALL)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    *settings = (nvmlGpuThermalSettings_t){0};
    settings->count = 1;
    settings->sensor[0].controller = NVML_THERMAL_CONTROLLER_GPU_INTERNAL;
    settings->sensor[0].defaultMaxTemp = 127;
    settings->sensor[0].currentTemp = gpu_celsius(&c);
    settings->sensor[0].target = NVML_THERMAL_TARGET_GPU;
    return call_end(&c, NVML_SUCCESS);
}

GPU_NUMBER(nvmlDeviceGetNumFans, c.gpu->model->fans)

static nvmlReturn_t fan_speed(nvmlDevice_t device, unsigned fan, unsigned *percent)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetFanSpeed", device, HANDLE_GPU))
        return c.code;
    if (!c.gpu->model->fans)
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    *percent = health_or(c.gpu, HEALTH_fan, gpu_is_busy(c.state, c.gpu) ? 55 : 30);
    return call_end(&c, fan < c.gpu->model->fans ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT);
}

EXPORT nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned *percent)
{
    return fan_speed(device, 0, percent);
}

EXPORT nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned fan, unsigned *percent)
{
    return fan_speed(device, fan, percent);
}
