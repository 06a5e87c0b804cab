/* nvidia-smi -q, with -x and -d. */
#include "log.h"

#include "text.h"

#include <stdarg.h>
#include <string.h>

#define TABS "\t\t\t\t\t\t\t\t\t\t\t\t"
#define PROCESS_WIDTH 42 /* of the labels of processes, which did not grow with the others */
#define RENAMED " [Deprecated; will be removed in CUDA 14.0. Use %s instead]"

static int label_width(void)
{
    return since(R590) || since(R595_AND_580_173) ? 55 : PROCESS_WIDTH;
}

static void put_escaped(const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", stdout);
            break;
        case '>':
            fputs("&gt;", stdout);
            break;
        case '&':
            fputs("&amp;", stdout);
            break;
        default:
            putchar(*text);
        }
}

void write_end(struct writer *writer, int depth)
{
    while (writer->depth > depth) {
        const char *tag = writer->open[--writer->depth];
        if (tag)
            printf("%.*s</%s>\n", writer->depth + 1, TABS, tag);
    }
}

void write_section(struct writer *writer, int depth, const char *label, const char *tag)
{
    write_end(writer, depth);
    writer->open[depth] = writer->xml ? tag : 0;
    writer->depth = depth + 1;
    if (!writer->xml)
        printf("%*s%s\n", depth * 4, "", label);
    else
        printf("%.*s<%s>\n", depth + 1, TABS, tag);
}

static void write_line(int width, int depth, const char *label, const char *text)
{
    printf("%*s%-*s: %s\n", depth * 4, "", width - depth * 4, label, text);
}

void write_leaf(struct writer *writer, int depth, const char *label, const char *tag, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    write_end(writer, depth);
    if (!writer->xml) {
        if (label)
            write_line(label_width(), depth, label, text);
        return;
    }
    if (!tag)
        return;
    printf("%.*s<%s>", depth + 1, TABS, tag);
    put_escaped(text);
    printf("</%s>\n", tag);
}

void write_process_line(int depth, const char *label, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    write_line(PROCESS_WIDTH, depth, label, text);
}

static int condition_holds(enum condition condition, nvmlDevice_t gpu)
{
    unsigned architecture = condition == ALWAYS ? 0 : architecture_of(gpu);
    switch (condition) {
    case LIMIT_MARGINS:
        return architecture >= NVML_ARCH_ADA;
    case LIMIT_DEGREES:
        return architecture < NVML_ARCH_ADA;
    case SRAM_DETAILS:
        return architecture >= NVML_ARCH_AMPERE;
    case SRAM_TOTALS:
        return architecture > NVML_ARCH_VOLTA && architecture < NVML_ARCH_AMPERE;
    case BITS:
        return architecture <= NVML_ARCH_VOLTA;
    default:
        return 1;
    }
}

/* chosen: what -d asks for, 0 without it. Rows deeper than the first follow the row above them. */
static int is_shown(const struct row *row, const struct writer *writer, unsigned chosen, nvmlDevice_t gpu)
{
    if (!(writer->xml ? row->tag : row->label))
        return 0;
    if (row->depth == 1 && chosen && !(row->display & chosen))
        return 0;
    if (row->depth == 1 && !chosen && !writer->xml && row->display & (unsigned)D_ALONE)
        return 0;
    if ((row->first && !since(row->first)) || (row->until && since(row->until)))
        return 0;
    return condition_holds(row->condition, gpu);
}

static int is_section(const struct row *row)
{
    const struct row *next = row + 1;
    return next < log_rows + log_row_count && next->depth > row->depth && row->property.get != get_reason;
}

static const char *shown_text(const struct row *row, const struct writer *writer, const struct value *value)
{
    const char *text = value_text(value);
    return writer->xml && row->bare && !strncmp(text, "0x", 2) ? text + 2 : text;
}

/* Returns 1 when the rows below belong to what was written; a section that NVML refuses is one line. */
static int write_row(const struct row *row, struct writer *writer, nvmlDevice_t gpu)
{
    struct value value = {0, ""};
    int is_reason = row->property.get == get_reason;
    if (row->emit) {
        row->emit(writer, gpu, row->depth);
        return 0;
    }
    if (row->property.get)
        row->property.get(&value, gpu, row->property.which);
    if (is_section(row) && !value.code) {
        write_section(writer, row->depth, row->label, row->tag);
        return 1;
    }
    const char *unit = value.code || !row->property.unit ? "" : row->property.unit;
    int depth = is_reason && writer->xml ? 2 : row->depth; /* the text alone shows which reason is part of which */
    write_leaf(writer, depth, row->label, row->tag, "%s%s", shown_text(row, writer, &value), unit);
    return is_reason;
}

