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

enum { UUID_TEXT = 1, UUID_BYTES = 2 };

/* A binary UUID is that of a GPU. */
static void uuid_text(const unsigned char *bytes, char *text)
{
    text += sprintf(text, "GPU");
    for (unsigned i = 0; i < 16; i++)
        text += sprintf(text, i == 0 || (i >= 4 && i <= 10 && i % 2 == 0) ? "-%02x" : "%02x", bytes[i]);
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_v1_t *uuid, nvmlDevice_t *device)
{
    char text[64];
    if (uuid->version != STRUCT_VERSION(nvmlUUID_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (uuid->type == UUID_TEXT)
        return nvmlDeviceGetHandleByUUID(uuid->value.str, device);
    if (uuid->type != UUID_BYTES)
        return NVML_ERROR_INVALID_ARGUMENT;
    uuid_text(uuid->value.bytes, text);
    return nvmlDeviceGetHandleByUUID(text, device);
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
    if (c.gpu->model->architecture < NVML_ARCH_TURING)
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    return put_text(&c, version, 64, c.state->driver);
}

EXPORT nvmlReturn_t nvmlDeviceGetGspFirmwareMode(nvmlDevice_t device, unsigned *enabled, unsigned *is_default)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetGspFirmwareMode", device, HANDLE_GPU))
        return c.code;
    *enabled = *is_default = c.gpu->model->architecture >= NVML_ARCH_TURING;
    return call_end(&c, NVML_SUCCESS);
}

/* Named after the board: 692-2G506-0200-002 has G506.0200.00.04. */
EXPORT nvmlReturn_t nvmlDeviceGetInforomImageVersion(nvmlDevice_t device, char *version, unsigned length)
{
    struct call c;
    char text[32];
    if (!call_on(&c, "nvmlDeviceGetInforomImageVersion", device, HANDLE_GPU))
        return c.code;
    if (health_or(c.gpu, HEALTH_inforom_corrupted, 0))
        return call_end(&c, NVML_ERROR_CORRUPTED_INFOROM);
    const char *number = c.gpu->model->part_number;
    if (strlen(number) < 14)
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    snprintf(text, sizeof text, "%.4s.%.4s.00.04", number + 5, number + 10);
    return put_text(&c, version, length, text);
}

/* OEM, ECC and power object, the versions of A100 boards. */
EXPORT nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t device, unsigned object, char *version, unsigned length)
{
    static const char *const versions[] = {"2.0", "6.16", "N/A"};
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetInforomVersion", device, HANDLE_GPU))
        return c.code;
    if (object >= sizeof versions / sizeof *versions)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    if (health_or(c.gpu, HEALTH_inforom_corrupted, 0))
        return call_end(&c, NVML_ERROR_CORRUPTED_INFOROM);
    if (object == 2 || (object == 1 && !c.gpu->model->ecc))
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    return put_text(&c, version, length, versions[object]);
}

EXPORT nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t device)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceValidateInforom", device, HANDLE_GPU))
        return c.code;
    int corrupted = health_or(c.gpu, HEALTH_inforom_corrupted, 0);
    return call_end(&c, corrupted ? NVML_ERROR_CORRUPTED_INFOROM : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetInforomConfigurationChecksum(nvmlDevice_t device, unsigned *checksum)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetInforomConfigurationChecksum", device, HANDLE_GPU))
        return c.code;
    *checksum = c.gpu->model->pci_id ^ c.gpu->model->subsystem;
    int corrupted = health_or(c.gpu, HEALTH_inforom_corrupted, 0);
    return call_end(&c, corrupted ? NVML_ERROR_CORRUPTED_INFOROM : NVML_SUCCESS);
}

