/* nvidia-smi mig: its options, and look-up of profiles and instances. */
#include "mig.h"

#include "nodes.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_size(const void *left, const void *right)
{
    const gi_profile_t *a = left, *b = right;
    if (a->sliceCount != b->sliceCount)
        return a->sliceCount < b->sliceCount ? -1 : 1;
    return a->memorySizeMB < b->memorySizeMB ? -1 : a->memorySizeMB > b->memorySizeMB;
}

unsigned gi_profiles_of(nvmlDevice_t gpu, gi_profile_t *profiles)
{
    unsigned count = 0;
    for (unsigned number = 0; number < NVML_GPU_INSTANCE_PROFILE_COUNT; number++) {
        profiles[count].version = STRUCT_VERSION(gi_profile_t, 2);
        if (!nvml.DeviceGetGpuInstanceProfileInfoV(gpu, number, &profiles[count]))
            count++;
    }
    /* Insertion keeps the order of NVML's numbers among equals, which qsort need not. */
    for (unsigned i = 1; i < count; i++)
        for (unsigned j = i; j && by_size(&profiles[j - 1], &profiles[j]) > 0; j--) {
            gi_profile_t swap = profiles[j];
            profiles[j] = profiles[j - 1];
            profiles[j - 1] = swap;
        }
    return count;
}

unsigned ci_profiles_of(nvmlGpuInstance_t gi, ci_profile_t *profiles)
{
    unsigned count = 0;
    for (unsigned number = 0; number < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; number++) {
        profiles[count].version = STRUCT_VERSION(ci_profile_t, 2);
        if (!nvml.GpuInstanceGetComputeInstanceProfileInfoV(gi, number, 0, &profiles[count]))
            count++;
    }
    return count;
}

/* The widest, and the one with more multiprocessors of two: what -C takes and -lcip marks. */
unsigned default_ci_profile(const ci_profile_t *profiles, unsigned count)
{
    unsigned best = 0;
    for (unsigned i = 1; i < count; i++)
        if (profiles[i].sliceCount > profiles[best].sliceCount ||
            (profiles[i].sliceCount == profiles[best].sliceCount &&
             profiles[i].multiprocessorCount > profiles[best].multiprocessorCount))
            best = i;
    return best;
}

static int is_listed(const char *list, unsigned number)
{
    if (!list)
        return 1;
    for (char *end; *list; list = end + strspn(end, ", ")) {
        long one = parse_number(list, &end);
        if (end == list)
            return 0;
        if (one == (long)number)
            return 1;
    }
    return 0;
}

static int by_gi_id(const void *left, const void *right)
{
    unsigned a = ((const struct gi *)left)->info.id, b = ((const struct gi *)right)->info.id;
    return a < b ? -1 : a > b;
}

unsigned instances_of(nvmlDevice_t gpu, const char *gis, struct gi *instances)
{
    gi_profile_t profiles[NVML_GPU_INSTANCE_PROFILE_COUNT];
    nvmlGpuInstance_t handles[SMI_INSTANCES];
    unsigned found = 0, known = gi_profiles_of(gpu, profiles);
    for (unsigned p = 0; p < known; p++) {
        unsigned count = SMI_INSTANCES, first = found;
        if (nvml.DeviceGetGpuInstances(gpu, profiles[p].id, handles, &count))
            continue;
        for (unsigned i = 0; i < count && found < SMI_INSTANCES; i++) {
            instances[found].handle = handles[i];
            instances[found].profile = profiles[p];
            if (!nvml.GpuInstanceGetInfo(handles[i], &instances[found].info) &&
                is_listed(gis, instances[found].info.id))
                found++;
        }
        qsort(instances + first, found - first, sizeof *instances, by_gi_id);
    }
    return found;
}

unsigned computes_of(const struct gi *gi, const char *cis, nvmlComputeInstance_t *handles,
                     nvmlComputeInstanceInfo_t *infos)
{
    nvmlComputeInstance_t some[SMI_INSTANCES];
    unsigned found = 0;
    for (unsigned number = 0; number < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; number++) {
        unsigned count = SMI_INSTANCES;
        if (nvml.GpuInstanceGetComputeInstances(gi->handle, number, some, &count))
            continue;
        for (unsigned i = 0; i < count && found < SMI_INSTANCES; i++) {
            handles[found] = some[i];
            if (!nvml.ComputeInstanceGetInfo_v2(some[i], &infos[found]) && is_listed(cis, infos[found].id))
                found++;
        }
    }
    for (unsigned i = 1; i < found; i++)
        for (unsigned j = i; j && infos[j - 1].id > infos[j].id; j--) {
            nvmlComputeInstanceInfo_t info = infos[j];
            nvmlComputeInstance_t handle = handles[j];
            infos[j] = infos[j - 1];
            handles[j] = handles[j - 1];
            infos[j - 1] = info;
            handles[j - 1] = handle;
        }
    return found;
}

