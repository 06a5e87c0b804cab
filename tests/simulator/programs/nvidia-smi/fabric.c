/* NVLink fabric: registration and health. */
#include "properties.h"

#include <string.h>

static nvmlReturn_t read_fabric(nvmlDevice_t gpu, nvmlGpuFabricInfo_v3_t *info)
{
    nvmlGpuFabricInfo_v2_t older;
    memset(info, 0, sizeof *info);
    memset(&older, 0, sizeof older);
    info->version = STRUCT_VERSION(nvmlGpuFabricInfo_v3_t, 3);
    nvmlReturn_t code = nvml.DeviceGetGpuFabricInfoV(gpu, info);
    if (code != NVML_ERROR_ARGUMENT_VERSION_MISMATCH)
        return code;
    older.version = STRUCT_VERSION(nvmlGpuFabricInfo_v2_t, 2);
    code = nvml.DeviceGetGpuFabricInfoV(gpu, &older);
    memcpy(info, &older, sizeof older);
    return code;
}

/* Two bits: not known, yes, no. */
static void put_flag(struct value *v, unsigned mask, unsigned shift, const char *yes, const char *no)
{
    static const nvmlReturn_t codes[] = {NVML_ERROR_NOT_SUPPORTED, 0, 0, NVML_ERROR_NOT_SUPPORTED};
    unsigned flag = mask >> shift & 3;
    value_set(v, codes[flag], "%s", flag == 1 ? yes : no);
}

static void put_configuration(struct value *v, unsigned mask)
{
    static const char *const names[] = {"",
                                        "None",
                                        "Incorrect System GUID",
                                        "Incorrect Chassis Serial Number",
                                        "No Partition",
                                        "Insufficient NVLinks",
                                        "Incompatible GPU Firmware",
                                        "Invalid Location",
                                        "GPU State Invalid"};
    unsigned kind = mask >> 8 & 0xf;
    value_set(v, kind ? 0 : NVML_ERROR_NOT_SUPPORTED, "%s", kind < COUNT(names) ? names[kind] : "Unknown");
}

static void put_health(struct value *v, const nvmlGpuFabricInfo_v3_t *info, int which)
{
    static const char *const summaries[] = {"", "Healthy", "Unhealthy", "Limited Capacity"};
    static const unsigned char shifts[] = {[FABRIC_BANDWIDTH] = 0,
                                           [FABRIC_ROUTE_RECOVERY] = 2,
                                           [FABRIC_ROUTE_UNHEALTHY] = 4,
                                           [FABRIC_TIMEOUT] = 6,
                                           [FABRIC_PARTITION] = 12};
    unsigned summary = info->healthSummary < COUNT(summaries) ? info->healthSummary : 0;
    if (which == FABRIC_SUMMARY)
        value_set(v, summary ? 0 : NVML_ERROR_NOT_SUPPORTED, "%s", summaries[summary]);
    else if (which == FABRIC_CONFIGURATION)
        put_configuration(v, info->healthMask);
    else if (which == FABRIC_BANDWIDTH)
        put_flag(v, info->healthMask, shifts[which], "Degraded", "Full");
    else
        put_flag(v, info->healthMask, shifts[which], "True", "False");
}

static void put_cluster(struct value *v, const unsigned char *u)
{
    value_set(v, 0, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2], u[3],
              u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

void get_fabric(struct value *v, nvmlDevice_t gpu, int which)
{
    static const char *const states[] = {"N/A", "Not Started", "In Progress", "Completed"};
    nvmlGpuFabricInfo_v3_t info;
    nvmlReturn_t code = read_fabric(gpu, &info);
    int done = info.state == 3;
    if (code || !info.state)
        value_set(v, code ? code : NVML_ERROR_NOT_SUPPORTED, "%s", "");
    else if (which == FABRIC_STATE)
        value_set(v, 0, "%s", states[info.state & 3]);
    else if (!done)
        value_set(v, NVML_ERROR_NOT_SUPPORTED, "%s", "");
    else if (which == FABRIC_STATUS)
        value_set(v, 0, "%s", nvml.ErrorString(info.status));
    else if (which == FABRIC_CLIQUE)
        value_set(v, 0, "%u", info.cliqueId);
    else if (which == FABRIC_CLUSTER)
        put_cluster(v, info.clusterUuid);
    else
        put_health(v, &info, which);
}
