/* ECC: modes and counters. */
#include "call.h"

#include <string.h>

enum { CORRECTED, UNCORRECTED, ERROR_TYPES };
enum { VOLATILE, AGGREGATE, COUNTER_TYPES };
enum { L1, L2, DRAM, REGISTER_FILE, TEXTURE_MEMORY, TEXTURE_SHM, CBU, SRAM, LOCATIONS };
#define EVERYWHERE (-1)

int ecc_mode(const struct gpu *gpu, int is_pending)
{
    if (!gpu->model->ecc)
        return -1;
    u64 now = health_or(gpu, HEALTH_ecc, 1);
    return is_pending ? health_or(gpu, HEALTH_ecc_pending, now) : now;
}

u64 ecc_errors(const struct call *c, int location, unsigned uncorrected, unsigned counter)
{
    u64 errors = 0;
    for (const struct ecc_counter *e = c->state->counter; e < c->state->counter + c->state->counters; e++)
        if (e->gpu == c->gpu->minor && e->uncorrected == uncorrected &&
            (location == EVERYWHERE || e->location == (unsigned)location))
            errors += counter == AGGREGATE ? e->ever : e->since_load;
    return errors;
}

EXPORT nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned *now, unsigned *pending)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetEccMode", device, HANDLE_GPU))
        return c.code;
    if (ecc_mode(c.gpu, 0) < 0)
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    *now = ecc_mode(c.gpu, 0);
    *pending = ecc_mode(c.gpu, 1);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, unsigned *mode)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetDefaultEccMode", device, HANDLE_GPU))
        return c.code;
    *mode = 1;
    return call_end(&c, c.gpu->model->ecc ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
}

/* It becomes active with the next reset. */
EXPORT nvmlReturn_t nvmlDeviceSetEccMode(nvmlDevice_t device, unsigned mode)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceSetEccMode", device, HANDLE_GPU))
        return c.code;
    call_log("nvmlDeviceSetEccMode gpu=%u mode=%u", c.gpu->minor, mode);
    nvmlReturn_t code = c.gpu->model->ecc ? may_set(&c, mode <= 1) : NVML_ERROR_NOT_SUPPORTED;
    if (!code)
        health_set(&c, HEALTH_ecc_pending, mode);
    return call_end(&c, code);
}

EXPORT nvmlReturn_t nvmlDeviceClearEccErrorCounts(nvmlDevice_t device, unsigned counter)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceClearEccErrorCounts", device, HANDLE_GPU))
        return c.code;
    call_log("nvmlDeviceClearEccErrorCounts gpu=%u counter=%u", c.gpu->minor, counter);
    nvmlReturn_t code = ecc_mode(c.gpu, 0) == 1 ? may_set(&c, counter < COUNTER_TYPES) : NVML_ERROR_NOT_SUPPORTED;
    for (struct ecc_counter *e = c.state->counter; !code && e < c.state->counter + c.state->counters; e++) {
        if (e->gpu != c.gpu->minor)
            continue;
        *(counter == AGGREGATE ? &e->ever : &e->since_load) = 0;
        call_change(&c);
    }
    return call_end(&c, code);
}

/* NVML_SUCCESS when errors of that kind are counted. */
static nvmlReturn_t counted(const struct call *c, unsigned type, unsigned counter)
{
    if (type >= ERROR_TYPES || counter >= COUNTER_TYPES)
        return NVML_ERROR_INVALID_ARGUMENT;
    return ecc_mode(c->gpu, 0) == 1 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

EXPORT nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned type, unsigned counter, u64 *errors)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetTotalEccErrors", device, HANDLE_GPU))
        return c.code;
    nvmlReturn_t code = counted(&c, type, counter);
    if (!code)
        *errors = ecc_errors(&c, EVERYWHERE, type, counter);
    return call_end(&c, code);
}

EXPORT nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device, unsigned type, unsigned counter,
                                                   nvmlEccErrorCounts_t *errors)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetDetailedEccErrors", device, HANDLE_GPU))
        return c.code;
    nvmlReturn_t code = counted(&c, type, counter);
    if (!code)
        *errors = (nvmlEccErrorCounts_t){ecc_errors(&c, L1, type, counter), ecc_errors(&c, L2, type, counter),
                                         ecc_errors(&c, DRAM, type, counter), ecc_errors(&c, REGISTER_FILE, type, counter)};
    return call_end(&c, code);
}

/* From Ampere on the caches are one place (SRAM), before it there is none of that name. */
static int has_location(const struct model *model, unsigned location)
{
    return location == DRAM || (location == SRAM) == (model->architecture >= NVML_ARCH_AMPERE);
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, unsigned type, unsigned counter,
                                                    unsigned location, u64 *errors)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetMemoryErrorCounter", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    nvmlReturn_t code = location < LOCATIONS ? counted(&c, type, counter) : NVML_ERROR_INVALID_ARGUMENT;
    if (!code && !has_location(c.gpu->model, location))
        code = NVML_ERROR_NOT_SUPPORTED;
    if (!code)
        *errors = ecc_errors(&c, location, type, counter);
    return call_end(&c, code);
}

EXPORT nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_v1_t *status)
{
    struct call c;
    if (status->version != STRUCT_VERSION(nvmlEccSramErrorStatus_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (!call_on(&c, "nvmlDeviceGetSramEccErrorStatus", device, HANDLE_GPU))
        return c.code;
    nvmlReturn_t code = counted(&c, UNCORRECTED, VOLATILE);
    if (c.gpu->model->architecture < NVML_ARCH_AMPERE)
        code = NVML_ERROR_NOT_SUPPORTED;
    if (code)
        return call_end(&c, code);
    memset((char *)status + sizeof status->version, 0, sizeof *status - sizeof status->version);
    status->aggregateUncSecDed = status->aggregateUncBucketSm = ecc_errors(&c, SRAM, UNCORRECTED, AGGREGATE);
    status->aggregateCor = ecc_errors(&c, SRAM, CORRECTED, AGGREGATE);
    status->volatileUncSecDed = ecc_errors(&c, SRAM, UNCORRECTED, VOLATILE);
    status->volatileCor = ecc_errors(&c, SRAM, CORRECTED, VOLATILE);
    status->bThresholdExceeded = health_or(c.gpu, HEALTH_sram_exceeded, 0);
    return call_end(&c, NVML_SUCCESS);
}
