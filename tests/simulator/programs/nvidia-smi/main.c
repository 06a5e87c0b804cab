#define _GNU_SOURCE
#include "nodes.h"
#include "smi.h"
#include "text.h"

#include <dlfcn.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail_to_find_library(void)
{
    puts("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver "
         "is properly installed and present in your system.\n"
         "Please also try adding directory that contains libnvidia-ml.so to your system PATH.");
    return 12;
}

/* "570.172.08" -> "570.172", as nvidia-smi prints it. */
static void print_library_version(void)
{
    Dl_info info;
    char path[PATH_MAX];
    if (!dladdr(dlsym(RTLD_DEFAULT, "nvmlInit_v2"), &info) || !realpath(info.dli_fname, path))
        return;
    char *version = strstr(path, ".so.");
    if (!version)
        return;
    char *dot = strchr(version + 4, '.');
    if (dot && (dot = strchr(dot + 1, '.')))
        *dot = 0;
    printf("NVML library version: %s\n", version + 4);
}

static int fail_to_start(nvmlReturn_t code)
{
    if (code == NVML_ERROR_DRIVER_NOT_LOADED) {
        puts("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
             "NVIDIA driver is installed and running.\n");
        return code;
    }
    printf("Failed to initialize NVML: %s\n", nvmlErrorString(code));
    if (code == NVML_ERROR_LIB_RM_VERSION_MISMATCH)
        print_library_version();
    return code < EXIT_OTHER ? code : EXIT_OTHER;
}

static int start(void)
{
    if (!dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_GLOBAL))
        return fail_to_find_library();
    nvmlReturn_t code = nvmlInit_v2();
    if (code)
        return fail_to_start(code);
    if (!geteuid() && !access("/usr/lib/simhw", F_OK) && nodes_may_modify())
        node_make_capabilities();
    return 0;
}

static int find(const char *id, nvmlDevice_t *gpu)
{
    if (!strncmp(id, "GPU-", 4))
        return nvmlDeviceGetHandleByUUID(id, gpu);
    if (strchr(id, ':'))
        return nvmlDeviceGetHandleByPciBusId_v2(id, gpu);
    return nvmlDeviceGetHandleByIndex_v2(parse_number(id, 0), gpu);
}

int smi_select(struct selection *selection, char *ids)
{
    selection->count = 0;
    if (!ids) {
        while (selection->count < SMI_GPUS &&
               !nvmlDeviceGetHandleByIndex_v2(selection->count, &selection->gpu[selection->count]))
            selection->count++;
        if (!selection->count)
            puts("No devices were found");
        return selection->count ? 0 : EXIT_NO_DEVICES;
    }
    for (char *id = strtok(ids, ","); id; id = strtok(0, ",")) {
        if (selection->count == SMI_GPUS || find(id, &selection->gpu[selection->count++])) {
            printf("No devices were found\n");
            return EXIT_NO_DEVICES;
        }
    }
    return 0;
}

static int version(void)
{
    char driver[80];
    int cuda;
    nvmlSystemGetDriverVersion(driver, sizeof driver);
    nvmlSystemGetCudaDriverVersion_v2(&cuda);
    printf("NVIDIA-SMI version  : %s\nNVML version        : %.6s\nDRIVER version      : %s\nCUDA Version        : %d.%d\n",
           driver, driver, driver, cuda / 1000, cuda % 1000 / 10);
    return 0;
}

struct request {
    int verb;
    char *ids, *value, *format;
    int xml;
};

enum { VERB_TABLE, VERB_LIST = 'L', VERB_RESET = 'r', VERB_QUERY = 'q', VERB_FIELDS = 1000, VERB_MIG, VERB_PERSISTENCE,
       VERB_VERSION, OPTION_FORMAT };

static int parse(struct request *request, int count, char **words)
{
    static const struct option options[] = {{"list-gpus", no_argument, 0, 'L'},
                                            {"gpu-reset", no_argument, 0, 'r'},
                                            {"query", no_argument, 0, 'q'},
                                            {"xml-format", no_argument, 0, 'x'},
                                            {"id", required_argument, 0, 'i'},
                                            {"query-gpu", required_argument, 0, VERB_FIELDS},
                                            {"format", required_argument, 0, OPTION_FORMAT},
                                            {"pm", required_argument, 0, VERB_PERSISTENCE},
                                            {"persistence-mode", required_argument, 0, VERB_PERSISTENCE},
                                            {"mig", required_argument, 0, VERB_MIG},
                                            {"multi-instance-gpu", required_argument, 0, VERB_MIG},
                                            {"version", no_argument, 0, VERB_VERSION},
                                            {0, 0, 0, 0}};
    opterr = 0;
    for (int option; (option = getopt_long_only(count, words, "Lrqxi:", options, 0)) != -1;) {
        if (option == '?')
            return -1;
        if (option == 'i')
            request->ids = optarg;
        else if (option == 'x')
            request->xml = 1;
        else if (option == OPTION_FORMAT)
            request->format = optarg;
        else {
            request->verb = option;
            request->value = optarg;
        }
    }
    return optind == count ? 0 : -1;
}

static int run(struct request *request)
{
    struct selection gpus;
    int failed = request->verb == VERB_VERSION ? 0 : smi_select(&gpus, request->ids);
    if (failed)
        return failed;
    switch (request->verb) {
    case VERB_LIST:
        return smi_list(&gpus);
    case VERB_RESET:
        return smi_reset(&gpus);
    case VERB_QUERY:
        return smi_xml(&gpus);
    case VERB_FIELDS:
        return smi_query(&gpus, request->value, request->format ? request->format : "csv");
    case VERB_MIG:
        return smi_mig_mode(&gpus, parse_number(request->value, 0));
    case VERB_PERSISTENCE:
        return smi_persistence(&gpus, parse_number(request->value, 0));
    case VERB_VERSION:
        return version();
    default:
        return smi_table(&gpus);
    }
}

int main(int count, char **words)
{
    struct request request = {VERB_TABLE, 0, 0, 0, 0};
    int is_mig = count > 1 && !strcmp(words[1], "mig");
    if (!is_mig && (parse(&request, count, words) || (request.verb == VERB_QUERY && !request.xml))) {
        puts("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n"
             "This simulated nvidia-smi knows -L, -r, -q -x, -i, --query-gpu, --format, -pm, -mig, --version and mig.");
        return EXIT_ARGUMENT;
    }
    int failed = start();
    if (failed)
        return failed;
    failed = is_mig ? smi_mig(count - 1, words + 1) : run(&request);
    nvmlShutdown();
    return failed;
}
