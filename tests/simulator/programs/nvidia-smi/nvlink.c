/* nvidia-smi nvlink: state, capabilities, far ends and error counters of a GPU's links. */
#include "smi.h"

#include "text.h"

#include <string.h>

enum {
    FIELD_SPEED_L0 = 84,
    FIELD_SPEED_COMMON = 90,
    FIELD_SPEED_L6 = 132,
    FIELD_REMOTE_LINK = 146,
    FIELD_GET_SPEED = 164
};
#define FIFTH 5 /* NVLink 5 counts errors of packets, the ones before of the data link layer */

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

static int is_active(nvmlDevice_t gpu, unsigned link)
{
    unsigned on = 0;
    return !nvml.DeviceGetNvLinkState(gpu, link, &on) && on;
}

static void show_status(nvmlDevice_t gpu, unsigned link)
{
    unsigned speed = is_active(gpu, link) ? speed_of(gpu, link) : 0;
    if (speed)
        printf("\t Link %u: %g GB/s\n", link, speed / 1000.0);
    else
        printf("\t Link %u: <inactive>\n", link);
}

/* In the order of NVML_NVLINK_CAP_*. */
static void show_capabilities(nvmlDevice_t gpu, unsigned link)
{
    static const char *const names[] = {"P2P is supported",      "Access to system memory supported",
                                        "P2P atomics supported", "System memory atomics supported",
                                        "SLI is supported",      "Link is supported"};
    for (unsigned i = 0; i < COUNT(names); i++) {
        unsigned has = 0;
        nvmlReturn_t code = nvml.DeviceGetNvLinkCapability(gpu, link, i, &has);
        printf("\t Link %u, %s: %s\n", link, names[i], code ? reason(code) : has ? "true" : "false");
    }
}

static void show_address(nvmlDevice_t gpu, unsigned link)
{
    nvmlPciInfo_t far;
    nvmlReturn_t code = nvml.DeviceGetNvLinkRemotePciInfo_v2(gpu, link, &far);
    if (is_active(gpu, link))
        printf("\t Link %u: %s\n", link, code ? reason(code) : far.busId);
    else
        printf("\t Link %u: <inactive>\n", link);
}

static void show_far_end(nvmlDevice_t gpu, unsigned link)
{
    nvmlPciInfo_t far;
    nvmlFieldValue_t number;
    nvmlReturn_t code = nvml.DeviceGetNvLinkRemotePciInfo_v2(gpu, link, &far);
    if (!is_active(gpu, link)) {
        printf("\t Link %u: <inactive>\n", link);
        return;
    }
    printf("\t Link %u: Remote Device %s: Link ", link, code ? reason(code) : far.busId);
    code = field_of(gpu, FIELD_REMOTE_LINK, link, &number);
    if (code)
        puts(reason(code));
    else
        printf("%u\n", number.value.uiVal);
}

static void show_count(unsigned link, const char *name, nvmlReturn_t code, u64 count)
{
    if (code)
        printf("\t Link %u: %s: %s\n", link, name, reason(code));
    else
        printf("\t Link %u: %s: %llu\n", link, name, count);
}

static void show_packet_errors(nvmlDevice_t gpu, unsigned link)
{
    static const struct {
        unsigned field;
        const char *name;
    } counters[] = {{206, "Malformed packet Errors"},
                    {207, "Buffer overrun Errors"},
                    {208, "Rx Errors"},
                    {209, "Rx remote Errors"},
                    {210, "Rx General Errors"},
                    {211, "Local link integrity Errors"},
                    {212, "Tx discards"},
                    {213, "Link recovery successful events"},
                    {214, "Link recovery failed events"},
                    {215, "Total link recovery events"},
                    {219, "Effective Errors"},
                    {221, "Symbol Errors"}};
    for (unsigned i = 0; i < COUNT(counters); i++) {
        nvmlFieldValue_t field;
        nvmlReturn_t code = field_of(gpu, counters[i].field, link, &field);
        show_count(link, counters[i].name, code, field.value.ullVal);
    }
}

