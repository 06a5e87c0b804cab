/* Temperature, power, clocks and load. */
#include "properties.h"

enum { FIELD_MEMORY_TEMPERATURE = 82, FIELD_POWER_AVERAGE = 185, FIELD_POWER_INSTANT = 186, FIELD_EDPP = 274 };

void get_temperature(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned celsius = 0;
    nvmlReturn_t code = nvml.DeviceGetTemperature(gpu, which, &celsius);
    value_set(v, code, "%u", celsius);
}

void get_margin(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlVersionedNumber_t margin = {STRUCT_VERSION(nvmlVersionedNumber_t, 1), 0};
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetMarginTemperature(gpu, &margin);
    value_set(v, code, "%d", margin.value);
}

/* which: an NVML_TEMPERATURE_THRESHOLD, or a field that tells it as distance from the limit. */
void get_threshold(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlFieldValue_t field;
    unsigned celsius = 0;
    if (which < 100) {
        nvmlReturn_t code = nvml.DeviceGetTemperatureThreshold(gpu, which, &celsius);
        value_set(v, code, "%u", celsius);
    } else {
        nvmlReturn_t code = field_of(gpu, which, 0, &field);
        value_set(v, code, "%d", field.value.siVal);
    }
}

void get_memory_temperature(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlFieldValue_t field;
    (void)which;
    nvmlReturn_t code = field_of(gpu, FIELD_MEMORY_TEMPERATURE, 0, &field);
    value_set(v, code, "%u", field.value.uiVal);
}

static void put_watts(struct value *v, nvmlReturn_t code, unsigned milliwatts)
{
    value_set(v, code, "%u.%02u", milliwatts / 1000, milliwatts % 1000 / 10);
}

void get_milliwatts(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned milliwatts = 0;
    nvmlNumberGetter_t *get = *(nvmlNumberGetter_t **)((char *)&nvml + which);
    nvmlReturn_t code = get(gpu, &milliwatts);
    put_watts(v, code, milliwatts);
}

/*
 * nvmlDeviceGetPowerUsage is the average over a second since Ampere, the momentary draw before (nvml.h): it stands in
 * where the library does not have the reading as a field.
 */
static nvmlReturn_t usage_instead(nvmlDevice_t gpu, int which, unsigned *milliwatts)
{
    int average = (which & 0xffff) == FIELD_POWER_AVERAGE;
    if (which >> 16 != SCOPE_GPU || (!average && (which & 0xffff) != FIELD_POWER_INSTANT))
        return NVML_ERROR_NOT_SUPPORTED;
    if (average && architecture_of(gpu) < NVML_ARCH_AMPERE)
        return NVML_ERROR_NOT_SUPPORTED;
    return nvml.DeviceGetPowerUsage(gpu, milliwatts);
}

void get_power(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlFieldValue_t field;
    nvmlReturn_t code = field_of(gpu, which & 0xffff, which >> 16, &field);
    unsigned milliwatts = field.value.uiVal;
    if (code == NVML_ERROR_NOT_SUPPORTED)
        code = usage_instead(gpu, which, &milliwatts);
    put_watts(v, code, milliwatts);
}

void get_power_range(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned limits[2] = {0, 0};
    nvmlReturn_t code = nvml.DeviceGetPowerManagementLimitConstraints(gpu, &limits[0], &limits[1]);
    put_watts(v, code, limits[which]);
}

void get_power_management(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned managed = 0;
    (void)which;
    nvmlReturn_t code = since(R580) ? NVML_ERROR_DEPRECATED : nvml.DeviceGetPowerManagementMode(gpu, &managed);
    value_set(v, code, "%s", managed ? "Supported" : "[Not Supported]");
}

static void put_state(struct value *v, nvmlReturn_t code, unsigned state)
{
    value_set(v, code, "P%u", state);
}

void get_performance_state(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned state = 0;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetPerformanceState(gpu, &state);
    put_state(v, code, state);
}

void get_power_state(struct value *v, nvmlDevice_t gpu, int which)
{
    if (since(R580))
        value_set(v, NVML_ERROR_DEPRECATED, "%s", "");
    else
        get_performance_state(v, gpu, which);
}

