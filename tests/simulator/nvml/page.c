/* What becomes of bad memory: retired pages before Ampere, remapped rows since. */
#include "call.h"

enum { CAUSES = 2 };

int remaps_rows(const struct call *c)
{
    return c->gpu->model->row_banks != 0;
}

static int retires_pages(const struct call *c)
{
    return c->gpu->model->ecc && !remaps_rows(c);
}

unsigned retired_pages(const struct call *c, unsigned cause)
{
    unsigned found = 0;
    for (const struct retired_page *p = c->state->page; p < c->state->page + c->state->pages; p++)
        found += p->gpu == c->gpu->minor && p->cause == cause;
    return found;
}

static nvmlReturn_t list_pages(nvmlDevice_t device, unsigned cause, unsigned *count, u64 *addresses, u64 *times)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetRetiredPages", device, HANDLE_GPU))
        return c.code;
    if (!retires_pages(&c) || cause >= CAUSES || !count)
        return call_end(&c, retires_pages(&c) ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_SUPPORTED);
    unsigned found = 0, room = *count;
    *count = retired_pages(&c, cause);
    if (room < *count || !addresses)
        return call_end(&c, *count ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
    for (const struct retired_page *p = c.state->page; p < c.state->page + c.state->pages; p++) {
        if (p->gpu != c.gpu->minor || p->cause != cause)
            continue;
        addresses[found] = p->address;
        if (times)
            times[found] = p->time;
        found++;
    }
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, unsigned cause, unsigned *count, u64 *addresses)
{
    return list_pages(device, cause, count, addresses, 0);
}

EXPORT nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device, unsigned cause, unsigned *count, u64 *addresses,
                                                 u64 *times)
{
    return list_pages(device, cause, count, addresses, times);
}

EXPORT nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device, unsigned *pending)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetRetiredPagesPendingStatus", device, HANDLE_GPU))
        return c.code;
    *pending = health_or(c.gpu, HEALTH_retired_pending, 0);
    return call_end(&c, retires_pages(&c) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
}

/* Not available in MIG mode (nvidia-smi -q -x of such GPUs shows N/A). */
static nvmlReturn_t row_support(const struct call *c)
{
    return remaps_rows(c) && !c->gpu->mig ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

EXPORT nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected,
                                              unsigned *pending, unsigned *failed)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetRemappedRows", device, HANDLE_GPU))
        return c.code;
    *corrected = health_or(c.gpu, HEALTH_remapped_correctable, 0);
    *uncorrected = health_or(c.gpu, HEALTH_remapped_uncorrectable, 0);
    *pending = health_or(c.gpu, HEALTH_remap_pending, 0);
    *failed = health_or(c.gpu, HEALTH_remap_failed, 0);
    return call_end(&c, row_support(&c));
}

EXPORT nvmlReturn_t nvmlDeviceGetRemappedRows_v2(nvmlDevice_t device, nvmlRemappedRowsInfo_v2_t *rows)
{
    *rows = (nvmlRemappedRowsInfo_v2_t){0};
    return nvmlDeviceGetRemappedRows(device, &rows->corrActiveRemaps, &rows->uncActiveRemaps, &rows->bPending,
                                     &rows->bFailureOccurred);
}

EXPORT nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device, nvmlRowRemapperHistogram_t *values)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetRowRemapperHistogram", device, HANDLE_GPU))
        return c.code;
    values->high = health_or(c.gpu, HEALTH_banks_high, 0);
    values->partial = health_or(c.gpu, HEALTH_banks_partial, 0);
    values->low = health_or(c.gpu, HEALTH_banks_low, 0);
    values->none = health_or(c.gpu, HEALTH_banks_none, 0);
    unsigned used = values->high + values->partial + values->low + values->none, all = c.gpu->model->row_banks;
    values->max = used < all ? all - used : 0;
    return call_end(&c, row_support(&c));
}

/* Repairs of a whole channel or TPC are not simulated: none waits. */
EXPORT nvmlReturn_t nvmlDeviceGetRepairStatus(nvmlDevice_t device, nvmlRepairStatus_v1_t *status)
{
    struct call c;
    if (status->version != STRUCT_VERSION(nvmlRepairStatus_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (!call_on(&c, "nvmlDeviceGetRepairStatus", device, HANDLE_GPU))
        return c.code;
    status->bChannelRepairPending = status->bTpcRepairPending = 0;
    return call_end(&c, c.gpu->model->architecture < NVML_ARCH_BLACKWELL ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS);
}
