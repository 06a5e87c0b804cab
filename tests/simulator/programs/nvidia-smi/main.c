/* Stand-in for nvidia-smi: the command line, and what happens when NVML does not start. */
#include "smi.h"

#include "nodes.h"
#include "text.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static int fail_to_find_library(void)
{
    puts("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display "
         "Driver is properly installed and present in your system.\n"
         "Please also try adding directory that contains libnvidia-ml.so to your system PATH.");
    return NVML_ERROR_LIBRARY_NOT_FOUND;
}

/* "570.172.08" -> "570.172", as nvidia-smi prints it. */
static void print_library_version(void)
{
    char version[64];
    if (nvml_library_version(version, sizeof version))
        return;
    char *dot = strchr(version, '.');
    if (dot && (dot = strchr(dot + 1, '.')))
        *dot = 0;
    printf("NVML library version: %s\n", version);
}

static int fail_to_start(nvmlReturn_t code)
{
    if (code == NVML_ERROR_DRIVER_NOT_LOADED) {
        puts("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
             "NVIDIA driver is installed and running.\n");
        return code;
    }
    printf("Failed to initialize NVML: %s\n", nvml.ErrorString(code));
    if (code == NVML_ERROR_LIB_RM_VERSION_MISMATCH)
        print_library_version();
    return exit_code(code);
}

int smi_start(void)
{
    if (nvml_open())
        return fail_to_find_library();
    nvmlReturn_t code = nvml.Init_v2();
    if (code)
        return fail_to_start(code);
    if (!geteuid() && !access("/usr/lib/simhw", F_OK) && nodes_may_modify())
        node_make_capabilities();
    return 0;
}

typedef int verb_t(const struct request *request, const struct selection *gpus);

enum { VERB_SUMMARY, VERB_LIST, VERB_LOG };

/* Options that say what to do. Their place in the table is the key. */
static const struct {
    struct option_row option;
    verb_t *run;
} verbs[] = {
    {{0, 0, VERB_SUMMARY, WITHOUT_VALUE}, smi_table},
    {{"-L", "--list-gpus", VERB_LIST, WITHOUT_VALUE}, smi_list},
    {{"-q", "--query", VERB_LOG, WITHOUT_VALUE}, smi_log},
    {{0, "--query-gpu", 3, WITH_VALUE}, smi_query_gpu},
    {{0, "--query-compute-apps", 4, WITH_VALUE}, smi_query_compute_apps},
    {{0, "--query-accounted-apps", 5, WITH_VALUE}, smi_query_accounted_apps},
    {{0, "--query-retired-pages", 6, WITH_VALUE}, smi_query_retired_pages},
    {{0, "--query-remapped-rows", 7, WITH_VALUE}, smi_query_remapped_rows},
    {{"-r", "--gpu-reset", 8, PERHAPS_VALUE}, smi_reset},
    {{"-pm", "--persistence-mode", 9, WITH_VALUE}, smi_persistence},
    {{"-e", "--ecc-config", 10, WITH_VALUE}, smi_ecc},
    {{"-p", "--reset-ecc-errors", 11, WITH_VALUE}, smi_clear_ecc},
    {{"-c", "--compute-mode", 12, WITH_VALUE}, smi_compute_mode},
    {{"-pl", "--power-limit", 13, WITH_VALUE}, smi_power_limit},
    {{"-mig", "--multi-instance-gpu", 14, WITH_VALUE}, smi_mig_mode},
};

enum {
    OPTION_XML = 100,
    OPTION_DISPLAY,
    OPTION_FORMAT,
    OPTION_ID,
    OPTION_FILE,
    OPTION_LOOP,
    OPTION_LOOP_MS,
    OPTION_STRICT
};
enum {
    OPTION_HELP = 200,
    OPTION_VERSION,
    OPTION_HELP_GPU,
    OPTION_HELP_APPS,
    OPTION_HELP_ACCOUNTS,
    OPTION_HELP_PAGES,
    OPTION_HELP_ROWS
};

static const struct option_row others[] = {{"-x", "--xml-format", OPTION_XML, WITHOUT_VALUE},
                                           {"-d", "--display", OPTION_DISPLAY, WITH_VALUE},
                                           {0, "--format", OPTION_FORMAT, WITH_VALUE},
                                           {"-i", "--id", OPTION_ID, WITH_VALUE},
                                           {"-f", "--filename", OPTION_FILE, WITH_VALUE},
                                           {"-l", "--loop", OPTION_LOOP, PERHAPS_VALUE},
                                           {"-lms", "--loop-ms", OPTION_LOOP_MS, WITH_VALUE},
                                           {"-eow", "--error-on-warning", OPTION_STRICT, WITHOUT_VALUE},
                                           {"-h", "--help", OPTION_HELP, WITHOUT_VALUE},
                                           {0, "--version", OPTION_VERSION, WITHOUT_VALUE},
                                           {0, "--help-query-gpu", OPTION_HELP_GPU, WITHOUT_VALUE},
                                           {0, "--help-query-compute-apps", OPTION_HELP_APPS, WITHOUT_VALUE},
                                           {0, "--help-query-accounted-apps", OPTION_HELP_ACCOUNTS, WITHOUT_VALUE},
                                           {0, "--help-query-retired-pages", OPTION_HELP_PAGES, WITHOUT_VALUE},
                                           {0, "--help-query-remapped-rows", OPTION_HELP_ROWS, WITHOUT_VALUE}};

