#include "smi.h"

#include <stdio.h>
#include <string.h>

static void put_mode(nvmlDevice_t gpu, int pending, char *text)
{
    unsigned modes[2];
    strcpy(text, nvmlDeviceGetMigMode(gpu, &modes[0], &modes[1]) ? "[N/A]" : modes[pending] ? "Enabled" : "Disabled");
}

static nvmlMemory_v2_t memory_of(nvmlDevice_t gpu)
{
    nvmlMemory_v2_t memory = {STRUCT_VERSION(nvmlMemory_v2_t, 2), 0, 0, 0, 0};
    nvmlDeviceGetMemoryInfo_v2(gpu, &memory);
    return memory;
}

/* The unit of the field, or NULL when nvidia-smi has no such field. */
static const char *text_field(nvmlDevice_t gpu, const char *field, char *text, unsigned size)
{
    unsigned number = 0;
    int major = 0, minor = 0;
    if (!strcmp(field, "name") || !strcmp(field, "gpu_name"))
        nvmlDeviceGetName(gpu, text, size);
    else if (!strcmp(field, "uuid") || !strcmp(field, "gpu_uuid"))
        nvmlDeviceGetUUID(gpu, text, size);
    else if (!strcmp(field, "serial") || !strcmp(field, "gpu_serial"))
        nvmlDeviceGetSerial(gpu, text, size);
    else if (!strcmp(field, "driver_version"))
        nvmlSystemGetDriverVersion(text, size);
    else if (!strcmp(field, "vbios_version"))
        nvmlDeviceGetVbiosVersion(gpu, text, size);
    else if (!strcmp(field, "pci.bus_id") || !strcmp(field, "gpu_bus_id"))
        bus_of(gpu, text);
    else if (!strcmp(field, "mig.mode.current") || !strcmp(field, "mig.mode.pending"))
        put_mode(gpu, field[9] == 'p', text);
    else if (!strcmp(field, "persistence_mode"))
        strcpy(text, !nvmlDeviceGetPersistenceMode(gpu, &number) && number ? "Enabled" : "Disabled");
    else if (!strcmp(field, "compute_cap") && !nvmlDeviceGetCudaComputeCapability(gpu, &major, &minor))
        snprintf(text, size, "%d.%d", major, minor);
    else
        return 0;
    return "";
}

static const char *number_field(nvmlDevice_t gpu, const char *field, char *text, unsigned size)
{
    unsigned number = 0;
    const char *unit = "";
    if (!strncmp(field, "memory.", 7)) {
        nvmlMemory_v2_t memory = memory_of(gpu);
        u64 bytes = !strcmp(field + 7, "total") ? memory.total : !strcmp(field + 7, "free") ? memory.free : memory.used;
        number = bytes / MIB;
        unit = " MiB";
    } else if (!strcmp(field, "index"))
        nvmlDeviceGetIndex(gpu, &number);
    else if (!strcmp(field, "count"))
        nvmlDeviceGetCount_v2(&number);
    else if (!strcmp(field, "temperature.gpu"))
        nvmlDeviceGetTemperature(gpu, 0, &number);
    else if (!strcmp(field, "power.draw")) {
        nvmlDeviceGetPowerUsage(gpu, &number);
        snprintf(text, size, "%u.%02u", number / 1000, number % 1000 / 10);
        return " W";
    } else
        return 0;
    snprintf(text, size, "%u", number);
    return unit;
}

static const char *unit_of(const char *field)
{
    return !strncmp(field, "memory.", 7) ? " [MiB]" : !strcmp(field, "power.draw") ? " [W]" : "";
}

static int split(char *fields, char **names, int room)
{
    int count = 0;
    for (char *name = strtok(fields, ", "); name && count < room; name = strtok(0, ", "))
        names[count++] = name;
    return count;
}

int smi_query(const struct selection *gpus, char *fields, const char *format)
{
    char *names[32], text[128];
    int count = split(fields, names, 32), units = !strstr(format, "nounits");
    for (int i = 0; i < count; i++) {
        if (!text_field(gpus->gpu[0], names[i], text, sizeof text) && !number_field(gpus->gpu[0], names[i], text, sizeof text)) {
            printf("Field \"%s\" is not a valid field to query.\n\n", names[i]);
            return EXIT_ARGUMENT;
        }
    }
    for (int i = 0; i < count && !strstr(format, "noheader"); i++)
        printf("%s%s%s", names[i], units ? unit_of(names[i]) : "", i + 1 < count ? ", " : "\n");
    for (unsigned g = 0; g < gpus->count; g++)
        for (int i = 0; i < count; i++) {
            const char *unit = text_field(gpus->gpu[g], names[i], text, sizeof text);
            if (!unit)
                unit = number_field(gpus->gpu[g], names[i], text, sizeof text);
            printf("%s%s%s", text, units && unit ? unit : "", i + 1 < count ? ", " : "\n");
        }
    return 0;
}
