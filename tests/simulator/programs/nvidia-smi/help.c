/* Help texts in the form of the real ones: what this program knows, in its own words. */
#include "query.h"

#include <string.h>

static const char options[] =
    "A stand-in that answers for simulated GPUs, through the NVML library next to it.\n\n"
    "nvidia-smi [OPTION1 [ARG1]] [OPTION2 [ARG2]] ...\n\n"
    "    -h,   --help                Print usage information and exit.\n\n"
    "          --version             Print version information and exit.\n\n"
    "  LIST OPTIONS:\n\n"
    "    -L,   --list-gpus           Display a list of GPUs connected to the system.\n\n"
    "  SUMMARY OPTIONS:\n\n"
    "    <no arguments>              Show a summary of GPUs connected to the system.\n\n"
    "  QUERY OPTIONS:\n\n"
    "    -q,   --query               Display GPU info.\n\n"
    "    [plus any of]\n\n"
    "    -x,   --xml-format          Produce XML output.\n"
    "    -d,   --display=            Display only selected information: MEMORY, UTILIZATION, ECC, TEMPERATURE,\n"
    "                                POWER, CLOCK, COMPUTE, PIDS, PERFORMANCE, SUPPORTED_CLOCKS, PAGE_RETIREMENT,\n"
    "                                ACCOUNTING, ENCODER_STATS, SUPPORTED_GPU_TARGET_TEMP, VOLTAGE, FBC_STATS,\n"
    "                                ROW_REMAPPER, RESET_STATUS, GSP_FIRMWARE_VERSION, POWER_SMOOTHING,\n"
    "                                POWER_PROFILES. Several with commas. Not with -x.\n\n"
    "  SELECTIVE QUERY OPTIONS:\n\n"
    "    [one of]\n\n"
    "    --query-gpu=                Fields of a GPU. Call --help-query-gpu for their names.\n"
    "    --query-compute-apps=       Compute processes. Call --help-query-compute-apps.\n"
    "    --query-accounted-apps=     Accounted processes. Call --help-query-accounted-apps.\n"
    "    --query-retired-pages=      Retired pages. Call --help-query-retired-pages.\n"
    "    --query-remapped-rows=      Remapped rows. Call --help-query-remapped-rows.\n\n"
    "    [mandatory]\n\n"
    "    --format=                   csv, and with it noheader, nounits\n\n"
    "  DEVICE MODIFICATION OPTIONS:\n\n"
    "    [any one of]\n\n"
    "    -pm,  --persistence-mode=   Set persistence mode: 0/DISABLED, 1/ENABLED\n"
    "    -e,   --ecc-config=         Toggle ECC support: 0/DISABLED, 1/ENABLED\n"
    "    -p,   --reset-ecc-errors=   Reset ECC error counts: 0/VOLATILE, 1/AGGREGATE\n"
    "    -c,   --compute-mode=       0/DEFAULT, 1/EXCLUSIVE_THREAD, 2/PROHIBITED, 3/EXCLUSIVE_PROCESS\n"
    "    -r,   --gpu-reset           Trigger reset of the GPU.\n"
    "    -pl,  --power-limit=        Power limit in watts.\n"
    "    -mig, --multi-instance-gpu= Enable or disable Multi Instance GPU: 0/DISABLED, 1/ENABLED\n\n"
    "  [plus optional, to all of these]\n\n"
    "    -i,   --id=                 Index, PCI bus ID, UUID or serial number; several with commas.\n"
    "    -f,   --filename=           Log to a specified file, rather than to stdout.\n"
    "    -l,   --loop=               Repeat every so many seconds; -lms, --loop-ms= milliseconds.\n"
    "    -eow, --error-on-warning    Return a non-zero error for warnings.\n\n"
    " TOPOLOGY:\n"
    "    topo                        \"nvidia-smi topo -h\" for more information.\n\n"
    " NVLINK:\n"
    "    nvlink                      \"nvidia-smi nvlink -h\" for more information.\n\n"
    " MIG:\n"
    "    mig                         \"nvidia-smi mig -h\" for more information.\n";

