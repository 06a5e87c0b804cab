#include "smi.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void put(int depth, const char *name, const char *value)
{
    printf("%.*s<%s>%s</%s>\n", depth, "\t\t\t\t\t\t\t\t", name, value, name);
}

static void put_number(int depth, const char *name, u64 value, const char *unit)
{
    char text[64];
    snprintf(text, sizeof text, "%llu%s", value, unit);
    put(depth, name, text);
}

static void put_memory(int depth, nvmlDevice_t device)
{
    nvmlMemory_v2_t memory = {STRUCT_VERSION(nvmlMemory_v2_t, 2), 0, 0, 0, 0};
    nvmlDeviceGetMemoryInfo_v2(device, &memory);
    printf("%.*s<fb_memory_usage>\n", depth, "\t\t\t\t");
    put_number(depth + 1, "total", memory.total / MIB, " MiB");
    put_number(depth + 1, "reserved", memory.reserved / MIB, " MiB");
    put_number(depth + 1, "used", memory.used / MIB, " MiB");
    put_number(depth + 1, "free", memory.free / MIB, " MiB");
    printf("%.*s</fb_memory_usage>\n", depth, "\t\t\t\t");
}

static void put_mig(nvmlDevice_t mig, unsigned index, void *context)
{
    unsigned gi = 0, ci = 0;
    nvmlDeviceAttributes_t a;
    (void)context;
    memset(&a, 0, sizeof a);
    nvmlDeviceGetGpuInstanceId(mig, &gi);
    nvmlDeviceGetComputeInstanceId(mig, &ci);
    nvmlDeviceGetAttributes_v2(mig, &a);
    puts("\t\t\t<mig_device>");
    put_number(4, "index", index, "");
    put_number(4, "gpu_instance_id", gi, "");
    put_number(4, "compute_instance_id", ci, "");
    puts("\t\t\t\t<device_attributes>\n\t\t\t\t\t<shared>");
    put_number(6, "multiprocessor_count", a.multiprocessorCount, "");
    put_number(6, "copy_engine_count", a.sharedCopyEngineCount, "");
    put_number(6, "encoder_count", a.sharedEncoderCount, "");
    put_number(6, "decoder_count", a.sharedDecoderCount, "");
    put_number(6, "ofa_count", a.sharedOfaCount, "");
    put_number(6, "jpg_count", a.sharedJpegCount, "");
    puts("\t\t\t\t\t</shared>\n\t\t\t\t</device_attributes>");
    put_memory(4, mig);
    puts("\t\t\t</mig_device>");
}

static void put_mig_devices(nvmlDevice_t gpu)
{
    puts("\t\t<mig_devices>");
    if (!each_mig(gpu, put_mig, 0))
        puts("\t\t\tNone");
    puts("\t\t</mig_devices>");
}

static void put_mig_mode(nvmlDevice_t gpu)
{
    unsigned now = 0, pending = 0;
    int capable = !nvmlDeviceGetMigMode(gpu, &now, &pending);
    puts("\t\t<mig_mode>");
    put(3, "current_mig", !capable ? "N/A" : now ? "Enabled" : "Disabled");
    put(3, "pending_mig", !capable ? "N/A" : pending ? "Enabled" : "Disabled");
    puts("\t\t</mig_mode>");
}

static void put_processes(nvmlDevice_t gpu)
{
    nvmlProcessInfo_t infos[SMI_INSTANCES];
    unsigned count = SMI_INSTANCES;
    char name[80];
    if (nvmlDeviceGetComputeRunningProcesses_v3(gpu, &count, infos))
        count = 0;
    puts("\t\t<processes>");
    for (unsigned i = 0; i < count; i++) {
        nvmlSystemGetProcessName(infos[i].pid, name, sizeof name);
        puts("\t\t\t<process_info>");
        put_number(4, "pid", infos[i].pid, "");
        put(4, "type", "C");
        put(4, "process_name", name);
        put_number(4, "used_memory", infos[i].usedGpuMemory / MIB, " MiB");
        puts("\t\t\t</process_info>");
    }
    puts("\t\t</processes>");
}

static void put_gpu(nvmlDevice_t gpu)
{
    char text[96] = "";
    unsigned number = 0;
    bus_of(gpu, text);
    printf("\t<gpu id=\"%s\">\n", text);
    nvmlDeviceGetName(gpu, text, sizeof text);
    put(2, "product_name", text);
    nvmlDeviceGetPersistenceMode(gpu, &number);
    put(2, "persistence_mode", number ? "Enabled" : "Disabled");
    put_mig_mode(gpu);
    put_mig_devices(gpu);
    nvmlDeviceGetSerial(gpu, text, sizeof text);
    put(2, "serial", text);
    nvmlDeviceGetUUID(gpu, text, sizeof text);
    put(2, "uuid", text);
    nvmlDeviceGetMinorNumber(gpu, &number);
    put_number(2, "minor_number", number, "");
    nvmlDeviceGetVbiosVersion(gpu, text, sizeof text);
    put(2, "vbios_version", text);
    put_memory(2, gpu);
    put_processes(gpu);
    puts("\t</gpu>");
}

int smi_xml(const struct selection *gpus)
{
    char driver[80] = "", date[64];
    int cuda = 0;
    time_t now = time(0);
    strftime(date, sizeof date, "%a %b %e %H:%M:%S %Y", localtime(&now));
    nvmlSystemGetDriverVersion(driver, sizeof driver);
    nvmlSystemGetCudaDriverVersion_v2(&cuda);
    printf("<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v%d.dtd\">\n<nvidia_smi_log>\n",
           strncmp(driver, "58", 2) >= 0 ? 13 : 12);
    put(1, "timestamp", date);
    put(1, "driver_version", driver);
    printf("\t<cuda_version>%d.%d</cuda_version>\n", cuda / 1000, cuda % 1000 / 10);
    put_number(1, "attached_gpus", gpus->count, "");
    for (unsigned i = 0; i < gpus->count; i++)
        put_gpu(gpus->gpu[i]);
    puts("</nvidia_smi_log>");
    return 0;
}
