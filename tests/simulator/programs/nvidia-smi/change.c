/* What changes a GPU: reset, persistence mode, MIG mode. */
#include "smi.h"

#include <stdio.h>

static void explain_use(unsigned failed)
{
    printf("%u %s currently being used by one or more other processes (e.g., Fabric Manager, CUDA application, graphics "
           "application such as an X server, or a monitoring application such as another instance of nvidia-smi). Please first "
           "kill all processes using %s and all compute applications running in the system.\n",
           failed, failed == 1 ? "device is" : "devices are", failed == 1 ? "this device" : "these devices");
}

int smi_reset(const struct selection *gpus)
{
    unsigned failed = 0, used = 0;
    char bus[32];
    for (unsigned i = 0; i < gpus->count; i++) {
        nvmlReturn_t code = simhwDeviceReset(gpus->gpu[i]);
        bus_of(gpus->gpu[i], bus);
        if (!code) {
            printf("GPU %s was successfully reset.\n", bus);
            continue;
        }
        printf("%s  GPU %s: %s\n", failed++ ? "" : "The following GPUs could not be reset:\n", bus, nvmlErrorString(code));
        used += code == NVML_ERROR_IN_USE;
    }
    if (used) {
        puts("");
        explain_use(used);
    }
    if (!failed)
        puts("All done.");
    return failed ? EXIT_OTHER : 0;
}

int smi_persistence(const struct selection *gpus, unsigned mode)
{
    char bus[32];
    for (unsigned i = 0; i < gpus->count; i++) {
        nvmlReturn_t code = nvmlDeviceSetPersistenceMode(gpus->gpu[i], mode);
        bus_of(gpus->gpu[i], bus);
        if (code) {
            printf("Unable to set persistence mode for GPU %s: %s\n", bus, nvmlErrorString(code));
            return code;
        }
        printf("%s persistence mode for GPU %s.\n", mode ? "Enabled" : "Disabled", bus);
    }
    puts("All done.");
    return 0;
}

int smi_mig_mode(const struct selection *gpus, unsigned mode)
{
    char bus[32];
    for (unsigned i = 0; i < gpus->count; i++) {
        nvmlReturn_t status = NVML_SUCCESS, code = nvmlDeviceSetMigMode(gpus->gpu[i], mode, &status);
        bus_of(gpus->gpu[i], bus);
        if (code) {
            printf("Unable to %s MIG Mode for GPU %s: %s\nTerminating early due to previous errors.\n",
                   mode ? "enable" : "disable", bus, nvmlErrorString(code));
            return code;
        }
        if (status)
            printf("Warning: MIG mode is in pending %s state for GPU %s:%s\n", mode ? "enable" : "disable", bus,
                   nvmlErrorString(status));
        else
            printf("%s MIG Mode for GPU %s\n", mode ? "Enabled" : "Disabled", bus);
    }
    puts("All done.");
    return 0;
}
