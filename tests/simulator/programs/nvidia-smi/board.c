/* What a GPU is: names, numbers, modes. */
#include "properties.h"

#include <string.h>
#include <sys/time.h>
#include <time.h>

static void *function_at(int offset)
{
    return *(void **)((char *)&nvml + offset);
}

void get_text(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlTextGetter_t *get = function_at(which);
    v->code = get(gpu, v->text, sizeof v->text);
}

void get_number(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned number = 0;
    nvmlNumberGetter_t *get = function_at(which);
    nvmlReturn_t code = get(gpu, &number);
    value_set(v, code, "%u", number);
}

static void get_either(struct value *v, nvmlDevice_t gpu, int which, const char *no, const char *yes)
{
    unsigned number = 0;
    nvmlNumberGetter_t *get = function_at(which);
    nvmlReturn_t code = get(gpu, &number);
    value_set(v, code, "%s", number ? yes : no);
}

void get_switch(struct value *v, nvmlDevice_t gpu, int which)
{
    get_either(v, gpu, which, "Disabled", "Enabled");
}

void get_yes(struct value *v, nvmlDevice_t gpu, int which)
{
    get_either(v, gpu, which, "No", "Yes");
}

void get_constant(struct value *v, nvmlDevice_t gpu, int which)
{
    static const nvmlReturn_t codes[] = {NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_DEPRECATED, NVML_SUCCESS};
    (void)gpu;
    value_set(v, codes[which], "None");
}

void get_timestamp(struct value *v, nvmlDevice_t gpu, int which)
{
    struct timeval now;
    char date[32];
    (void)gpu;
    (void)which;
    gettimeofday(&now, 0);
    strftime(date, sizeof date, "%Y/%m/%d %H:%M:%S", localtime(&now.tv_sec));
    value_set(v, 0, "%s.%03d", date, (int)(now.tv_usec / 1000));
}

void get_driver(struct value *v, nvmlDevice_t gpu, int which)
{
    (void)gpu;
    (void)which;
    v->code = nvml.SystemGetDriverVersion(v->text, sizeof v->text);
}

void get_count(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned count = 0;
    (void)gpu;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetCount_v2(&count);
    value_set(v, code, "%u", count);
}

void get_brand(struct value *v, nvmlDevice_t gpu, int which)
{
    static const char *const names[] = {"Unknown",
                                        "Quadro",
                                        "Tesla",
                                        "NVS",
                                        "Grid",
                                        "GeForce",
                                        "Titan",
                                        "NVIDIA Virtual Applications",
                                        "NVIDIA Virtual PC",
                                        "NVIDIA Virtual Compute Server",
                                        "NVIDIA RTX Virtual Workstation",
                                        "NVIDIA Cloud Gaming",
                                        "Quadro RTX",
                                        "NVIDIA RTX",
                                        "NVIDIA",
                                        "GeForce RTX",
                                        "Titan RTX"};
    unsigned brand = 0;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetBrand(gpu, &brand);
    value_set(v, code, "%s", names[brand < COUNT(names) ? brand : 0]);
}

void get_architecture(struct value *v, nvmlDevice_t gpu, int which)
{
    static const char *const names[] = {"Unknown",   "Unknown", "Kepler",  "Maxwell",      "Pascal",
                                        "Volta",     "Turing",  "Ampere",  "Ada Lovelace", "Hopper",
                                        "Blackwell", "Unknown", "Unknown", "Rubin"};
    unsigned architecture = 0;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetArchitecture(gpu, &architecture);
    value_set(v, code, "%s", names[architecture < COUNT(names) ? architecture : 0]);
}

void get_pdi(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlPdi_t pdi = {STRUCT_VERSION(nvmlPdi_t, 1), 0};
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetPdi(gpu, &pdi);
    value_set(v, code, "0x%llx", pdi.value);
}

void get_board_id(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned id = 0;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetBoardId(gpu, &id);
    value_set(v, code, "0x%x", id);
}

void get_gsp_version(struct value *v, nvmlDevice_t gpu, int which)
{
    (void)which;
    v->code = nvml.DeviceGetGspFirmwareVersion(gpu, v->text);
}

void get_gsp_mode(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned modes[2] = {0, 0};
    nvmlReturn_t code = nvml.DeviceGetGspFirmwareMode(gpu, &modes[0], &modes[1]);
    value_set(v, code, "%s", modes[which] ? "Enabled" : "Disabled");
}

void get_inforom(struct value *v, nvmlDevice_t gpu, int which)
{
    v->code = nvml.DeviceGetInforomVersion(gpu, which, v->text, sizeof v->text);
}

void get_checksum(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned checksum;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetInforomConfigurationChecksum(gpu, &checksum);
    value_set(v, code, "valid");
}

