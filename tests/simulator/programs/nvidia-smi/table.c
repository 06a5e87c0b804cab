/* The summary that nvidia-smi shows without arguments. A cell that NVML refuses says ERR!, as the real one does. */
#include "smi.h"

#include <string.h>

#define LINE "+-----------------------------------------------------------------------------------------+\n"
#define CELLS "-----------------------------------------+------------------------+----------------------+\n"
#define MIG_CELLS "+------------------+----------------------------------+-----------+-----------------------+\n"

static void print_head(void)
{
    char cuda[16] = "N/A";
    int number = smi_cuda();
    if (number)
        snprintf(cuda, sizeof cuda, "%d.%d", number / 1000, number % 1000 / 10);
    print_timestamp(stdout, "       \n" LINE);
    printf(since(R610) ? "| NVIDIA-SMI %-22s KMD Version: %-13s CUDA UMD Version: %-8s |\n"
                       : "| NVIDIA-SMI %-22s Driver Version: %-14s CUDA Version: %-8s |\n",
           smi_version(), smi_version(), cuda);
    printf("%c" CELLS "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
           "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
           "|                                         |                        |               MIG M. |\n"
           "|=========================================+========================+======================|\n",
           since(R580) ? '+' : '|');
}

static const char *broken(nvmlReturn_t code)
{
    return strcmp(reason(code), "N/A") ? "ERR!" : "N/A";
}

/* A number with its unit, or what stands in its place. */
static const char *cell(char *text, size_t size, nvmlReturn_t code, u64 number, const char *unit)
{
    if (code)
        snprintf(text, size, "%s", broken(code));
    else
        snprintf(text, size, "%llu%s", number, unit);
    return text;
}

static void print_name_row(nvmlDevice_t gpu, unsigned index)
{
    char name[96], bus[32], shown[32], ecc[24];
    unsigned persistence = 0, display = 0, now = 0, pending = 0;
    u64 errors = 0;
    nvmlReturn_t code = nvml.DeviceGetName(gpu, name, sizeof name);
    snprintf(shown, sizeof shown, strlen(name) > 27 ? "%.24s..." : "%s", code ? broken(code) : name);
    code = nvml.DeviceGetPersistenceMode(gpu, &persistence);
    bus_of(gpu, bus);
    nvml.DeviceGetDisplayActive(gpu, &display);
    nvmlReturn_t ecc_code = nvml.DeviceGetEccMode(gpu, &now, &pending);
    if (has_mig(gpu) || (!ecc_code && !now))
        snprintf(ecc, sizeof ecc, has_mig(gpu) ? "On" : "Off");
    else {
        ecc_code = ecc_code ? ecc_code : nvml.DeviceGetTotalEccErrors(gpu, 1, 0, &errors);
        cell(ecc, sizeof ecc, ecc_code, errors, "");
    }
    printf("| %3u  %-27s    %-3s |   %-16s %-3s | %20s |\n", index, shown,
           code          ? broken(code)
           : persistence ? "On"
                         : "Off",
           bus, display ? "On" : "Off", ecc);
}

static const char *compute_mode(nvmlDevice_t gpu)
{
    static const char *const names[] = {"Default", "E. Thread", "Prohibited", "E. Process"};
    unsigned mode = 0;
    nvmlReturn_t code = nvml.DeviceGetComputeMode(gpu, &mode);
    return code ? broken(code) : mode < COUNT(names) ? names[mode] : "N/A";
}

static void print_load_row(nvmlDevice_t gpu)
{
    char fan[8], warmth[8], state[8], power[16], cap[16], used[16], total[16], load[8];
    unsigned number = 0;
    nvmlMemory_v2_t memory = {STRUCT_VERSION(nvmlMemory_v2_t, 2), 0, 0, 0, 0};
    nvmlUtilization_t rates = {0, 0};
    nvmlReturn_t code = nvml.DeviceGetFanSpeed(gpu, &number);
    cell(fan, sizeof fan, code, number, "%");
    code = nvml.DeviceGetTemperature(gpu, 0, &number);
    cell(warmth, sizeof warmth, code, number, "C");
    code = nvml.DeviceGetPerformanceState(gpu, &number);
    if (code)
        snprintf(state, sizeof state, "%s", broken(code));
    else
        snprintf(state, sizeof state, "P%u", number);
    code = nvml.DeviceGetPowerUsage(gpu, &number);
    cell(power, sizeof power, code, number / 1000, "W");
    code = nvml.DeviceGetEnforcedPowerLimit(gpu, &number);
    cell(cap, sizeof cap, code, number / 1000, "W");
    code = nvml.DeviceGetMemoryInfo_v2(gpu, &memory);
    cell(used, sizeof used, code, memory.used / MIB, "MiB");
    cell(total, sizeof total, code, memory.total / MIB, "MiB");
    code = nvml.DeviceGetUtilizationRates(gpu, &rates);
    cell(load, sizeof load, code, rates.gpu, "%");
    printf("| %3s  %4s  %4s%16s / %5s | %10s / %9s | %7s%13s |\n", fan, warmth, state, power, cap, used, total, load,
           compute_mode(gpu));
}