int smi_help(void)
{
    printf("NVIDIA System Management Interface -- v%s\n\n", smi_version());
    puts(options);
    return 0;
}

int smi_mig_help(void)
{
    puts(
        "\n    mig -- Multi Instance GPU management.\n\n"
        "    Usage: nvidia-smi mig [options]\n\n"
        "    Options include:\n"
        "    [-h | --help]: Display help information.\n"
        "    [-i | --id]: Enumeration index, PCI bus ID or UUID; several with commas.\n"
        "    [-gi | --gpu-instance-id]: GPU instance ID; several with commas.\n"
        "    [-ci | --compute-instance-id]: Compute instance ID; several with commas.\n"
        "    [-lgip | --list-gpu-instance-profiles]: List supported GPU instance profiles.\n"
        "    [-lgipp | --list-gpu-instance-possible-placements]: List possible placements as {Start}:Size.\n"
        "    [-C | --default-compute-instance]: With -cgi: create a compute instance with the default profile, too.\n"
        "    [-cgi | --create-gpu-instance]: Create GPU instances for profile names or IDs, each with an optional\n"
        "                                    placement start behind a colon; several with commas.\n"
        "    [-dgi | --destroy-gpu-instance]: Destroy GPU instances.\n"
        "    [-lgi | --list-gpu-instances]: List GPU instances.\n"
        "    [-lcip | --list-compute-instance-profiles]: List supported compute instance profiles.\n"
        "    [-lcipp | --list-compute-instance-possible-placements]: List possible placements of compute instances.\n"
        "    [-cci | --create-compute-instance]: Create compute instances for profile names or IDs; without any, with\n"
        "                                        the default profile.\n"
        "    [-dci | --destroy-compute-instance]: Destroy compute instances.\n"
        "    [-lci | --list-compute-instances]: List compute instances.\n");
    return 0;
}

/* Two parts of the version, as nvidia-smi prints that of NVML. */
static void print_two_parts(const char *label, const char *version)
{
    size_t length = strcspn(version, ".");
    length += version[length] ? 1 + strcspn(version + length + 1, ".") : 0;
    printf("%s%.*s\n", label, (int)length, version);
}

int smi_version_of_all(void)
{
    const char *driver = smi_version();
    int cuda = smi_cuda(), renamed = since(R610);
    printf("NVIDIA-SMI version  : %s\n", driver);
    print_two_parts("NVML version        : ", driver);
    if (renamed)
        printf("DRIVER version      : Deprecated, see \"KMD version\" instead\n"
               "CUDA version        : Deprecated, see \"CUDA UMD version\" instead\n"
               "KMD version         : %s\nCUDA UMD version    : %d.%d\n",
               driver, cuda / 1000, cuda % 1000 / 10);
    else
        printf("DRIVER version      : %s\nCUDA Version        : %d.%d\n", driver, cuda / 1000, cuda % 1000 / 10);
    return 0;
}

/* A name in quotes below an empty line, its alias, and a line about it: exporters take the names from here. */
int print_query_help(const char *option)
{
    const struct field_list *const lists[] = {&gpu_fields, &app_list, &account_list, &page_list, &row_list};
    for (unsigned i = 0; i < COUNT(lists); i++) {
        if (strcmp(option, lists[i]->option))
            continue;
        printf("List of valid properties to query for the switch \"--%s\":\n\n", option);
        for (const struct field *f = lists[i]->fields; f < lists[i]->fields + lists[i]->count; f++) {
            if ((f->first && !since(f->first)) || (f->until && since(f->until)))
                continue;
            printf(f->alias ? "\"%s\" or \"%s\"\n" : "\"%s\"\n", f->name, f->alias);
            printf("As NVML tells it%s%s.\n\n", f->property.unit ? ", in" : "",
                   f->property.unit ? f->property.unit : "");
        }
        return 0;
    }
    return complain("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.");
}
