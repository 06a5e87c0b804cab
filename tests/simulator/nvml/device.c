/* Discovery: handles, names, PCI, architecture. */
#include "call.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

static nvmlReturn_t put_text(struct call *c, char *to, unsigned size, const char *from)
{
    return call_end(c, copy_text(to, size, from) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count)
{
    struct call c;
    if (!call_begin(&c, "nvmlDeviceGetCount"))
        return c.code;
    for (*count = 0; gpu_by_index(c.state, *count); ++*count)
        ;
    return call_end(&c, NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetCount(unsigned *count) ALIAS(nvmlDeviceGetCount_v2);

static nvmlReturn_t put_handle(struct call *c, struct gpu *gpu, nvmlDevice_t *device, nvmlReturn_t otherwise)
{
    if (!gpu)
        return call_end(c, otherwise);
    if (gpu->lost)
        return call_end(c, NVML_ERROR_GPU_IS_LOST);
    *device = handle_of(HANDLE_GPU, gpu->minor, 0, 0);
    return call_end(c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
    struct call c;
    if (!call_begin(&c, "nvmlDeviceGetHandleByIndex"))
        return c.code;
    return put_handle(&c, gpu_by_index(c.state, index), device, NVML_ERROR_INVALID_ARGUMENT);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t *device) ALIAS(nvmlDeviceGetHandleByIndex_v2);

static void bus_id(const struct gpu *gpu, char *text, unsigned size, unsigned digits)
{
    snprintf(text, size, "%0*X:%02X:%02X.0", (int)digits, gpu->domain, gpu->bus, gpu->device);
}

static int same_bus(const struct gpu *gpu, const char *text)
{
    char *end;
    unsigned long numbers[3] = {0}, count = 0;
    for (; count < 3; count++) {
        numbers[count] = parse_hex(text, &end);
        if (*end != ':' && *end != '.')
            break;
        text = end + 1;
    }
    if (count == 2)
        return gpu->domain == 0 && gpu->bus == numbers[0] && gpu->device == numbers[1];
    return count == 3 && gpu->domain == numbers[0] && gpu->bus == numbers[1] && gpu->device == numbers[2];
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *text, nvmlDevice_t *device)
{
    struct call c;
    struct gpu *gpu;
    if (!call_begin(&c, "nvmlDeviceGetHandleByPciBusId"))
        return c.code;
    for (unsigned i = 0; (gpu = gpu_by_index(c.state, i)); i++)
        if (same_bus(gpu, text))
            break;
    return put_handle(&c, gpu, device, NVML_ERROR_NOT_FOUND);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *text, nvmlDevice_t *device) ALIAS(nvmlDeviceGetHandleByPciBusId_v2);

static nvmlDevice_t mig_by_uuid(struct call *c, const char *text)
{
    char uuid[64];
    for (struct compute_instance *i = c->state->ci; i < c->state->ci + c->state->cis; i++) {
        struct gpu *gpu = gpu_by_minor(c->state, i->gpu);
        if (!gpu || !gpu_is_visible(gpu) || !mig_is_visible(i))
            continue;
        mig_uuid(gpu, i, uuid);
        if (!strcmp(uuid, text))
            return handle_of(HANDLE_MIG, i->gpu, i->gi, i->id);
    }
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *text, nvmlDevice_t *device)
{
    struct call c;
    struct gpu *gpu;
    if (!call_begin(&c, "nvmlDeviceGetHandleByUUID"))
        return c.code;
    if ((*device = mig_by_uuid(&c, text)))
        return call_end(&c, NVML_SUCCESS);
    for (unsigned i = 0; (gpu = gpu_by_index(c.state, i)); i++)
        if (!strcmp(gpu->uuid, text))
            break;
    return put_handle(&c, gpu, device, NVML_ERROR_NOT_FOUND);
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
    struct call c;
    struct gpu *gpu;
    if (!call_begin(&c, "nvmlDeviceGetHandleBySerial"))
        return c.code;
    for (unsigned i = 0; (gpu = gpu_by_index(c.state, i)); i++)
        if (!strcmp(gpu->serial, serial))
            break;
    return put_handle(&c, gpu, device, NVML_ERROR_NOT_FOUND);
}

EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
    struct call c;
    char text[160], mig[64];
    if (!call_on(&c, "nvmlDeviceGetName", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    if (!c.ci)
        return put_text(&c, name, length, c.gpu->model->name);
    ci_name(mig, sizeof mig, profile_by_id(c.gpu->model, c.gi->profile), c.ci->profile);
    snprintf(text, sizeof text, "%s %s", c.gpu->model->name, mig);
    return put_text(&c, name, length, text);
}

EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
    struct call c;
    char text[64];
    if (!call_on(&c, "nvmlDeviceGetUUID", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    if (!c.ci)
        return put_text(&c, uuid, length, c.gpu->uuid);
    mig_uuid(c.gpu, c.ci, text);
    return put_text(&c, uuid, length, text);
}

EXPORT nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned length)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetSerial", device, HANDLE_GPU))
        return c.code;
    return put_text(&c, serial, length, c.gpu->serial);
}

EXPORT nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *version, unsigned length)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetVbiosVersion", device, HANDLE_GPU))
        return c.code;
    return put_text(&c, version, length, c.gpu->model->vbios);
}

EXPORT nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char *number, unsigned length)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetBoardPartNumber", device, HANDLE_GPU))
        return c.code;
    return put_text(&c, number, length, c.gpu->model->part_number);
}

