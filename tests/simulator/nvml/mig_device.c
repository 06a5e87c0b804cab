/* MIG devices: a compute instance seen as a device. */
#include "call.h"

#define KINDS (HANDLE_GPU | HANDLE_MIG)

EXPORT nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *is_mig)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceIsMigDeviceHandle", device, KINDS))
        return c.code;
    *is_mig = c.handle->kind == HANDLE_MIG;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetMaxMigDeviceCount", device, HANDLE_GPU))
        return c.code;
    const struct gi_profile *smallest = c.gpu->mig ? profile_by_enum(c.gpu->model, 0) : 0;
    *count = smallest ? smallest->count : 0;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *mig)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetMigDeviceHandleByIndex", device, HANDLE_GPU))
        return c.code;
    if (!c.gpu->mig)
        return call_end(&c, c.gpu->model->mig_units ? NVML_ERROR_NOT_FOUND : NVML_ERROR_NOT_SUPPORTED);
    for (const struct compute_instance *i = c.state->ci; i < c.state->ci + c.state->cis; i++) {
        if (i->gpu != c.gpu->minor || !mig_is_visible(i) || index--)
            continue;
        *mig = handle_of(HANDLE_MIG, i->gpu, i->gi, i->id);
        return call_end(&c, NVML_SUCCESS);
    }
    return call_end(&c, NVML_ERROR_NOT_FOUND);
}

EXPORT nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig, nvmlDevice_t *device)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", mig, HANDLE_MIG))
        return c.code;
    *device = handle_of(HANDLE_GPU, c.gpu->minor, 0, 0);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t mig, unsigned *id)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetGpuInstanceId", mig, KINDS))
        return c.code;
    *id = c.gi ? c.gi->id : NVML_NO_INSTANCE;
    return call_end(&c, c.gi ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t mig, unsigned *id)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetComputeInstanceId", mig, KINDS))
        return c.code;
    *id = c.ci ? c.ci->id : NVML_NO_INSTANCE;
    return call_end(&c, c.ci ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
}

EXPORT nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t mig, nvmlDeviceAttributes_t *attributes)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetAttributes", mig, KINDS))
        return c.code;
    if (!c.ci)
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    const struct gi_profile *p = profile_by_id(c.gpu->model, c.gi->profile);
    *attributes = (nvmlDeviceAttributes_t){ci_multiprocessors(c.gpu->model, p, c.ci->profile),
                                           p->copy,
                                           p->decoder,
                                           p->encoder,
                                           p->jpeg,
                                           p->ofa,
                                           p->slices,
                                           ci_slices(c.ci->profile),
                                           p->memory_mib};
    return call_end(&c, NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t mig, nvmlDeviceAttributes_t *attributes) ALIAS(nvmlDeviceGetAttributes_v2);