/* An asterisk: another mode takes effect with the next reset. */
static void print_mig_row(nvmlDevice_t gpu)
{
    char mode[24];
    unsigned now = 0, pending = 0;
    nvmlReturn_t code = nvml.DeviceGetMigMode(gpu, &now, &pending);
    snprintf(mode, sizeof mode, "%s%s", code ? broken(code) : now ? "Enabled" : "Disabled", now == pending ? "" : "*");
    printf("|                                         |                        | %20s |\n+" CELLS, mode);
}

static void print_mig(nvmlDevice_t mig, unsigned index, void *context)
{
    unsigned gi = 0, ci = 0;
    nvmlDeviceAttributes_t a;
    nvmlMemory_v2_t memory = {STRUCT_VERSION(nvmlMemory_v2_t, 2), 0, 0, 0, 0};
    nvmlMemory_t bar1 = {0, 0, 0};
    u64 errors = 0;
    memset(&a, 0, sizeof a);
    nvml.DeviceGetGpuInstanceId(mig, &gi);
    nvml.DeviceGetComputeInstanceId(mig, &ci);
    nvml.DeviceGetAttributes_v2(mig, &a);
    nvml.DeviceGetMemoryInfo_v2(mig, &memory);
    nvml.DeviceGetBAR1MemoryInfo(mig, &bar1);
    nvml.DeviceGetMemoryErrorCounter(mig, 1, 0, 7, &errors);
    printf("| %2u  %3u  %2u  %2u  | %15lluMiB / %5lluMiB    |%3u%7llu |%3u%4u%5u%5u%5u |\n", *(unsigned *)context, gi,
           ci, index, memory.used / MIB, memory.total / MIB, a.multiprocessorCount, errors, a.sharedCopyEngineCount,
           a.sharedEncoderCount, a.sharedDecoderCount, a.sharedOfaCount, a.sharedJpegCount);
    printf("|                  | %15lluMiB / %5lluMiB    |           |                       |\n" MIG_CELLS,
           bar1.used / MIB, bar1.total / MIB);
}

static void print_migs(const struct selection *gpus)
{
    int any = 0;
    for (unsigned i = 0; i < gpus->count; i++)
        any |= has_mig(gpus->gpu[i]);
    if (!any)
        return;
    const char *shared = since(R580) ? "Shared " : "       ";
    printf("\n" LINE
           "| MIG devices:                                                                            |\n" MIG_CELLS
           "| GPU  GI  CI  MIG |              %sMemory-Usage |        Vol|        Shared         |\n"
           "|      ID  ID  Dev |                %sBAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |\n"
           "|                  |                                  |        ECC|                       |\n"
           "|==================+==================================+===========+=======================|\n",
           shared, shared);
    int found = 0;
    for (unsigned i = 0; i < gpus->count; i++) {
        unsigned index = gpus->index[i];
        found += each_mig(gpus->gpu[i], print_mig, &index);
    }
    if (!found)
        printf("|  No MIG devices found                                                                   |\n" LINE);
}

/* An instance id is centred below its heading, and N/A is three letters wide. */
static const char *instance(char *text, unsigned id)
{
    snprintf(text, 8, id == NVML_NO_INSTANCE ? "N/A" : "%2u ", id);
    return text;
}

static unsigned print_processes(nvmlDevice_t gpu, unsigned index)
{
    struct process all[SMI_PROCESSES];
    unsigned count = processes_of(gpu, all);
    char gi[8], ci[8], memory[24];
    for (const struct process *p = all; p < all + count; p++) {
        int missing = p->info.usedGpuMemory == NVML_VALUE_NOT_AVAILABLE ? NVML_ERROR_NOT_SUPPORTED : 0;
        size_t length = strlen(p->name), room = 35;
        printf("| %4u   %3s  %3s%16u %6s   %s%-*s%11s |\n", index, instance(gi, p->info.gpuInstanceId),
               instance(ci, p->info.computeInstanceId), p->info.pid, p->type, length > room ? "..." : "",
               (int)(length > room ? room - 3 : room), length > room ? p->name + length - room + 3 : p->name,
               cell(memory, sizeof memory, missing, p->info.usedGpuMemory / MIB, "MiB"));
    }
    return count;
}

int smi_table(const struct request *request, const struct selection *gpus)
{
    unsigned found = 0;
    (void)request;
    print_head();
    for (unsigned i = 0; i < gpus->count; i++) {
        print_name_row(gpus->gpu[i], gpus->index[i]);
        print_load_row(gpus->gpu[i]);
        print_mig_row(gpus->gpu[i]);
    }
    print_migs(gpus);
    printf("\n" LINE "| Processes:                                                                              |\n"
           "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n"
           "|        ID   ID                                                               Usage      |\n"
           "|=========================================================================================|\n");
    for (unsigned i = 0; i < gpus->count; i++)
        found += print_processes(gpus->gpu[i], gpus->index[i]);
    if (!found)
        printf("|  No running processes found                                                             |\n");
    printf(LINE);
    return 0;
}