static void put_clock(struct value *v, nvmlReturn_t code, unsigned mhz)
{
    value_set(v, code, "%u", mhz);
}

void get_clock(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned mhz = 0;
    nvmlReturn_t code = nvml.DeviceGetClockInfo(gpu, which, &mhz);
    put_clock(v, code, mhz);
}

void get_max_clock(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned mhz = 0;
    nvmlReturn_t code = nvml.DeviceGetMaxClockInfo(gpu, which, &mhz);
    put_clock(v, code, mhz);
}

void get_boost_clock(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned mhz = 0;
    nvmlReturn_t code = nvml.DeviceGetMaxCustomerBoostClock(gpu, which, &mhz);
    put_clock(v, code, mhz);
}

void get_application_clock(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned mhz = 0;
    nvmlReturn_t code = since(R590) ? NVML_ERROR_DEPRECATED : nvml.DeviceGetApplicationsClock(gpu, which, &mhz);
    put_clock(v, code, mhz);
}

void get_default_clock(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned mhz = 0;
    nvmlReturn_t code = since(R590) ? NVML_ERROR_DEPRECATED : nvml.DeviceGetDefaultApplicationsClock(gpu, which, &mhz);
    put_clock(v, code, mhz);
}

void get_reasons(struct value *v, nvmlDevice_t gpu, int which)
{
    u64 reasons = 0;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetCurrentClocksEventReasons(gpu, &reasons);
    value_set(v, code, "0x%016llX", reasons);
}

void get_supported_reasons(struct value *v, nvmlDevice_t gpu, int which)
{
    u64 reasons = 0;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetSupportedClocksEventReasons(gpu, &reasons);
    value_set(v, code, "0x%016llX", reasons);
}

/* which: the bit. */
void get_reason(struct value *v, nvmlDevice_t gpu, int which)
{
    u64 reasons = 0;
    nvmlReturn_t code = nvml.DeviceGetCurrentClocksEventReasons(gpu, &reasons);
    value_set(v, code, "%s", reasons & (unsigned)which ? "Active" : "Not Active");
}

/* which: the field, in nanoseconds. */
void get_reason_time(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlFieldValue_t field;
    nvmlReturn_t code = field_of(gpu, which, 0, &field);
    value_set(v, code, "%llu", field.value.ullVal / 1000);
}

static nvmlReturn_t read_engine(nvmlDevice_t gpu, int which, unsigned *percent)
{
    nvmlPairGetter_t *const getters[] = {nvml.DeviceGetEncoderUtilization, nvml.DeviceGetDecoderUtilization,
                                         nvml.DeviceGetJpgUtilization, nvml.DeviceGetOfaUtilization};
    unsigned period;
    return getters[which - UTILIZATION_ENCODER](gpu, percent, &period);
}

void get_utilization(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlUtilization_t rates = {0, 0};
    unsigned percent = 0;
    if (which >= UTILIZATION_ENCODER) {
        nvmlReturn_t code = read_engine(gpu, which, &percent);
        value_set(v, code, "%u", percent);
    } else {
        nvmlReturn_t code = nvml.DeviceGetUtilizationRates(gpu, &rates);
        value_set(v, code, "%u", which == UTILIZATION_GPU ? rates.gpu : rates.memory);
    }
}

void get_encoder(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned stats[3] = {0, 0, 0};
    nvmlReturn_t code = nvml.DeviceGetEncoderStats(gpu, &stats[0], &stats[1], &stats[2]);
    value_set(v, code, "%u", stats[which]);
}

void get_fbc(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned stats[3] = {0, 0, 0};
    nvmlReturn_t code = nvml.DeviceGetFBCStats(gpu, stats);
    value_set(v, code, "%u", stats[which]);
}

void get_edpp(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlFieldValue_t field;
    (void)which;
    nvmlReturn_t code = field_of(gpu, FIELD_EDPP, 0, &field);
    value_set(v, code, "%u.00", field.value.uiVal);
}
