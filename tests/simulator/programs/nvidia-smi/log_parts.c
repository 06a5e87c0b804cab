/* Parts of nvidia-smi -q that are lists. */
#include "log.h"

#include <string.h>

static void write_attributes(struct writer *writer, nvmlDevice_t mig, int depth)
{
    nvmlDeviceAttributes_t a;
    memset(&a, 0, sizeof a);
    nvml.DeviceGetAttributes_v2(mig, &a);
    write_section(writer, depth, "Device Attributes", "device_attributes");
    write_section(writer, depth + 1, "Shared", "shared");
    write_leaf(writer, depth + 2, "Multiprocessor count", "multiprocessor_count", "%u", a.multiprocessorCount);
    write_leaf(writer, depth + 2, "Copy Engine count", "copy_engine_count", "%u", a.sharedCopyEngineCount);
    write_leaf(writer, depth + 2, "Encoder count", "encoder_count", "%u", a.sharedEncoderCount);
    write_leaf(writer, depth + 2, "Decoder count", "decoder_count", "%u", a.sharedDecoderCount);
    write_leaf(writer, depth + 2, "OFA count", "ofa_count", "%u", a.sharedOfaCount);
    write_leaf(writer, depth + 2, "JPG count", "jpg_count", "%u", a.sharedJpegCount);
}

static void write_property(struct writer *writer, nvmlDevice_t gpu, int depth, const char *label, const char *tag,
                           struct property property)
{
    struct value value;
    property.get(&value, gpu, property.which);
    write_leaf(writer, depth, label, tag, "%s%s", value_text(&value),
               value.code || !property.unit ? "" : property.unit);
}

static void write_mig_memory(struct writer *writer, nvmlDevice_t mig, int depth)
{
    const char *unit = " MiB";
    int shared = since(R590);
    write_section(writer, depth, shared ? "Shared FB Memory Usage" : "FB Memory Usage", "fb_memory_usage");
    write_property(writer, mig, depth + 1, "Total", "total", (struct property){get_memory, MEMORY_TOTAL, unit});
    write_property(writer, mig, depth + 1, "Reserved", "reserved",
                   (struct property){get_memory, MEMORY_RESERVED, unit});
    write_property(writer, mig, depth + 1, "Used", "used", (struct property){get_memory, MEMORY_USED, unit});
    write_property(writer, mig, depth + 1, "Free", "free", (struct property){get_memory, MEMORY_FREE, unit});
    write_section(writer, depth, shared ? "Shared BAR1 Memory" : "BAR1 Memory", "bar1_memory_usage");
    write_property(writer, mig, depth + 1, "Total", "total", (struct property){get_bar1, MEMORY_TOTAL, unit});
    write_property(writer, mig, depth + 1, "Used", "used", (struct property){get_bar1, MEMORY_USED, unit});
    write_property(writer, mig, depth + 1, "Free", "free", (struct property){get_bar1, MEMORY_FREE, unit});
}

struct mig_place {
    struct writer *writer;
    int depth;
};

static void write_mig(nvmlDevice_t mig, unsigned index, void *context)
{
    struct writer *writer = ((struct mig_place *)context)->writer;
    int depth = ((struct mig_place *)context)->depth;
    u64 errors = 0;
    write_section(writer, depth, "MIG Device", "mig_device");
    write_leaf(writer, depth + 1, "Index", "index", "%u", index);
    write_property(writer, mig, depth + 1, "GPU Instance ID", "gpu_instance_id",
                   (struct property){get_number, CALL(DeviceGetGpuInstanceId), 0});
    write_property(writer, mig, depth + 1, "Compute Instance ID", "compute_instance_id",
                   (struct property){get_number, CALL(DeviceGetComputeInstanceId), 0});
    write_attributes(writer, mig, depth + 1);
    nvmlReturn_t code = nvml.DeviceGetMemoryErrorCounter(mig, 1, 0, ECC_SRAM, &errors);
    write_section(writer, depth + 1, "ECC Errors", "ecc_error_count");
    write_section(writer, depth + 2, "Volatile", "volatile_count");
    if (code && code != NVML_ERROR_INVALID_ARGUMENT)
        write_leaf(writer, depth + 3, "SRAM Uncorrectable", "sram_uncorrectable", "%s", reason(code));
    else
        write_leaf(writer, depth + 3, "SRAM Uncorrectable", "sram_uncorrectable", "%llu", errors);
    write_mig_memory(writer, mig, depth + 1);
}