static void show_errors(nvmlDevice_t gpu, unsigned link)
{
    static const char *const names[] = {"Replay Errors", "Recovery Errors", "CRC Errors"};
    unsigned version = 0;
    if (!nvml.DeviceGetNvLinkVersion(gpu, link, &version) && version >= FIFTH)
        show_packet_errors(gpu, link);
    else
        for (unsigned i = 0; i < COUNT(names); i++) {
            u64 count = 0;
            nvmlReturn_t code = nvml.DeviceGetNvLinkErrorCounter(gpu, link, i, &count);
            show_count(link, names[i], code, count);
        }
    puts("");
}

typedef void show_t(nvmlDevice_t gpu, unsigned link);

static void show_links(nvmlDevice_t gpu, long only, show_t *show)
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
            show(gpu, link);
}

enum { OPTION_HELP = 1, OPTION_ID, OPTION_LINK, VERBS };

static const struct option_row options[] = {{"-h", "--help", OPTION_HELP, WITHOUT_VALUE},
                                            {"-i", "--id", OPTION_ID, WITH_VALUE},
                                            {"-l", "--link", OPTION_LINK, WITH_VALUE},
                                            {"-s", "--status", VERBS, WITHOUT_VALUE},
                                            {"-c", "--capabilities", VERBS + 1, WITHOUT_VALUE},
                                            {"-p", "--pcibusid", VERBS + 2, WITHOUT_VALUE},
                                            {"-R", "--remotelinkinfo", VERBS + 3, WITHOUT_VALUE},
                                            {"-e", "--errorcounters", VERBS + 4, WITHOUT_VALUE}};

static show_t *const verbs[] = {show_status, show_capabilities, show_address, show_far_end, show_errors};

static const char not_simulated[] =
    " -sc --setcontrol -gc --getcontrol -g --getcounters -r --resetcounters -ec --crcerrorcounters "
    "-re --reseterrorcounters -gt --getthroughput -sLowPwrThres --setLowPowerThreshold -gLowPwrInfo "
    "--getLowPowerInfo -cBwMode --checkBandwidthMode -sBwMode --setBandwidthMode -gBwMode --getBandwidthMode "
    "-info --info ";

static int help(void)
{
    puts("\n    nvlink -- Display NvLink information.\n\n"
         "    Usage: nvidia-smi nvlink [options]\n\n"
         "    Options include:\n"
         "    [-h | --help]: Display help information\n"
         "    [-i | --id]: Enumeration index, PCI bus ID or UUID.\n"
         "    [-l | --link]: Only this link; all without it.\n"
         "    [-s | --status]: State and speed of the links.\n"
         "    [-c | --capabilities]: What the links can do.\n"
         "    [-p | --pcibusid]: PCI bus ID of the far end.\n"
         "    [-R | --remotelinkinfo]: PCI bus ID and link of the far end.\n"
         "    [-e | --errorcounters]: Error counters of the links.\n");
    return 0;
}

static int show_gpus(const char *ids, long link, show_t *show)
{
    struct selection gpus;
    int failed = smi_start();
    if (failed)
        return failed;
    failed = smi_select(&gpus, ids);
    for (unsigned i = 0; !failed && i < gpus.count; i++) {
        print_gpu(&gpus, i);
        show_links(gpus.gpu[i], link, show);
    }
    nvml.Shutdown();
    return failed;
}

int smi_nvlink(int count, char **words)
{
    struct command_line line = {count, 1, words};
    const char *value, *ids = 0;
    long link = -1;
    int verb = 0, missing = refuse_missing(not_simulated, count, words);
    if (missing)
        return missing;
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
    return verb < VERBS ? help() : show_gpus(ids, link, verbs[verb - VERBS]);
}
