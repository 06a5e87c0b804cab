/* ECC, retired pages, remapped rows, repairs. */
#include "properties.h"

enum { FIELD_REMAPPED_CORRECTABLE_INACTIVE = 301 };

void get_ecc_mode(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned modes[2] = {0, 0};
    nvmlReturn_t code = nvml.DeviceGetEccMode(gpu, &modes[0], &modes[1]);
    value_set(v, code, "%s", modes[which] ? "Enabled" : "Disabled");
}

static nvmlReturn_t need_ecc(nvmlDevice_t gpu)
{
    unsigned now = 0, pending = 0;
    nvmlReturn_t code = nvml.DeviceGetEccMode(gpu, &now, &pending);
    return code || now ? code : NVML_ERROR_NOT_SUPPORTED;
}

void get_ecc_total(struct value *v, nvmlDevice_t gpu, int which)
{
    u64 errors = 0;
    nvmlReturn_t code = need_ecc(gpu);
    if (!code)
        code = nvml.DeviceGetTotalEccErrors(gpu, which & 1, which >> 1 & 1, &errors);
    value_set(v, code, "%llu", errors);
}

/* Since Ampere the counters are those of DRAM and of all SRAM; the caches have none of their own. */
static int has_location(nvmlDevice_t gpu, unsigned location)
{
    return architecture_of(gpu) < NVML_ARCH_AMPERE || location == ECC_DRAM || location == ECC_SRAM;
}

void get_ecc_location(struct value *v, nvmlDevice_t gpu, int which)
{
    u64 errors = 0;
    unsigned location = which >> 2;
    nvmlReturn_t code = has_location(gpu, location) ? need_ecc(gpu) : NVML_ERROR_NOT_SUPPORTED;
    if (!code)
        code = nvml.DeviceGetMemoryErrorCounter(gpu, which & 1, which >> 1 & 1, location, &errors);
    value_set(v, code, "%llu", errors);
}

static u64 sram_number(const nvmlEccSramErrorStatus_t *status, int which)
{
    switch (which) {
    case SRAM_VOLATILE_CORRECTED:
        return status->volatileCor;
    case SRAM_VOLATILE_PARITY:
        return status->volatileUncParity;
    case SRAM_VOLATILE_SECDED:
        return status->volatileUncSecDed;
    case SRAM_VOLATILE_UNCORRECTED:
        return status->volatileUncParity + status->volatileUncSecDed;
    case SRAM_AGGREGATE_CORRECTED:
        return status->aggregateCor;
    case SRAM_AGGREGATE_PARITY:
        return status->aggregateUncParity;
    case SRAM_AGGREGATE_SECDED:
        return status->aggregateUncSecDed;
    case SRAM_AGGREGATE_UNCORRECTED:
        return status->aggregateUncParity + status->aggregateUncSecDed;
    case SRAM_L2:
        return status->bucketL2;
    case SRAM_SM:
        return status->bucketSm;
    case SRAM_MCU:
        return status->bucketMcu;
    case SRAM_PCIE:
        return status->bucketPcie;
    default:
        return status->bucketOther;
    }
}

void get_sram(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlEccSramErrorStatus_t status = {0};
    status.version = STRUCT_VERSION(nvmlEccSramErrorStatus_t, 1);
    nvmlReturn_t code = need_ecc(gpu);
    if (!code)
        code = nvml.DeviceGetSramEccErrorStatus(gpu, &status);
    if (which == SRAM_THRESHOLD)
        value_set(v, code, "%s", status.thresholdExceeded ? "Yes" : "No");
    else
        value_set(v, code, "%llu", sram_number(&status, which));
}

void get_repair(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlRepairStatus_t status = {STRUCT_VERSION(nvmlRepairStatus_t, 1), 0, 0};
    nvmlReturn_t code = nvml.DeviceGetRepairStatus(gpu, &status);
    unsigned pending = which == REPAIR_CHANNEL ? status.channelRepairPending : status.tpcRepairPending;
    value_set(v, code, "%s", pending ? "Yes" : "No");
}

void get_unrepairable(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlVersionedNumber_t flag = {STRUCT_VERSION(nvmlVersionedNumber_t, 1), 0};
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetUnrepairableMemoryFlag_v1(gpu, &flag);
    value_set(v, code, "%s", flag.value ? "Yes" : "No");
}

/* Page retirement ended with Turing; later boards remap rows. */
void get_retired(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned count = 0;
    nvmlReturn_t code = architecture_of(gpu) >= NVML_ARCH_AMPERE ? NVML_ERROR_NOT_SUPPORTED
                                                                 : nvml.DeviceGetRetiredPages(gpu, which, &count, 0);
    value_set(v, code == NVML_ERROR_INSUFFICIENT_SIZE ? NVML_SUCCESS : code, "%u", count);
}

void get_retired_pending(struct value *v, nvmlDevice_t gpu, int which)
{
    if (architecture_of(gpu) >= NVML_ARCH_AMPERE)
        value_set(v, NVML_ERROR_NOT_SUPPORTED, "%s", "");
    else
        get_yes(v, gpu, which);
}

void get_remapped(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned rows[4] = {0, 0, 0, 0};
    nvmlReturn_t code = nvml.DeviceGetRemappedRows(gpu, &rows[0], &rows[1], &rows[2], &rows[3]);
    if (which == REMAPPED_PENDING || which == REMAPPED_FAILURE)
        value_set(v, code, "%s", rows[which] ? "Yes" : "No");
    else
        value_set(v, code, "%u", rows[which]);
}

void get_remapped_inactive(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlFieldValue_t field;
    nvmlReturn_t code = field_of(gpu, FIELD_REMAPPED_CORRECTABLE_INACTIVE + which, 0, &field);
    value_set(v, code, "%u", field.value.uiVal);
}

void get_histogram(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlRowRemapperHistogram_t histogram = {0, 0, 0, 0, 0};
    nvmlReturn_t code = nvml.DeviceGetRowRemapperHistogram(gpu, &histogram);
    const unsigned banks[] = {histogram.max, histogram.high, histogram.partial, histogram.low, histogram.none};
    value_set(v, code, "%u", banks[which]);
}