void emit_mig_devices(struct writer *writer, nvmlDevice_t gpu, int depth)
{
    struct mig_place place = {writer, writer->xml ? depth + 1 : depth};
    if (writer->xml)
        write_section(writer, depth, 0, "mig_devices");
    if (!each_mig(gpu, write_mig, &place) && writer->xml)
        printf("\t\t\tNone\n");
}

static void write_process(struct writer *writer, const struct process *p, int depth)
{
    char gi[16], ci[16], memory[32];
    snprintf(gi, sizeof gi, p->info.gpuInstanceId == NVML_NO_INSTANCE ? "N/A" : "%u", p->info.gpuInstanceId);
    snprintf(ci, sizeof ci, p->info.computeInstanceId == NVML_NO_INSTANCE ? "N/A" : "%u", p->info.computeInstanceId);
    snprintf(memory, sizeof memory, p->info.usedGpuMemory == NVML_VALUE_NOT_AVAILABLE ? "N/A" : "%llu MiB",
             p->info.usedGpuMemory / MIB);
    if (!writer->xml) {
        write_process_line(depth, "GPU instance ID", "%s", gi);
        write_process_line(depth, "Compute instance ID", "%s", ci);
        write_process_line(depth, "Process ID", "%u", p->info.pid);
        write_process_line(depth + 1, "Type", "%s", p->type);
        write_process_line(depth + 1, "Name", "%s", p->name);
        write_process_line(depth + 1, "Used GPU Memory", "%s", memory);
        return;
    }
    write_section(writer, depth, 0, "process_info");
    write_leaf(writer, depth + 1, 0, "gpu_instance_id", "%s", gi);
    write_leaf(writer, depth + 1, 0, "compute_instance_id", "%s", ci);
    write_leaf(writer, depth + 1, 0, "pid", "%u", p->info.pid);
    write_leaf(writer, depth + 1, 0, "type", "%s", p->type);
    write_leaf(writer, depth + 1, 0, "process_name", "%s", p->name);
    write_leaf(writer, depth + 1, 0, "used_memory", "%s", memory);
}

void emit_processes(struct writer *writer, nvmlDevice_t gpu, int depth)
{
    struct process all[SMI_PROCESSES];
    unsigned count = processes_of(gpu, all);
    if (!count && !writer->xml)
        write_leaf(writer, depth, "Processes", 0, "None");
    else
        write_section(writer, depth, "Processes", "processes");
    for (unsigned i = 0; i < count; i++)
        write_process(writer, &all[i], depth + 1);
}

void emit_accounted(struct writer *writer, nvmlDevice_t gpu, int depth)
{
    (void)gpu;
    if (writer->xml)
        write_section(writer, depth, 0, "accounted_processes");
    else
        write_leaf(writer, depth, "Accounted Processes", 0, "None");
}

static void write_retirement(struct writer *writer, nvmlDevice_t gpu, int depth, const char *tag, int cause)
{
    u64 addresses[64];
    unsigned count = COUNT(addresses);
    struct value value;
    get_retired(&value, gpu, cause);
    write_section(writer, depth, 0, tag);
    write_leaf(writer, depth + 1, 0, "retired_count", "%s", value_text(&value));
    if (value.code) {
        write_leaf(writer, depth + 1, 0, "retired_pagelist", "%s", value_text(&value));
        return;
    }
    write_section(writer, depth + 1, 0, "retired_pagelist");
    nvmlReturn_t code = nvml.DeviceGetRetiredPages(gpu, cause, &count, addresses);
    for (unsigned i = 0; !code && i < count; i++)
        write_leaf(writer, depth + 2, 0, "retired_page_addr", "0x%016llx", addresses[i]);
}

void emit_retired_pages(struct writer *writer, nvmlDevice_t gpu, int depth)
{
    struct value pending;
    get_retired_pending(&pending, gpu, CALL(DeviceGetRetiredPagesPendingStatus));
    write_section(writer, depth, 0, "retired_pages");
    write_retirement(writer, gpu, depth + 1, "multiple_single_bit_retirement", RETIRED_SINGLE);
    write_retirement(writer, gpu, depth + 1, "double_bit_retirement", RETIRED_DOUBLE);
    write_leaf(writer, depth + 1, 0, "pending_blacklist", "%s", value_text(&pending));
    write_leaf(writer, depth + 1, 0, "pending_retirement", "%s", value_text(&pending));
}