static void write_gpu(struct writer *writer, nvmlDevice_t gpu, unsigned chosen)
{
    int hidden = 99;
    for (const struct row *row = log_rows; row < log_rows + log_row_count; row++) {
        if (row->depth > hidden)
            continue;
        hidden = is_shown(row, writer, chosen, gpu) && write_row(row, writer, gpu) ? 99 : row->depth;
    }
    write_end(writer, 1);
}

static const struct {
    const char *name;
    unsigned display;
} displays[] = {{"MEMORY", D_MEMORY},
                {"UTILIZATION", D_UTILIZATION},
                {"ECC", D_ECC},
                {"TEMPERATURE", D_TEMPERATURE},
                {"POWER", D_POWER},
                {"CLOCK", D_CLOCK},
                {"COMPUTE", D_COMPUTE},
                {"PIDS", D_PIDS},
                {"PERFORMANCE", D_PERFORMANCE},
                {"SUPPORTED_CLOCKS", D_SUPPORTED_CLOCKS},
                {"PAGE_RETIREMENT", D_PAGE_RETIREMENT},
                {"ACCOUNTING", D_ACCOUNTING},
                {"ENCODER_STATS", D_ENCODER_STATS},
                {"SUPPORTED_GPU_TARGET_TEMP", D_SUPPORTED_GPU_TARGET_TEMP},
                {"VOLTAGE", D_VOLTAGE},
                {"FBC_STATS", D_FBC_STATS},
                {"ROW_REMAPPER", D_ROW_REMAPPER},
                {"RESET_STATUS", D_RESET_STATUS},
                {"GSP_FIRMWARE_VERSION", D_GSP_FIRMWARE_VERSION},
                {"POWER_SMOOTHING", D_POWER_SMOOTHING},
                {"POWER_PROFILES", D_POWER_PROFILES}};

/* The bits of a list such as ECC,POWER; 0 when a name is none of them. */
static unsigned parse_display(const char *list)
{
    char words[256], *cursor;
    unsigned chosen = 0, known;
    if (copy_text(words, sizeof words, list))
        return 0;
    for (char *word = strtok_r(words, ",", &cursor); word; word = strtok_r(0, ",", &cursor)) {
        for (known = 0; known < COUNT(displays) && strcasecmp(word, displays[known].name);)
            known++;
        if (known == COUNT(displays))
            return 0;
        chosen |= displays[known].display;
    }
    return chosen;
}

static void write_versions(struct writer *writer)
{
    char cuda[32] = "Not Found";
    int number = smi_cuda();
    if (number)
        snprintf(cuda, sizeof cuda, "%d.%d", number / 1000, number % 1000 / 10);
    if (!since(R610)) {
        write_leaf(writer, 0, "Driver Version", "driver_version", "%s", smi_version());
        write_leaf(writer, 0, "CUDA Version", "cuda_version", "%s", cuda);
        return;
    }
    write_leaf(writer, 0, "Driver Version", "driver_version", "%s" RENAMED, smi_version(), "KMD Version");
    write_leaf(writer, 0, "CUDA Version", "cuda_version", "%s" RENAMED, cuda, "CUDA UMD Version");
    write_leaf(writer, 0, "KMD Version", "kmd_version", "%s", smi_version());
    write_leaf(writer, 0, "CUDA UMD Version", "cuda_umd_version", "%s", cuda);
}

static void write_head(struct writer *writer)
{
    if (writer->xml) {
        printf(
            "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v%d.dtd\">\n<nvidia_smi_log>\n",
            since(R580) ? 13 : 12);
        printf("\t<timestamp>");
        print_timestamp(stdout, "</timestamp>\n");
    } else {
        printf("\n==============NVSMI LOG==============\n\n%-*s: ", label_width(), "Timestamp");
        print_timestamp(stdout, "\n");
    }
    write_versions(writer);
    if (!writer->xml)
        puts("");
    unsigned attached = 0;
    nvml.DeviceGetCount_v2(&attached);
    write_leaf(writer, 0, "Attached GPUs", "attached_gpus", "%u", attached);
}

int smi_log(const struct request *request, const struct selection *gpus)
{
    struct writer writer = {request->xml, 0, {0}};
    char bus[32];
    unsigned chosen = request->display ? parse_display(request->display) : 0;
    if (request->display && (!chosen || request->xml))
        return complain("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.");
    write_head(&writer);
    for (unsigned i = 0; i < gpus->count; i++) {
        bus_of(gpus->gpu[i], bus);
        printf(writer.xml ? "\t<gpu id=\"%s\">\n" : "GPU %s\n", bus);
        writer.depth = 1;
        write_gpu(&writer, gpus->gpu[i], chosen);
        fputs(writer.xml ? "\t</gpu>\n\n" : "\n", stdout);
        writer.depth = 0;
    }
    if (writer.xml)
        puts("</nvidia_smi_log>");
    return 0;
}