void get_display_mode(struct value *v, nvmlDevice_t gpu, int which)
{
    if (since(R580))
        value_set(v, NVML_ERROR_DEPRECATED, "%s", "");
    else
        get_switch(v, gpu, which);
}

/* NVML names it after the mode that it replaced: whether a monitor is connected. */
void get_display_attached(struct value *v, nvmlDevice_t gpu, int which)
{
    get_yes(v, gpu, which);
}

void get_addressing_mode(struct value *v, nvmlDevice_t gpu, int which)
{
    static const char *const names[] = {"None", "HMM", "ATS"};
    nvmlVersionedNumber_t mode = {STRUCT_VERSION(nvmlVersionedNumber_t, 1), 0};
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetAddressingMode(gpu, &mode);
    value_set(v, code, "%s", names[mode.value < (int)COUNT(names) ? mode.value : 0]);
}

void get_c2c(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned enabled = 0;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetC2cModeInfoV(gpu, &enabled);
    value_set(v, code, "%s", enabled ? "Enabled" : "Disabled");
}

void get_virtualization(struct value *v, nvmlDevice_t gpu, int which)
{
    static const char *const names[] = {"None", "Pass-Through", "VGPU", "Host VGPU", "VSGA"};
    unsigned mode = 0;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetVirtualizationMode(gpu, &mode);
    value_set(v, code, "%s", names[mode < COUNT(names) ? mode : 0]);
}

void get_recovery_action(struct value *v, nvmlDevice_t gpu, int which)
{
    static const char *const names[] = {
        "None", "Reset", "Reboot", "Drain P2P", "Drain and Reset", "Recover IMEX Domain", "Bus Reset", "System Reboot"};
    nvmlFieldValue_t field;
    (void)which;
    nvmlReturn_t code = field_of(gpu, 230, 0, &field);
    unsigned action = code ? 0 : field.value.uiVal;
    value_set(v, code, "%s", action < COUNT(names) ? names[action] : "Unknown");
}

void get_compute_mode(struct value *v, nvmlDevice_t gpu, int which)
{
    static const char *const names[] = {"Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"};
    unsigned mode = 0;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetComputeMode(gpu, &mode);
    value_set(v, code, "%s", names[mode < COUNT(names) ? mode : 0]);
}

void get_compute_capability(struct value *v, nvmlDevice_t gpu, int which)
{
    int major = 0, minor = 0;
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetCudaComputeCapability(gpu, &major, &minor);
    value_set(v, code, "%d.%d", major, minor);
}

void get_mig_mode(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned modes[2] = {0, 0};
    nvmlReturn_t code = nvml.DeviceGetMigMode(gpu, &modes[0], &modes[1]);
    value_set(v, code, "%s", modes[which] ? "Enabled" : "Disabled");
}

void get_dram_encryption(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlVersionedNumber_t modes[2] = {{STRUCT_VERSION(nvmlVersionedNumber_t, 1), 0},
                                      {STRUCT_VERSION(nvmlVersionedNumber_t, 1), 0}};
    nvmlReturn_t code = nvml.DeviceGetDramEncryptionMode(gpu, &modes[0], &modes[1]);
    value_set(v, code, "%s", modes[which].value ? "Enabled" : "Disabled");
}

/* Extended GPU memory is a capability bit; a board whose NVML does not answer has none. */
void get_egm(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlVersionedNumber_t capabilities = {STRUCT_VERSION(nvmlVersionedNumber_t, 1), 0};
    (void)which;
    nvmlReturn_t code = nvml.DeviceGetCapabilities(gpu, &capabilities);
    value_set(v, 0, "%s", !code && capabilities.value & 1 ? "enabled" : "disabled");
}

static void put_platform(struct value *v, const nvmlPlatformInfo_v2_t *info, int which)
{
    u64 guid = 0;
    switch (which) {
    case PLATFORM_CHASSIS:
        value_set(v, 0, "%.16s", info->chassisSerialNumber);
        break;
    case PLATFORM_PEER:
        value_set(v, 0, "%s", info->peerType ? "Switch Connected" : "Direct Connected");
        break;
    case PLATFORM_GUID:
        memcpy(&guid, info->ibGuid, sizeof guid);
        value_set(v, 0, "0x%016llx", guid);
        break;
    default:
        value_set(v, 0, "%u",
                  which == PLATFORM_SLOT   ? info->slotNumber
                  : which == PLATFORM_TRAY ? info->trayIndex
                  : which == PLATFORM_HOST ? info->hostId
                                           : info->moduleId);
    }
}

void get_platform(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlPlatformInfo_v2_t info = {0};
    info.version = STRUCT_VERSION(nvmlPlatformInfo_v2_t, 2);
    v->code = nvml.DeviceGetPlatformInfo(gpu, &info);
    if (v->code && which == PLATFORM_MODULE)
        get_number(v, gpu, CALL(DeviceGetModuleId));
    else if (!v->code)
        put_platform(v, &info, which);
}