static void write_clocks_of(struct writer *writer, nvmlDevice_t gpu, int depth, unsigned memory)
{
    unsigned clocks[256], count = COUNT(clocks);
    if (writer->xml) {
        write_section(writer, depth, 0, "supported_mem_clock");
        write_leaf(writer, depth + 1, 0, "value", "%u MHz", memory);
    } else
        write_leaf(writer, depth, "Memory", 0, "%u MHz", memory);
    nvmlReturn_t code = nvml.DeviceGetSupportedGraphicsClocks(gpu, memory, &count, clocks);
    for (unsigned i = 0; !code && i < count; i++)
        write_leaf(writer, depth + 1, "Graphics", "supported_graphics_clock", "%u MHz", clocks[i]);
}

void emit_supported_clocks(struct writer *writer, nvmlDevice_t gpu, int depth)
{
    unsigned memory[32], count = COUNT(memory);
    nvmlReturn_t code = nvml.DeviceGetSupportedMemoryClocks(gpu, &count, memory);
    if (code) {
        write_leaf(writer, depth, "Supported Clocks", "supported_clocks", "%s", reason(code));
        return;
    }
    write_section(writer, depth, "Supported Clocks", "supported_clocks");
    for (unsigned i = 0; i < count; i++)
        write_clocks_of(writer, gpu, depth + 1, memory[i]);
}

/* Kinds of nvmlSamplingType_t. */
enum {
    SAMPLES_POWER,
    SAMPLES_GPU,
    SAMPLES_MEMORY,
    SAMPLES_ENCODER,
    SAMPLES_DECODER,
    SAMPLES_SM_CLOCK,
    SAMPLES_MEMORY_CLOCK
};

struct statistics {
    double seconds, low, high, average;
    unsigned count;
};

static nvmlReturn_t measure(nvmlDevice_t gpu, unsigned kind, struct statistics *s)
{
    nvmlSample_t samples[512];
    unsigned type, count = COUNT(samples);
    nvmlReturn_t code = nvml.DeviceGetSamples(gpu, kind, 0, &type, &count, samples);
    if (code)
        return code;
    if (!count)
        return NVML_ERROR_NOT_FOUND;
    *s = (struct statistics){(samples[count - 1].timeStamp - samples[0].timeStamp) / 1e6, samples[0].value.uiVal, 0, 0,
                             count};
    for (unsigned i = 0; i < count; i++) {
        double value = samples[i].value.uiVal;
        s->low = value < s->low ? value : s->low;
        s->high = value > s->high ? value : s->high;
        s->average += value / count;
    }
    return 0;
}

static void write_samples(struct writer *writer, nvmlDevice_t gpu, int depth, const char *label, unsigned kind)
{
    static const char *const failures[] = {"Duration", "Number of Samples", "Max", "Min", "Avg"};
    struct statistics s;
    nvmlReturn_t code = measure(gpu, kind, &s);
    double scale = kind == SAMPLES_POWER ? 1000 : 1;
    const char *unit = kind == SAMPLES_POWER ? "W" : kind >= SAMPLES_SM_CLOCK ? "MHz" : "%";
    int digits = kind == SAMPLES_POWER ? 2 : 0;
    write_section(writer, depth, label, 0);
    for (unsigned i = 0; code && i < COUNT(failures); i++)
        write_leaf(writer, depth + 1, failures[i], 0, "%s", reason(code));
    if (code)
        return;
    write_leaf(writer, depth + 1, "Duration", 0, "%.2f sec", s.seconds);
    write_leaf(writer, depth + 1, "Number of Samples", 0, "%u", s.count);
    write_leaf(writer, depth + 1, "Max", 0, "%.*f %s", digits, s.high / scale, unit);
    write_leaf(writer, depth + 1, "Min", 0, "%.*f %s", digits, s.low / scale, unit);
    write_leaf(writer, depth + 1, "Avg", 0, "%.*f %s", digits, s.average / scale, unit);
}

void emit_power_samples(struct writer *writer, nvmlDevice_t gpu, int depth)
{
    write_samples(writer, gpu, depth, "Power Samples", SAMPLES_POWER);
}

void emit_utilization_samples(struct writer *writer, nvmlDevice_t gpu, int depth)
{
    write_samples(writer, gpu, depth, "GPU Utilization Samples", SAMPLES_GPU);
    write_samples(writer, gpu, depth, "Memory Utilization Samples", SAMPLES_MEMORY);
    write_samples(writer, gpu, depth, "ENC Utilization Samples", SAMPLES_ENCODER);
    write_samples(writer, gpu, depth, "DEC Utilization Samples", SAMPLES_DECODER);
}

void emit_clock_samples(struct writer *writer, nvmlDevice_t gpu, int depth)
{
    write_samples(writer, gpu, depth, "SM Clock Samples", SAMPLES_SM_CLOCK);
    write_samples(writer, gpu, depth, "Memory Clock Samples", SAMPLES_MEMORY_CLOCK);
}
