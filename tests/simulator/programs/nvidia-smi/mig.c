/* nvidia-smi mig: -lgip, -lgi, -cgi PROFILE[:START],... [-C], -dci, -dgi, each with -i. */
#include "nodes.h"
#include "smi.h"
#include "text.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef nvmlGpuInstanceProfileInfo_v2_t profile_t;

static int next_profile(nvmlDevice_t gpu, unsigned *number, profile_t *profile)
{
    for (; *number < NVML_GPU_INSTANCE_PROFILE_COUNT; ++*number) {
        profile->version = STRUCT_VERSION(profile_t, 2);
        if (!nvmlDeviceGetGpuInstanceProfileInfoV(gpu, *number, profile))
            return 1;
    }
    return 0;
}

#define EACH_PROFILE(gpu, profile) for (unsigned n_ = 0; next_profile(gpu, &n_, &profile); n_++)

static int list_profiles(const struct selection *gpus)
{
    profile_t p;
    unsigned found = 0, left;
    for (unsigned i = 0; i < gpus->count; i++)
        EACH_PROFILE(gpus->gpu[i], p)
        {
            if (!found++)
                puts("+-------------------------------------------------------------------------------+\n"
                     "| GPU instance profiles:                                                        |\n"
                     "| GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC  |\n"
                     "|                                Free/Total   GiB              CE    JPEG  OFA  |\n"
                     "|===============================================================================|");
            left = 0;
            nvmlDeviceGetGpuInstanceRemainingCapacity(gpus->gpu[i], p.id, &left);
            printf("| %3u  %-18s %3u     %u/%u        %5.2f      No    %3u   %3u   %3u   |\n", index_of(gpus->gpu[i]), p.name, p.id, left,
                   p.instanceCount, p.memorySizeMB / 1024.0, p.multiprocessorCount, p.decoderCount, p.encoderCount);
            printf("|                                                            %3u   %3u   %3u   |\n", p.copyEngineCount,
                   p.jpegCount, p.ofaCount);
            puts("+-------------------------------------------------------------------------------+");
        }
    if (!found)
        puts("No MIG-supported devices found.");
    return found ? 0 : EXIT_NO_DEVICES;
}

static unsigned instances_of(nvmlDevice_t gpu, const profile_t *profile, nvmlGpuInstance_t *gis)
{
    unsigned count = SMI_INSTANCES;
    return nvmlDeviceGetGpuInstances(gpu, profile->id, gis, &count) ? 0 : count;
}

static int list_instances(const struct selection *gpus)
{
    nvmlGpuInstance_t gis[SMI_INSTANCES];
    nvmlGpuInstanceInfo_t info;
    profile_t p;
    unsigned found = 0;
    for (unsigned i = 0; i < gpus->count; i++)
        EACH_PROFILE(gpus->gpu[i], p)
        for (unsigned n = 0, count = instances_of(gpus->gpu[i], &p, gis); n < count; n++) {
            if (!found++)
                puts("+-------------------------------------------------------+\n"
                     "| GPU instances:                                        |\n"
                     "| GPU   Name             Profile  Instance   Placement  |\n"
                     "|                          ID       ID       Start:Size |\n"
                     "|=======================================================|");
            nvmlGpuInstanceGetInfo(gis[n], &info);
            printf("| %3u  %-18s %3u      %3u         %2u:%-2u    |\n", index_of(gpus->gpu[i]), p.name, info.profileId, info.id, info.placement.start,
                   info.placement.size);
            puts("+-------------------------------------------------------+");
        }
    if (!found)
        puts("No GPU instances found: Not Found");
    return found ? 0 : EXIT_NO_DEVICES;
}

/* The widest compute instance that fits, the one with more multiprocessors where two do. */
static int create_compute(nvmlGpuInstance_t gi, unsigned gpu, const nvmlGpuInstanceInfo_t *info)
{
    nvmlComputeInstanceProfileInfo_v2_t best = {0}, one;
    nvmlComputeInstance_t ci;
    nvmlComputeInstanceInfo_t made;
    for (unsigned n = 0; n < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; n++) {
        one.version = STRUCT_VERSION(nvmlComputeInstanceProfileInfo_v2_t, 2);
        if (nvmlGpuInstanceGetComputeInstanceProfileInfoV(gi, n, 0, &one))
            continue;
        if (one.info.multiprocessorCount > best.info.multiprocessorCount)
            best = one;
    }
    nvmlReturn_t code = nvmlGpuInstanceCreateComputeInstance(gi, best.info.id, &ci);
    if (code || (code = nvmlComputeInstanceGetInfo_v2(ci, &made))) {
        printf("Unable to create a compute instance on GPU %2u GPU instance ID %2u: %s\n", gpu, info->id, nvmlErrorString(code));
        return code;
    }
    printf("Successfully created compute instance ID %2u on GPU %2u GPU instance ID %2u using profile %s (ID %2u)\n", made.id, gpu,
           info->id, best.name, best.info.id);
    return 0;
}

static int find_profile(nvmlDevice_t gpu, const char *word, profile_t *profile)
{
    char *end;
    long id = parse_number(word, &end);
    EACH_PROFILE(gpu, *profile)
    if (*end ? !strcmp(profile->name + 4, word) : profile->id == id)
        return 0;
    return -1;
}

static nvmlReturn_t create_at(nvmlDevice_t gpu, const profile_t *profile, unsigned start, nvmlGpuInstance_t *gi)
{
    nvmlPlacement_t places[SMI_INSTANCES];
    unsigned count = SMI_INSTANCES;
    nvmlReturn_t code = nvmlDeviceGetGpuInstancePossiblePlacements_v2(gpu, profile->id, places, &count);
    if (code)
        return code;
    nvmlPlacement_t place = {start, count ? places[0].size : 0};
    return nvmlDeviceCreateGpuInstanceWithPlacement(gpu, profile->id, &place, gi);
}

