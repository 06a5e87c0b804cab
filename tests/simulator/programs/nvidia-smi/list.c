#include "smi.h"

#include <stdio.h>
#include <string.h>

void bus_of(nvmlDevice_t gpu, char *text)
{
    nvmlPciInfo_t pci;
    strcpy(text, nvmlDeviceGetPciInfo_v3(gpu, &pci) ? "Unknown Error" : pci.busId);
}

unsigned index_of(nvmlDevice_t gpu)
{
    unsigned index = 0;
    nvmlDeviceGetIndex(gpu, &index);
    return index;
}

int has_mig(nvmlDevice_t gpu)
{
    unsigned now = 0, pending = 0;
    return !nvmlDeviceGetMigMode(gpu, &now, &pending) && now;
}

int each_mig(nvmlDevice_t gpu, void (*show)(nvmlDevice_t mig, unsigned index, void *context), void *context)
{
    unsigned count = 0, found = 0;
    nvmlDevice_t mig;
    nvmlDeviceGetMaxMigDeviceCount(gpu, &count);
    for (unsigned i = 0; has_mig(gpu) && i < count; i++) {
        if (nvmlDeviceGetMigDeviceHandleByIndex(gpu, i, &mig))
            continue;
        show(mig, i, context);
        found++;
    }
    return found;
}

static void list_mig(nvmlDevice_t mig, unsigned index, void *context)
{
    char name[160] = "", uuid[96] = "";
    (void)context;
    nvmlDeviceGetName(mig, name, sizeof name);
    nvmlDeviceGetUUID(mig, uuid, sizeof uuid);
    char *profile = strstr(name, "MIG ");
    printf("  MIG %-12sDevice %2u: (UUID: %s)\n", profile ? profile + 4 : name, index, uuid);
}

int smi_list(const struct selection *gpus)
{
    char name[96], uuid[96];
    for (unsigned i = 0; i < gpus->count; i++) {
        nvmlReturn_t code = nvmlDeviceGetName(gpus->gpu[i], name, sizeof name);
        if (code || (code = nvmlDeviceGetUUID(gpus->gpu[i], uuid, sizeof uuid))) {
            printf("Unable to retrieve the name of GPU %u: %s\n", i, nvmlErrorString(code));
            return code < EXIT_OTHER ? code : EXIT_OTHER;
        }
        printf("GPU %u: %s (UUID: %s)\n", index_of(gpus->gpu[i]), name, uuid);
        each_mig(gpus->gpu[i], list_mig, 0);
    }
    return 0;
}
