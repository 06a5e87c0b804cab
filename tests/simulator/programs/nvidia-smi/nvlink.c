/* nvidia-smi nvlink -s. */
#include "smi.h"

#include "text.h"

#include <string.h>

enum {
    FIELD_LINK_COUNT = 91,
    FIELD_SPEED_COMMON = 90,
    FIELD_SPEED_L0 = 84,
    FIELD_SPEED_L6 = 132,
    FIELD_GET_SPEED = 164
};

/* Megabytes per second; 0: NVML does not tell. Newer libraries have one field for all, with the link as its scope. */
static unsigned speed_of(nvmlDevice_t gpu, unsigned link)
{
    nvmlFieldValue_t field;
    if (!field_of(gpu, FIELD_GET_SPEED, link, &field) && field.value.uiVal)
        return field.value.uiVal;
    if (link < 12 && !field_of(gpu, link < 6 ? FIELD_SPEED_L0 + link : FIELD_SPEED_L6 + link - 6, 0, &field) &&
        field.value.uiVal)
        return field.value.uiVal;
    return field_of(gpu, FIELD_SPEED_COMMON, 0, &field) ? 0 : field.value.uiVal;
}

static unsigned links_of(nvmlDevice_t gpu, unsigned *active)
{
    unsigned count = 0;
    for (*active = 0; count < NVML_NVLINK_MAX_LINKS; count++) {
        unsigned on = 0;
        if (nvml.DeviceGetNvLinkState(gpu, count, &on))
            break;
        *active += on;
    }
    return count;
}

static void show_link(nvmlDevice_t gpu, unsigned link)
{
    unsigned on = 0, speed = 0;
    if (!nvml.DeviceGetNvLinkState(gpu, link, &on) && on && (speed = speed_of(gpu, link)))
        printf("\t Link %u: %g GB/s\n", link, speed / 1000.0);
    else
        printf("\t Link %u: <inactive>\n", link);
}

static void show_links(nvmlDevice_t gpu, long only)
{
    unsigned active, count = links_of(gpu, &active);
    if (has_mig(gpu))
        puts("Nvlink queries are not supported for Devices in MIG mode");
    else if (!count)
        puts("Device does not have or support Nvlink");
    else if (!active)
        puts("NVML: Unable to retrieve Nvlink information as all links are inActive");
    for (unsigned link = 0; !has_mig(gpu) && active && link < count; link++)
        if (only < 0 || link == (unsigned long)only)
            show_link(gpu, link);
}

enum { OPTION_HELP = 1, OPTION_ID, OPTION_LINK, OPTION_STATUS };

static const struct option_row options[] = {{"-h", "--help", OPTION_HELP, WITHOUT_VALUE},
                                            {"-i", "--id", OPTION_ID, WITH_VALUE},
                                            {"-l", "--link", OPTION_LINK, WITH_VALUE},
                                            {"-s", "--status", OPTION_STATUS, WITHOUT_VALUE}};

static int help(void)
{
    puts(
        "\n    nvlink -- Display NvLink information.\n\n"
        "    Usage: nvidia-smi nvlink [options]\n\n"
        "    Options include:\n"
        "    [-h | --help]: Display help information\n"
        "    [-i | --id]: Enumeration index, PCI bus ID or UUID.\n"
        "    [-l | --link]: Limit a command to a specific link. Without this flag, all link information is displayed.\n"
        "    [-s | --status]: Display link state (active/inactive).\n");
    return 0;
}

int smi_nvlink(int count, char **words)
{
    struct command_line line = {count, 1, words};
    struct selection gpus;
    const char *value, *ids = 0;
    long link = -1;
    int verb = 0;
    for (int key; (key = next_option(options, COUNT(options), &line, &value));) {
        if (key < 0)
            return EXIT_ARGUMENT;
        if (key == OPTION_ID)
            ids = value;
        else if (key == OPTION_LINK)
            link = parse_number(value, 0);
        else
            verb = key;
    }
    if (verb != OPTION_STATUS)
        return help();
    int failed = smi_start();
    if (failed)
        return failed;
    failed = smi_select(&gpus, ids);
    for (unsigned i = 0; !failed && i < gpus.count; i++) {
        print_gpu(&gpus, i);
        show_links(gpus.gpu[i], link);
    }
    nvml.Shutdown();
    return failed;
}
