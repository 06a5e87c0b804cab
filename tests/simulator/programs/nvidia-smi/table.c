#include "smi.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LINE "+-----------------------------------------------------------------------------------------+\n"
#define SPLIT "+-----------------------------------------+------------------------+----------------------+\n"

static void print_head(void)
{
    char driver[80] = "", date[64];
    int cuda = 0;
    time_t now = time(0);
    strftime(date, sizeof date, "%a %b %e %H:%M:%S %Y", localtime(&now));
    nvmlSystemGetDriverVersion(driver, sizeof driver);
    nvmlSystemGetCudaDriverVersion_v2(&cuda);
    printf("%s       \n" LINE, date);
    printf("| NVIDIA-SMI %-22s Driver Version: %-14s CUDA Version: %2d.%-5d |\n", driver, driver, cuda / 1000, cuda % 1000 / 10);
    printf(SPLIT "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
                 "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
                 "|                                         |                        |               MIG M. |\n"
                 "|=========================================+========================+======================|\n");
}

static void print_gpu(nvmlDevice_t gpu, unsigned index)
{
    char name[96] = "", bus[32], load[16] = "N/A";
    unsigned persistence = 0, temperature = 0, power = 0, limit = 0, now = 0, pending = 0;
    nvmlMemory_v2_t memory = {STRUCT_VERSION(nvmlMemory_v2_t, 2), 0, 0, 0, 0};
    nvmlUtilization_t rates;
    int capable = !nvmlDeviceGetMigMode(gpu, &now, &pending);
    nvmlDeviceGetName(gpu, name, sizeof name);
    bus_of(gpu, bus);
    nvmlDeviceGetPersistenceMode(gpu, &persistence);
    nvmlDeviceGetTemperature(gpu, 0, &temperature);
    nvmlDeviceGetPowerUsage(gpu, &power);
    nvmlDeviceGetEnforcedPowerLimit(gpu, &limit);
    nvmlDeviceGetMemoryInfo_v2(gpu, &memory);
    if (!nvmlDeviceGetUtilizationRates(gpu, &rates))
        snprintf(load, sizeof load, "%u%%", rates.gpu);
    printf("| %3u  %-26.26s %7s |   %s Off |                    0 |\n", index, name, persistence ? "On " : "Off", bus);
    printf("| N/A  %3uC    P0   %11uW / %4uW | %7lluMiB / %6lluMiB | %7s      Default |\n", temperature, power / 1000,
           limit / 1000, memory.used / MIB, memory.total / MIB, load);
    printf("|                                         |                        | %20s |\n" SPLIT,
           !capable ? "N/A" : now ? "Enabled" : "Disabled");
}

static void print_mig(nvmlDevice_t mig, unsigned index, void *context)
{
    unsigned gi = 0, ci = 0;
    nvmlDeviceAttributes_t a;
    nvmlMemory_v2_t memory = {STRUCT_VERSION(nvmlMemory_v2_t, 2), 0, 0, 0, 0};
    memset(&a, 0, sizeof a);
    nvmlDeviceGetGpuInstanceId(mig, &gi);
    nvmlDeviceGetComputeInstanceId(mig, &ci);
    nvmlDeviceGetAttributes_v2(mig, &a);
    nvmlDeviceGetMemoryInfo_v2(mig, &memory);
    printf("| %2u  %3u  %2u  %2u  | %14lluMiB / %5lluMiB    | %3u     0 | %2u  %2u   %2u   %2u   %2u |\n", *(unsigned *)context, gi,
           ci, index, memory.used / MIB, memory.total / MIB, a.multiprocessorCount, a.sharedCopyEngineCount,
           a.sharedEncoderCount, a.sharedDecoderCount, a.sharedOfaCount, a.sharedJpegCount);
}

static void print_migs(const struct selection *gpus)
{
    int any = 0;
    for (unsigned i = 0; i < gpus->count; i++)
        any |= has_mig(gpus->gpu[i]);
    if (!any)
        return;
    printf("\n" LINE "| MIG devices:                                                                            |\n"
           "+------------------+----------------------------------+-----------+-----------------------+\n"
           "| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |\n"
           "|      ID  ID  Dev |                                  | SM     Unc| CE ENC  DEC  OFA  JPG |\n"
           "|==================+==================================+===========+=======================|\n");
    for (unsigned i = 0; i < gpus->count; i++) {
        unsigned index = index_of(gpus->gpu[i]);
        if (has_mig(gpus->gpu[i]) && !each_mig(gpus->gpu[i], print_mig, &index))
            printf("|  No MIG devices found                                                                   |\n");
    }
    printf(LINE);
}

static unsigned print_processes(nvmlDevice_t gpu, unsigned index)
{
    nvmlProcessInfo_t infos[SMI_INSTANCES];
    unsigned count = SMI_INSTANCES;
    char name[40];
    if (nvmlDeviceGetComputeRunningProcesses_v3(gpu, &count, infos))
        return 0;
    for (unsigned i = 0; i < count; i++) {
        nvmlSystemGetProcessName(infos[i].pid, name, sizeof name);
        printf("| %4u  %12u      C   %-40s %12lluMiB |\n", index, infos[i].pid, name, infos[i].usedGpuMemory / MIB);
    }
    return count;
}

int smi_table(const struct selection *gpus)
{
    unsigned found = 0;
    print_head();
    for (unsigned i = 0; i < gpus->count; i++)
        print_gpu(gpus->gpu[i], index_of(gpus->gpu[i]));
    print_migs(gpus);
    printf("\n" LINE "| Processes:                                                                              |\n"
           "|=========================================================================================|\n");
    for (unsigned i = 0; i < gpus->count; i++)
        found += print_processes(gpus->gpu[i], index_of(gpus->gpu[i]));
    if (!found)
        printf("|  No running processes found                                                             |\n");
    printf(LINE);
    return 0;
}