/* Modules of a baseboard count from 1, cards are 0: modules are what NVLink joins without bridges. */
static int is_module(const struct gpu *gpu)
{
    return !strcmp(gpu->nvlink, "switch") || !strcmp(gpu->nvlink, "mesh");
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

GPU_NUMBER(nvmlDeviceGetMinorNumber, c.gpu->minor)
GPU_NUMBER(nvmlDeviceGetArchitecture, c.gpu->model->architecture)
GPU_NUMBER(nvmlDeviceGetBrand, c.gpu->model->brand)
GPU_NUMBER(nvmlDeviceGetBoardId, c.gpu->domain << 16 | c.gpu->bus << 8 | c.gpu->device << 3)
GPU_NUMBER(nvmlDeviceGetMultiGpuBoard, 0)
GPU_NUMBER(nvmlDeviceGetNumGpuCores, c.gpu->model->cores)
GPU_NUMBER(nvmlDeviceGetMemoryBusWidth, c.gpu->model->bus_width)
GPU_NUMBER(nvmlDeviceGetPersistenceMode, c.gpu->persistence)
GPU_NUMBER(nvmlDeviceGetDisplayActive, 0)
GPU_NUMBER(nvmlDeviceGetIrqNum, 100 + (unsigned)(c.gpu - c.state->gpu))
GPU_NUMBER(nvmlDeviceGetBusType, 2) /* NVML_BUS_TYPE_PCIE */
GPU_NUMBER(nvmlDeviceGetVirtualizationMode, c.gpu->passthrough)
GPU_NUMBER(nvmlDeviceGetModuleId, is_module(c.gpu) ? c.gpu->minor + 1 : 0)

/* "Requested functionality has been deprecated" since 580. */
EXPORT nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, unsigned *mode)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetDisplayMode", device, HANDLE_GPU))
        return c.code;
    *mode = 0;
    return call_end(&c, driver_branch(c.state) >= 580 ? NVML_ERROR_DEPRECATED : NVML_SUCCESS);
}

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
    pci->pciSubSystemId = c.gpu->subsystem[0] ? (unsigned)parse_wide(c.gpu->subsystem) : c.gpu->model->subsystem;
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

/* Of a compute tray: only Blackwell and later say it. */
EXPORT nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t device, nvmlPlatformInfo_t *info)
{
    struct call c;
    unsigned version = info->version;
    if (version != STRUCT_VERSION(nvmlPlatformInfo_t, 1) && version != STRUCT_VERSION(nvmlPlatformInfo_t, 2))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (!call_on(&c, "nvmlDeviceGetPlatformInfo", device, HANDLE_GPU))
        return c.code;
    if (c.gpu->model->architecture < NVML_ARCH_BLACKWELL || !is_module(c.gpu))
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    if (version >> 24 == 2 && driver_branch(c.state) < 575) /* nvml.h of CUDA 12.9 */
        return call_end(&c, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    *info = (nvmlPlatformInfo_t){.version = version, .slotNumber = 1, .hostId = 1};
    memcpy(info->chassisSerialNumber, c.state->gpu[0].serial, sizeof info->chassisSerialNumber - 1);
    info->peerType = !strcmp(c.gpu->nvlink, "switch"); /* 0: directly joined, 1: by a switch */
    info->moduleId = c.gpu->minor + 1;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, nvmlC2cModeInfo_v1_t *info)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetC2cModeInfo", device, HANDLE_GPU))
        return c.code;
    info->isC2cEnabled = c.gpu->model->coherent;
    return call_end(&c, c.gpu->model->coherent ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
}

/* NVML_DEVICE_ADDRESSING_MODE_ATS on coherent boards, none on others (HMM is a matter of the kernel). */
EXPORT nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_v1_t *mode)
{
    struct call c;
    if (mode->version != STRUCT_VERSION(nvmlDeviceAddressingMode_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (!call_on(&c, "nvmlDeviceGetAddressingMode", device, HANDLE_GPU))
        return c.code;
    mode->value = c.gpu->model->coherent ? 2 : 0;
    return call_end(&c, c.gpu->model->architecture < NVML_ARCH_TURING ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS);
}

/* Compute mode. Of a GPU in MIG mode the MIG devices have it; all of them share one here. */
EXPORT nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned *mode)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetComputeMode", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    *mode = health_or(c.gpu, HEALTH_compute_mode, 0);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t device, unsigned mode)
{
    enum { EXCLUSIVE_THREAD = 1, MODES = 4 };
    struct call c;
    if (!call_on(&c, "nvmlDeviceSetComputeMode", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    call_log("nvmlDeviceSetComputeMode gpu=%u mode=%u", c.gpu->minor, mode);
    nvmlReturn_t code = may_set(&c, mode < MODES);
    if (!code && (mode == EXCLUSIVE_THREAD || (c.gpu->mig && !c.ci)))
        code = NVML_ERROR_NOT_SUPPORTED;
    if (!code)
        health_set(&c, HEALTH_compute_mode, mode);
    return call_end(&c, code);
}