/* word: a profile's id or name, and perhaps ":START" */
static int create_one(nvmlDevice_t gpu, unsigned index, char *word, int compute)
{
    profile_t p;
    nvmlGpuInstance_t gi;
    nvmlGpuInstanceInfo_t info;
    char *start = strchr(word, ':');
    if (start)
        *start++ = 0;
    if (find_profile(gpu, word, &p)) {
        printf("Failed to find profile %s on GPU %2u: Not Found\n", word, index);
        return EXIT_NO_DEVICES;
    }
    nvmlReturn_t code = start ? create_at(gpu, &p, parse_number(start, 0), &gi) : nvmlDeviceCreateGpuInstance(gpu, p.id, &gi);
    if (code || (code = nvmlGpuInstanceGetInfo(gi, &info))) {
        printf("Unable to create a GPU instance on GPU %2u using profile %u: %s\n", index, p.id, nvmlErrorString(code));
        return code;
    }
    printf("Successfully created GPU instance ID %2u on GPU %2u using profile %s (ID %2u)\n", info.id, index, p.name, p.id);
    return compute ? create_compute(gi, index, &info) : 0;
}

static int create(const struct selection *gpus, const char *profiles, int compute)
{
    char words[256], *next;
    for (unsigned i = 0; i < gpus->count; i++) {
        if (copy_text(words, sizeof words, profiles))
            return EXIT_ARGUMENT;
        for (char *word = strtok_r(words, ",", &next); word; word = strtok_r(0, ",", &next)) {
            int failed = create_one(gpus->gpu[i], index_of(gpus->gpu[i]), word, compute);
            if (failed)
                return failed;
        }
    }
    return 0;
}

static int destroy_compute(nvmlGpuInstance_t gi, unsigned gpu, unsigned id)
{
    nvmlComputeInstance_t cis[SMI_INSTANCES];
    for (unsigned n = 0; n < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; n++) {
        unsigned count = SMI_INSTANCES;
        if (nvmlGpuInstanceGetComputeInstances(gi, n, cis, &count))
            continue;
        for (unsigned k = 0; k < count; k++) {
            nvmlReturn_t code = nvmlComputeInstanceDestroy(cis[k]);
            printf(code ? "Unable to destroy a compute instance from GPU %2u GPU instance ID %2u: %s\n"
                        : "Successfully destroyed a compute instance from GPU %2u GPU instance ID %2u\n",
                   gpu, id, nvmlErrorString(code));
            if (code)
                return code;
        }
    }
    return 0;
}

static int destroy_instance(nvmlGpuInstance_t gi, unsigned gpu, unsigned id)
{
    nvmlReturn_t code = nvmlGpuInstanceDestroy(gi);
    printf(code ? "Unable to destroy GPU instance ID %2u from GPU %2u: %s\n"
                : "Successfully destroyed GPU instance ID %2u from GPU %2u\n",
           id, gpu, nvmlErrorString(code));
    return code;
}

static int destroy(const struct selection *gpus, int (*one)(nvmlGpuInstance_t gi, unsigned gpu, unsigned id))
{
    nvmlGpuInstance_t gis[SMI_INSTANCES];
    nvmlGpuInstanceInfo_t info;
    profile_t p;
    for (unsigned i = 0; i < gpus->count; i++)
        EACH_PROFILE(gpus->gpu[i], p)
        for (unsigned n = 0, count = instances_of(gpus->gpu[i], &p, gis); n < count; n++) {
            nvmlGpuInstanceGetInfo(gis[n], &info);
            int failed = one(gis[n], index_of(gpus->gpu[i]), info.id);
            if (failed)
                return failed;
        }
    return 0;
}

enum { LIST_PROFILES = 1, LIST_INSTANCES, CREATE, DESTROY_COMPUTE, DESTROY };

int smi_mig(int count, char **words)
{
    static const struct option options[] = {{"lgip", no_argument, 0, LIST_PROFILES},
                                            {"lgi", no_argument, 0, LIST_INSTANCES},
                                            {"cgi", required_argument, 0, CREATE},
                                            {"dci", no_argument, 0, DESTROY_COMPUTE},
                                            {"dgi", no_argument, 0, DESTROY},
                                            {"C", no_argument, 0, 'C'},
                                            {"i", required_argument, 0, 'i'},
                                            {0, 0, 0, 0}};
    struct selection gpus;
    char *ids = 0, *profiles = 0;
    int verb = 0, compute = 0;
    opterr = 0;
    for (int option; (option = getopt_long_only(count, words, "Ci:", options, 0)) != -1;) {
        if (option == '?')
            return EXIT_ARGUMENT;
        if (option == 'C')
            compute = 1;
        else if (option == 'i')
            ids = optarg;
        else {
            verb = option;
            profiles = option == CREATE ? optarg : profiles;
        }
    }
    int failed = smi_select(&gpus, ids);
    if (failed || !verb)
        return failed ? failed : EXIT_ARGUMENT;
    if (verb == LIST_PROFILES)
        return list_profiles(&gpus);
    if (verb == LIST_INSTANCES)
        return list_instances(&gpus);
    if (verb == CREATE)
        failed = create(&gpus, profiles, compute);
    else
        failed = destroy(&gpus, verb == DESTROY ? destroy_instance : destroy_compute);
    if (!geteuid() && !access("/usr/lib/simhw", F_OK) && nodes_may_modify())
        node_make_capabilities();
    return failed;
}
