/* nvidia-smi mig: instances are made and destroyed one after the other; the first failure ends the run. */
#include "mig.h"

#include "text.h"

#include <string.h>

/* A word such as 9, 3g.20gb, MIG 3g.20gb, 19:2 or 3g.20gb:4. */
struct wish {
    char word[64]; /* as given, without the start */
    int start;     /* -1: the driver's choice */
};

/* A name may have a blank in it (MIG 3g.20gb): only commas part the words, and blanks around one do not count. */
static int parse_wish(struct wish *wish, const char *word)
{
    word += strspn(word, " ");
    if (copy_text(wish->word, sizeof wish->word, word))
        return -1;
    for (size_t length = strlen(wish->word); length && wish->word[length - 1] == ' ';)
        wish->word[--length] = 0;
    char *mark = strchr(wish->word, ':'), *end;
    wish->start = -1;
    if (!mark)
        return 0;
    *mark = 0;
    wish->start = parse_number(mark + 1, &end);
    return *end || end == mark + 1 || wish->start < 0 ? -1 : 0;
}

/* By number, or by name with or without its leading MIG. */
static int is_named(const char *name, unsigned id, const char *word)
{
    char *end;
    long number = parse_number(word, &end);
    if (*word && !*end)
        return number == (long)id;
    return !strcasecmp(name, word) || (!strncmp(name, "MIG ", 4) && !strcasecmp(name + 4, word));
}

static int end_with(const char *verb, const char *noun, nvmlReturn_t code)
{
    printf("Failed to %s %s: %s\n", verb, noun, nvml.ErrorString(code));
    return exit_code(code);
}

static nvmlReturn_t create_gi(nvmlDevice_t gpu, const gi_profile_t *profile, const struct wish *wish,
                              nvmlGpuInstance_t *gi)
{
    nvmlPlacement_t places[SMI_INSTANCES];
    unsigned count = SMI_INSTANCES;
    if (wish->start < 0)
        return nvml.DeviceCreateGpuInstance(gpu, profile->id, gi);
    nvmlReturn_t code = nvml.DeviceGetGpuInstancePossiblePlacements_v2(gpu, profile->id, places, &count);
    if (code || !count)
        return code ? code : NVML_ERROR_INVALID_ARGUMENT;
    nvmlPlacement_t place = {wish->start, places[0].size};
    return nvml.DeviceCreateGpuInstanceWithPlacement(gpu, profile->id, &place, gi);
}

static nvmlReturn_t create_ci(nvmlGpuInstance_t gi, const ci_profile_t *profile, const struct wish *wish,
                              nvmlComputeInstance_t *ci)
{
    nvmlPlacement_t place = {wish->start, profile->sliceCount};
    if (wish->start < 0)
        return nvml.GpuInstanceCreateComputeInstance(gi, profile->id, ci);
    return nvml.GpuInstanceCreateComputeInstanceWithPlacement(gi, profile->id, &place, ci);
}

/* An empty word of the wish: the default profile. */
static int create_one_ci(nvmlGpuInstance_t gi, unsigned gpu, unsigned gi_id, const struct wish *wish)
{
    ci_profile_t profiles[NVML_COMPUTE_INSTANCE_PROFILE_COUNT];
    nvmlComputeInstance_t ci;
    nvmlComputeInstanceInfo_t info;
    unsigned known = ci_profiles_of(gi, profiles), p = default_ci_profile(profiles, known);
    if (wish->word[0])
        for (p = 0; p < known && !is_named(profiles[p].name, profiles[p].id, wish->word);)
            p++;
    nvmlReturn_t code = p < known ? create_ci(gi, &profiles[p], wish, &ci) : NVML_ERROR_INVALID_ARGUMENT;
    if (!code)
        code = nvml.ComputeInstanceGetInfo_v2(ci, &info);
    if (!code) {
        printf(
            "Successfully created compute instance ID %2u on GPU %2u GPU instance ID %2u using profile %s (ID %2u)\n",
            info.id, gpu, gi_id, profiles[p].name, profiles[p].id);
        return 0;
    }
    printf("Unable to create a compute instance on GPU %2u GPU instance ID %2u using profile %s: %s\n", gpu, gi_id,
           wish->word[0] ? wish->word : "default", nvml.ErrorString(code));
    return end_with("create", "compute instances", code);
}

static int create_one_gi(nvmlDevice_t gpu, unsigned index, const struct wish *wish, int compute)
{
    static const struct wish any = {"", -1};
    gi_profile_t profiles[NVML_GPU_INSTANCE_PROFILE_COUNT];
    nvmlGpuInstance_t gi;
    nvmlGpuInstanceInfo_t info;
    unsigned known = gi_profiles_of(gpu, profiles), p = 0;
    while (p < known && !is_named(profiles[p].name, profiles[p].id, wish->word))
        p++;
    nvmlReturn_t code = p < known ? create_gi(gpu, &profiles[p], wish, &gi) : NVML_ERROR_INVALID_ARGUMENT;
    if (!code)
        code = nvml.GpuInstanceGetInfo(gi, &info);
    if (code) {
        printf("Unable to create a GPU instance on GPU %2u using profile %s: %s\n", index, wish->word,
               nvml.ErrorString(code));
        return end_with("create", "GPU instances", code);
    }
    printf("Successfully created GPU instance ID %2u on GPU %2u using profile %s (ID %2u)\n", info.id, index,
           profiles[p].name, profiles[p].id);
    return compute ? create_one_ci(gi, index, info.id, &any) : 0;
}