/* What the real program has and this one does not: told apart from a mistyped word. */
static const char not_simulated[] =
    " dmon daemon replay pmon drain c2c clocks encodersessions fbcsessions vgpu compute-policy boost-slider power-hint "
    "base-clocks conf-compute gpm pci power-smoothing power-profiles rusd prm soc event-log cper "
    "-B --list-excluded-gpus -col --columns -u --unit --dtd --query-supported-clocks --gom -vm --virt-mode "
    "-lgc --lock-gpu-clocks -rgc --reset-gpu-clocks -lmc --lock-memory-clocks -rmc --reset-memory-clocks "
    "-lmcd --lock-memory-clocks-deferred -rmcd --reset-memory-clocks-deferred -lmci --lock-memory-clocks-info "
    "-ac --applications-clocks -rac --reset-applications-clocks -svfd --set-vf-derate -gvfd --get-vf-derate-info "
    "-sc --scope -cc --cuda-clocks -am --accounting-mode -caa --clear-accounted-apps --auto-boost-default "
    "--auto-boost-permission -gtt --gpu-target-temp -den --dram-encryption --set-hostname --get-hostname "
    "-t --toggle-led --debug ";

static void take(struct request *request, int key, const char *value)
{
    if (key == OPTION_XML)
        request->xml = 1;
    else if (key == OPTION_DISPLAY)
        request->display = value;
    else if (key == OPTION_FORMAT)
        request->format = value;
    else if (key == OPTION_ID)
        request->ids = value;
    else if (key == OPTION_FILE)
        request->file = value;
    else if (key == OPTION_LOOP)
        request->loop_ms = value ? parse_number(value, 0) * 1000 : 5000;
    else if (key == OPTION_LOOP_MS)
        request->loop_ms = parse_number(value, 0);
    else if (key == OPTION_STRICT)
        request->strict = 1;
}

/* 0, or the exit code with its text printed. */
static int parse(struct request *request, int count, char **words)
{
    struct option_row rows[COUNT(verbs) + COUNT(others)];
    struct command_line line = {count, 1, words};
    const char *value;
    for (unsigned i = 0; i < COUNT(verbs); i++)
        rows[i] = verbs[i].option;
    memcpy(rows + COUNT(verbs), others, sizeof others);
    for (int key; (key = next_option(rows, COUNT(rows), &line, &value));) {
        if (key < 0)
            return EXIT_ARGUMENT;
        if (key >= OPTION_XML && key < OPTION_HELP)
            take(request, key, value);
        else if (request->verb)
            return complain("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.");
        else {
            request->verb = key;
            request->value = value;
        }
    }
    if ((request->xml || request->display) && request->verb != VERB_LOG)
        return complain("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.");
    return 0;
}

static int run_verb(const struct request *request)
{
    static const char *const helps[] = {"query-gpu", "query-compute-apps", "query-accounted-apps",
                                        "query-retired-pages", "query-remapped-rows"};
    struct selection gpus;
    if (request->verb == OPTION_VERSION)
        return smi_version_of_all();
    if (request->verb >= OPTION_HELP_GPU)
        return print_query_help(helps[request->verb - OPTION_HELP_GPU]);
    int failed = smi_select(&gpus, request->ids);
    return failed ? failed : verbs[request->verb].run(request, &gpus);
}

static int run(const struct request *request)
{
    struct timespec pause = {request->loop_ms / 1000, request->loop_ms % 1000 * 1000000};
    int failed = smi_start();
    if (failed)
        return failed;
    for (;;) {
        failed = run_verb(request);
        fflush(stdout);
        if (request->loop_ms <= 0)
            break;
        nanosleep(&pause, 0);
    }
    nvml.Shutdown();
    return failed;
}

/* The heading needs a version; without a driver it is the library's, and help needs neither. */
static int help(void)
{
    if (!nvml_open() && !nvml.Init_v2()) {
        int failed = smi_help();
        nvml.Shutdown();
        return failed;
    }
    return smi_help();
}

int main(int count, char **words)
{
    struct request request = {0};
    const char *first = count > 1 ? words[1] : "";
    if (!strcmp(first, "mig"))
        return smi_mig(count - 1, words + 1);
    if (!strcmp(first, "topo"))
        return smi_topo(count - 1, words + 1);
    if (!strcmp(first, "nvlink"))
        return smi_nvlink(count - 1, words + 1);
    int failed = refuse_missing(not_simulated, count, words);
    if (!failed)
        failed = parse(&request, count, words);
    if (failed)
        return failed;
    if (request.verb == OPTION_HELP)
        return help();
    if (request.file && !freopen(request.file, "w", stdout)) {
        fprintf(stderr, "nvidia-smi (simulated): %s cannot be written\n", request.file);
        return EXIT_OTHER;
    }
    return run(&request);
}
