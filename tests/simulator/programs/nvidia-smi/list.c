#include "smi.h"

#include <string.h>

static void list_mig(nvmlDevice_t mig, unsigned index, void *context)
{
    char name[160] = "", uuid[96] = "";
    (void)context;
    nvml.DeviceGetName(mig, name, sizeof name);
    nvml.DeviceGetUUID(mig, uuid, sizeof uuid);
    char *profile = strstr(name, "MIG ");
    printf("  MIG %-11s Device %2u: (UUID: %s)\n", profile ? profile + 4 : name, index, uuid);
}

int print_gpu(const struct selection *gpus, unsigned i)
{
    char name[96], uuid[96];
    nvmlReturn_t code = nvml.DeviceGetName(gpus->gpu[i], name, sizeof name);
    if (!code)
        code = nvml.DeviceGetUUID(gpus->gpu[i], uuid, sizeof uuid);
    if (code)
        printf("GPU %u: %s\n", gpus->index[i], reason(code));
    else
        printf("GPU %u: %s (UUID: %s)\n", gpus->index[i], name, uuid);
    return exit_code(code);
}

int smi_list(const struct request *request, const struct selection *gpus)
{
    int failed = 0;
    (void)request;
    for (unsigned i = 0; i < gpus->count; i++) {
        int code = print_gpu(gpus, i);
        failed = failed ? failed : code;
        each_mig(gpus->gpu[i], list_mig, 0);
    }
    return failed;
}
