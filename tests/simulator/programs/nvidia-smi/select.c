/* Which GPUs a command is about, and what is said of those that do not answer. */
#define _GNU_SOURCE
#include "smi.h"

#include "text.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const struct dirent *entry)
{
    return strchr(entry->d_name, ':') != 0;
}

static int is_selected(const struct selection *selection, const char *address)
{
    char bus[32];
    for (unsigned i = 0; i < selection->count; i++) {
        bus_of(selection->gpu[i], bus);
        if (!strcasecmp(bus + 4, address)) /* NVML has eight digits of the domain, the kernel four */
            return 1;
    }
    return 0;
}

/*
 * Address of the n-th GPU that the driver has and NVML gives no handle for, as 0000:34:00.0: without a handle there is
 * no call that tells it, and the real program knows it from the driver too.
 */
static void silent_address(const struct selection *answering, unsigned n, char *address, size_t size)
{
    struct dirent **entries;
    char folder[4096];
    const char *root = getenv("GPU_FLEET_SIM_PROC");
    snprintf(folder, sizeof folder, "%s/nvidia/gpus", root && *root ? root : "/proc/driver");
    int count = scandir(folder, &entries, by_name, alphasort);
    copy_text(address, size, "0000:00:00.0");
    for (int i = 0; i < count; i++) {
        if (!is_selected(answering, entries[i]->d_name) && n-- == 0)
            copy_text(address, size, entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    for (char *letter = address; *letter; letter++)
        *letter = toupper(*letter);
}

static void say_no_handle(unsigned index, const char *address, nvmlReturn_t code)
{
    const char *more = code == NVML_ERROR_GPU_IS_LOST ? ".  Reboot the system to recover this GPU" : "";
    if (since(R580))
        printf("Unable to determine the device handle for GPU%u: %s: %s%s\n", index, address, reason(code), more);
    else
        printf("Unable to determine the device handle for GPU%s: %s%s\n", address, reason(code), more);
}

static void add(struct selection *selection, unsigned index, nvmlDevice_t gpu)
{
    selection->index[selection->count] = index;
    selection->gpu[selection->count++] = gpu;
}

static int say_no_devices(void)
{
    puts("No devices were found");
    return EXIT_NO_DEVICES;
}

struct silence {
    unsigned count, index[SMI_GPUS];
    nvmlReturn_t code[SMI_GPUS];
};

static void ask_all(struct selection *selection, struct silence *silence)
{
    unsigned count = 0;
    nvml.DeviceGetCount_v2(&count);
    for (unsigned i = 0; i < count && i < SMI_GPUS; i++) {
        nvmlDevice_t gpu;
        nvmlReturn_t code = nvml.DeviceGetHandleByIndex_v2(i, &gpu);
        if (code) {
            silence->index[silence->count] = i;
            silence->code[silence->count++] = code;
        } else
            add(selection, i, gpu);
    }
}

/* Before 580 the first GPU that does not answer ends the run; since then the others are shown. */
static int select_all(struct selection *selection)
{
    struct silence silence = {0};
    char address[64];
    ask_all(selection, &silence);
    for (unsigned i = 0; i < silence.count; i++) {
        silent_address(selection, i, address, sizeof address);
        say_no_handle(silence.index[i], address, silence.code[i]);
        if (!since(R580))
            return exit_code(silence.code[i]);
    }
    if (selection->count)
        return 0;
    int none = say_no_devices();
    return silence.count ? exit_code(silence.code[0]) : none;
}

static int is_number(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

static nvmlReturn_t find(const char *id, nvmlDevice_t *gpu)
{
    if (!strncasecmp(id, "GPU-", 4))
        return nvml.DeviceGetHandleByUUID(id, gpu);
    if (strchr(id, ':'))
        return nvml.DeviceGetHandleByPciBusId_v2(id, gpu);
    nvmlReturn_t code = is_number(id) ? nvml.DeviceGetHandleByIndex_v2(parse_number(id, 0), gpu) : NVML_ERROR_NOT_FOUND;
    return code == NVML_ERROR_INVALID_ARGUMENT || code == NVML_ERROR_NOT_FOUND ? nvml.DeviceGetHandleBySerial(id, gpu)
                                                                               : code;
}

/*
 * NVML refuses a GPU that is there. An index or an address says which of the silent ones it is; a UUID does not, and
 * then the first is named.
 */
static int refuse(const char *id, nvmlReturn_t code)
{
    struct selection answering = {0};
    struct silence silence = {0};
    char address[64] = "", named[64];
    unsigned index = 0;
    ask_all(&answering, &silence);
    for (unsigned i = 0; i < silence.count; i++) {
        silent_address(&answering, i, named, sizeof named);
        int same = is_number(id) ? parse_number(id, 0) == silence.index[i] : strcasestr(id, named) != 0;
        if (!same && address[0])
            continue;
        index = silence.index[i];
        copy_text(address, sizeof address, named);
        if (same)
            break;
    }
    say_no_handle(index, address, code);
    return exit_code(code);
}

int smi_select(struct selection *selection, const char *ids)
{
    char words[1024], *cursor;
    memset(selection, 0, sizeof *selection);
    if (!ids)
        return select_all(selection);
    if (copy_text(words, sizeof words, ids))
        return say_no_devices();
    for (char *id = strtok_r(words, ", ", &cursor); id; id = strtok_r(0, ", ", &cursor)) {
        nvmlDevice_t gpu;
        unsigned index = 0;
        nvmlReturn_t code = selection->count < SMI_GPUS ? find(id, &gpu) : NVML_ERROR_NOT_FOUND;
        if (code == NVML_ERROR_NOT_FOUND || code == NVML_ERROR_INVALID_ARGUMENT)
            return say_no_devices();
        if (code)
            return refuse(id, code);
        nvml.DeviceGetIndex(gpu, &index);
        add(selection, index, gpu);
    }
    return selection->count ? 0 : say_no_devices();
}