EXPORT nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *version)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetGspFirmwareVersion", device, HANDLE_GPU))
        return c.code;
    return put_text(&c, version, 64, c.state->driver);
}

EXPORT nvmlReturn_t nvmlDeviceGetInforomImageVersion(nvmlDevice_t device, char *version, unsigned length)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetInforomImageVersion", device, HANDLE_GPU))
        return c.code;
    return put_text(&c, version, length, "G506.0200.00.04");
}

EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index)
{
    struct call c;
    struct gpu *gpu;
    if (!call_on(&c, "nvmlDeviceGetIndex", device, HANDLE_GPU))
        return c.code;
    for (*index = 0; (gpu = gpu_by_index(c.state, *index)); ++*index)
        if (gpu == c.gpu)
            return call_end(&c, NVML_SUCCESS);
    return call_end(&c, NVML_ERROR_NOT_FOUND);
}

#define NUMBER(function, kinds, value)                                                                                   \
    EXPORT nvmlReturn_t function(nvmlDevice_t device, unsigned *number)                                                  \
    {                                                                                                                  \
        struct call c;                                                                                                 \
        if (!call_on(&c, #function, device, kinds))                                                                    \
            return c.code;                                                                                             \
        *number = value;                                                                                               \
        return call_end(&c, NVML_SUCCESS);                                                                             \
    }

NUMBER(nvmlDeviceGetMinorNumber, HANDLE_GPU, c.gpu->minor)
NUMBER(nvmlDeviceGetArchitecture, HANDLE_GPU, c.gpu->model->architecture)
NUMBER(nvmlDeviceGetBrand, HANDLE_GPU, c.gpu->model->brand)
NUMBER(nvmlDeviceGetBoardId, HANDLE_GPU, c.gpu->bus << 8 | c.gpu->device << 3)
NUMBER(nvmlDeviceGetMultiGpuBoard, HANDLE_GPU, 0)
NUMBER(nvmlDeviceGetNumGpuCores, HANDLE_GPU, c.gpu->model->cores)
NUMBER(nvmlDeviceGetMemoryBusWidth, HANDLE_GPU, c.gpu->model->bus_width)
NUMBER(nvmlDeviceGetPersistenceMode, HANDLE_GPU, c.gpu->persistence)
NUMBER(nvmlDeviceGetDisplayMode, HANDLE_GPU, 0)
NUMBER(nvmlDeviceGetDisplayActive, HANDLE_GPU, 0)
NUMBER(nvmlDeviceGetComputeMode, HANDLE_GPU, 0)
NUMBER(nvmlDeviceGetNumaNodeId, HANDLE_GPU, 0)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, HANDLE_GPU, c.gpu->model->pcie_generation)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, HANDLE_GPU, c.gpu->model->pcie_generation)
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, HANDLE_GPU, c.gpu->model->pcie_generation)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, HANDLE_GPU, 16)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, HANDLE_GPU, 16)

EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetCudaComputeCapability", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    *major = c.gpu->model->major;
    *minor = c.gpu->model->minor;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device, unsigned mode)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceSetPersistenceMode", device, HANDLE_GPU))
        return c.code;
    call_log("nvmlDeviceSetPersistenceMode gpu=%u mode=%u", c.gpu->minor, mode);
    if (!may_write())
        return call_end(&c, NVML_ERROR_NO_PERMISSION);
    if (c.gpu->persistence != !!mode)
        call_change(&c);
    c.gpu->persistence = !!mode;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetPciInfo", device, HANDLE_GPU))
        return c.code;
    memset(pci, 0, sizeof *pci);
    bus_id(c.gpu, pci->busIdLegacy, sizeof pci->busIdLegacy, 4);
    bus_id(c.gpu, pci->busId, sizeof pci->busId, 8);
    pci->domain = c.gpu->domain;
    pci->bus = c.gpu->bus;
    pci->device = c.gpu->device;
    pci->pciDeviceId = c.gpu->model->pci_id;
    pci->pciSubSystemId = c.gpu->model->subsystem;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_v2_t *pci)
{
    nvmlPciInfo_t full;
    nvmlReturn_t code = nvmlDeviceGetPciInfo_v3(device, &full);
    if (code)
        return code;
    *pci = (nvmlPciInfo_v2_t){"", full.domain, full.bus, full.device, full.pciDeviceId, full.pciSubSystemId, {0}};
    memcpy(pci->busId, full.busIdLegacy, sizeof pci->busId);
    return code;
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v2_t *pci) ALIAS(nvmlDeviceGetPciInfo_v2);

EXPORT nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_v1_t *pci)
{
    nvmlPciInfo_t full;
    if (pci->version != STRUCT_VERSION(nvmlPciInfoExt_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t code = nvmlDeviceGetPciInfo_v3(device, &full);
    if (code)
        return code;
    *pci = (nvmlPciInfoExt_v1_t){pci->version,     full.domain,         full.bus, full.device,
                                 full.pciDeviceId, full.pciSubSystemId, 3,        2,  ""};
    memcpy(pci->busId, full.busId, sizeof pci->busId);
    return code;
}