int mig_create_gis(const struct mig_request *request)
{
    char words[1024], *cursor;
    struct wish wish;
    if (!mig_is_enabled(&request->gpus))
        return say_not_enabled();
    for (unsigned i = 0; i < request->gpus.count; i++) {
        if (!has_mig(request->gpus.gpu[i]))
            continue;
        if (copy_text(words, sizeof words, request->profiles))
            return end_with("create", "GPU instances", NVML_ERROR_INVALID_ARGUMENT);
        for (char *word = strtok_r(words, ",", &cursor); word; word = strtok_r(0, ",", &cursor)) {
            if (parse_wish(&wish, word))
                return end_with("create", "GPU instances", NVML_ERROR_INVALID_ARGUMENT);
            int failed = create_one_gi(request->gpus.gpu[i], request->gpus.index[i], &wish, request->compute);
            if (failed)
                return failed;
        }
    }
    return 0;
}

static int create_cis_in(const struct gi *gi, unsigned gpu, const char *profiles)
{
    char words[1024], *cursor;
    struct wish wish = {"", -1};
    if (!profiles)
        return create_one_ci(gi->handle, gpu, gi->info.id, &wish);
    if (copy_text(words, sizeof words, profiles))
        return end_with("create", "compute instances", NVML_ERROR_INVALID_ARGUMENT);
    for (char *word = strtok_r(words, ",", &cursor); word; word = strtok_r(0, ",", &cursor)) {
        if (parse_wish(&wish, word))
            return end_with("create", "compute instances", NVML_ERROR_INVALID_ARGUMENT);
        int failed = create_one_ci(gi->handle, gpu, gi->info.id, &wish);
        if (failed)
            return failed;
    }
    return 0;
}

int mig_create_cis(const struct mig_request *request)
{
    struct gi instances[SMI_INSTANCES];
    unsigned found = 0;
    if (!mig_is_enabled(&request->gpus))
        return say_not_enabled();
    for (unsigned i = 0; i < request->gpus.count; i++) {
        unsigned count = instances_of(request->gpus.gpu[i], request->gis, instances);
        for (unsigned n = 0; n < count; n++, found++) {
            int failed = create_cis_in(&instances[n], request->gpus.index[i], request->profiles);
            if (failed)
                return failed;
        }
    }
    return found ? 0 : say_no_gis();
}

int mig_destroy_gis(const struct mig_request *request)
{
    struct gi instances[SMI_INSTANCES];
    unsigned found = 0;
    if (!mig_is_enabled(&request->gpus))
        return say_not_enabled();
    for (unsigned i = 0; i < request->gpus.count; i++) {
        unsigned count = instances_of(request->gpus.gpu[i], request->gis, instances);
        for (unsigned n = 0; n < count; n++, found++) {
            nvmlReturn_t code = nvml.GpuInstanceDestroy(instances[n].handle);
            if (code) {
                printf("Unable to destroy GPU instance ID %2u from GPU %2u: %s\n", instances[n].info.id,
                       request->gpus.index[i], nvml.ErrorString(code));
                return end_with("destroy", "GPU instances", code);
            }
            printf("Successfully destroyed GPU instance ID %2u from GPU %2u\n", instances[n].info.id,
                   request->gpus.index[i]);
        }
    }
    return found ? 0 : say_no_gis();
}

/* The number destroyed, or minus the exit code with its text printed. */
static int destroy_cis_in(const struct gi *gi, unsigned gpu, const char *cis)
{
    nvmlComputeInstance_t handles[SMI_INSTANCES];
    nvmlComputeInstanceInfo_t infos[SMI_INSTANCES];
    unsigned count = computes_of(gi, cis, handles, infos);
    for (unsigned n = 0; n < count; n++) {
        nvmlReturn_t code = nvml.ComputeInstanceDestroy(handles[n]);
        if (code) {
            printf("Unable to destroy compute instance ID %2u from GPU %2u GPU instance ID %2u: %s\n", infos[n].id, gpu,
                   gi->info.id, nvml.ErrorString(code));
            return -end_with("destroy", "compute instances", code);
        }
        printf("Successfully destroyed compute instance ID %2u from GPU %2u GPU instance ID %2u\n", infos[n].id, gpu,
               gi->info.id);
    }
    return count;
}

int mig_destroy_cis(const struct mig_request *request)
{
    struct gi instances[SMI_INSTANCES];
    unsigned any = 0, found = 0;
    if (!mig_is_enabled(&request->gpus))
        return say_not_enabled();
    for (unsigned i = 0; i < request->gpus.count; i++) {
        unsigned count = instances_of(request->gpus.gpu[i], request->gis, instances);
        any += count;
        for (unsigned n = 0; n < count; n++) {
            int destroyed = destroy_cis_in(&instances[n], request->gpus.index[i], request->cis);
            if (destroyed < 0)
                return -destroyed;
            found += destroyed;
        }
    }
    return found ? 0 : any ? say_no_cis() : say_no_gis();
}