int mig_is_enabled(const struct selection *gpus)
{
    int any = 0;
    for (unsigned i = 0; i < gpus->count; i++)
        any |= has_mig(gpus->gpu[i]);
    return any;
}

int say_not_enabled(void)
{
    puts("No MIG-enabled devices found.");
    return EXIT_NO_DEVICES;
}

int say_no_gis(void)
{
    puts("No GPU instances found: Not Found");
    return EXIT_NO_DEVICES;
}

int say_no_cis(void)
{
    puts("No compute instances found: Not Found");
    return EXIT_NO_DEVICES;
}

enum { OPTION_HELP = 1, OPTION_ID, OPTION_GI, OPTION_CI, OPTION_COMPUTE, VERBS };

static const struct option_row options[] = {
    {"-h", "--help", OPTION_HELP, WITHOUT_VALUE},
    {"-i", "--id", OPTION_ID, WITH_VALUE},
    {"-gi", "--gpu-instance-id", OPTION_GI, WITH_VALUE},
    {"-ci", "--compute-instance-id", OPTION_CI, WITH_VALUE},
    {"-C", "--default-compute-instance", OPTION_COMPUTE, WITHOUT_VALUE},
    {"-lgip", "--list-gpu-instance-profiles", VERBS, WITHOUT_VALUE},
    {"-lgipp", "--list-gpu-instance-possible-placements", VERBS + 1, WITHOUT_VALUE},
    {"-lgi", "--list-gpu-instances", VERBS + 2, WITHOUT_VALUE},
    {"-lcip", "--list-compute-instance-profiles", VERBS + 3, WITHOUT_VALUE},
    {"-lcipp", "--list-compute-instance-possible-placements", VERBS + 4, WITHOUT_VALUE},
    {"-lci", "--list-compute-instances", VERBS + 5, WITHOUT_VALUE},
    {"-cgi", "--create-gpu-instance", VERBS + 6, WITH_VALUE},
    {"-cci", "--create-compute-instance", VERBS + 7, PERHAPS_VALUE},
    {"-dgi", "--destroy-gpu-instance", VERBS + 8, WITHOUT_VALUE},
    {"-dci", "--destroy-compute-instance", VERBS + 9, WITHOUT_VALUE},
};

static int (*const verbs[])(const struct mig_request *request) = {
    mig_list_gi_profiles, mig_list_gi_placements, mig_list_gis,   mig_list_ci_profiles, mig_list_ci_placements,
    mig_list_cis,         mig_create_gis,         mig_create_cis, mig_destroy_gis,      mig_destroy_cis,
};

/* 0, or the exit code with its text printed. */
static int parse(struct mig_request *request, struct command_line *line)
{
    const char *value;
    for (int key; (key = next_option(options, COUNT(options), line, &value));) {
        if (key < 0)
            return EXIT_ARGUMENT;
        if (key == OPTION_ID)
            request->ids = value;
        else if (key == OPTION_GI)
            request->gis = value;
        else if (key == OPTION_CI)
            request->cis = value;
        else if (key == OPTION_COMPUTE)
            request->compute = 1;
        else if (request->verb)
            return complain("Invalid combination of input arguments. Please run 'nvidia-smi mig -h' for help.");
        else {
            request->verb = key;
            request->profiles = value;
        }
    }
    return 0;
}

int smi_mig(int count, char **words)
{
    struct mig_request request = {0, 0, 0, 0, 0, 0, {0, {0}, {0}}};
    struct command_line line = {count, 1, words};
    int failed = parse(&request, &line);
    if (failed)
        return failed;
    if (!request.verb || request.verb == OPTION_HELP)
        return smi_mig_help();
    failed = smi_start();
    if (failed)
        return failed;
    failed = smi_select(&request.gpus, request.ids);
    if (!failed)
        failed = verbs[request.verb - VERBS](&request);
    if (!geteuid() && !access("/usr/lib/simhw", F_OK) && nodes_may_modify())
        node_make_capabilities();
    nvml.Shutdown();
    return failed;
}
