/* The tables of nvidia-smi mig. They grew by two columns when profile names did, with the boards that 580 brought. */
#include "mig.h"

#include <string.h>

#define GI_PROFILES_79                                                                                                 \
    "+-----------------------------------------------------------------------------+\n"                                \
    "| GPU instance profiles:                                                      |\n"                                \
    "| GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC  |\n"                                \
    "|                              Free/Total   GiB              CE    JPEG  OFA  |\n"                                \
    "|=============================================================================|\n"
#define GI_PROFILES_81                                                                                                 \
    "+-------------------------------------------------------------------------------+\n"                              \
    "| GPU instance profiles:                                                        |\n"                              \
    "| GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC  |\n"                              \
    "|                                Free/Total   GiB              CE    JPEG  OFA  |\n"                              \
    "|===============================================================================|\n"
#define GIS_57                                                                                                         \
    "+-------------------------------------------------------+\n"                                                      \
    "| GPU instances:                                        |\n"                                                      \
    "| GPU   Name             Profile  Instance   Placement  |\n"                                                      \
    "|                          ID       ID       Start:Size |\n"                                                      \
    "|=======================================================|\n"
#define GIS_59                                                                                                         \
    "+---------------------------------------------------------+\n"                                                    \
    "| GPU instances:                                          |\n"                                                    \
    "| GPU   Name               Profile  Instance   Placement  |\n"                                                    \
    "|                            ID       ID       Start:Size |\n"                                                    \
    "|=========================================================|\n"
#define CI_PROFILES                                                                                                    \
    "+--------------------------------------------------------------------------------------+\n"                       \
    "| Compute instance profiles:                                                           |\n"                       \
    "| GPU     GPU       Name             Profile  Instances   Exclusive       Shared       |\n"                       \
    "|       Instance                       ID     Free/Total     SM       DEC   ENC   OFA  |\n"                       \
    "|         ID                                                          CE    JPEG       |\n"                       \
    "|======================================================================================|\n"
#define CIS                                                                                                            \
    "+--------------------------------------------------------------------+\n"                                         \
    "| Compute instances:                                                 |\n"                                         \
    "| GPU     GPU       Name             Profile   Instance   Placement  |\n"                                         \
    "|       Instance                       ID        ID       Start:Size |\n"                                         \
    "|         ID                                                         |\n"                                         \
    "|====================================================================|\n"

static int name_width(void)
{
    return since(R580) ? 18 : 16;
}

/* The line below each row: the first line of the head. */
static void print_rule(const char *head)
{
    fwrite(head, 1, strchr(head, '\n') + 1 - head, stdout);
}

/* No number where NVML cannot count: MIG is off on this GPU. */
static unsigned free_of(nvmlDevice_t gpu, const gi_profile_t *profile)
{
    unsigned left = 0;
    return nvml.DeviceGetGpuInstanceRemainingCapacity(gpu, profile->id, &left) ? 0 : left;
}

static void print_gi_profile(nvmlDevice_t gpu, unsigned index, const gi_profile_t *p)
{
    int width = name_width();
    printf("| %3u  %-*s%4u     %u/%u        %-11.2f%-3s    %-3u    %-2u    %-2u  |\n", index, width, p->name, p->id,
           free_of(gpu, p), p->instanceCount, p->memorySizeMB / 1024.0, p->isP2pSupported ? "Yes" : "No",
           p->multiprocessorCount, p->decoderCount, p->encoderCount);
    printf("|%*s%2u     %-2u    %-2u  |\n", width + 44, "", p->copyEngineCount, p->jpegCount, p->ofaCount);
}

int mig_list_gi_profiles(const struct mig_request *request)
{
    const char *head = since(R580) ? GI_PROFILES_81 : GI_PROFILES_79;
    gi_profile_t profiles[NVML_GPU_INSTANCE_PROFILE_COUNT];
    unsigned found = 0;
    for (unsigned i = 0; i < request->gpus.count; i++) {
        unsigned count = gi_profiles_of(request->gpus.gpu[i], profiles);
        for (unsigned p = 0; p < count; p++) {
            if (!found++)
                fputs(head, stdout);
            print_gi_profile(request->gpus.gpu[i], request->gpus.index[i], &profiles[p]);
            print_rule(head);
        }
    }
    if (!found)
        puts("No MIG-supported devices found.");
    return found ? 0 : EXIT_NO_DEVICES;
}

/* " {0,2,4}:2", with the noun in the number that the list has. */
static void print_placements(const nvmlPlacement_t *places, unsigned count)
{
    printf("%s: {", count == 1 ? "Placement " : "Placements");
    for (unsigned i = 0; i < count; i++)
        printf("%s%u", i ? "," : "", places[i].start);
    printf("}:%u\n", count ? places[0].size : 0);
}

int mig_list_gi_placements(const struct mig_request *request)
{
    gi_profile_t profiles[NVML_GPU_INSTANCE_PROFILE_COUNT];
    nvmlPlacement_t places[SMI_INSTANCES];
    unsigned found = 0;
    for (unsigned i = 0; i < request->gpus.count; i++) {
        unsigned count = gi_profiles_of(request->gpus.gpu[i], profiles);
        for (unsigned p = 0; p < count; p++) {
            unsigned starts = SMI_INSTANCES;
            if (nvml.DeviceGetGpuInstancePossiblePlacements_v2(request->gpus.gpu[i], profiles[p].id, places, &starts))
                continue;
            printf("GPU %2u Profile ID %2u ", request->gpus.index[i], profiles[p].id);
            print_placements(places, starts);
            found++;
        }
    }
    if (!found)
        puts("No MIG-supported devices found.");
    return found ? 0 : EXIT_NO_DEVICES;
}

int mig_list_gis(const struct mig_request *request)
{
    const char *head = since(R580) ? GIS_59 : GIS_57;
    struct gi instances[SMI_INSTANCES];
    unsigned found = 0;
    if (!mig_is_enabled(&request->gpus))
        return say_not_enabled();
    for (unsigned i = 0; i < request->gpus.count; i++) {
        unsigned count = instances_of(request->gpus.gpu[i], request->gis, instances);
        for (const struct gi *gi = instances; gi < instances + count; gi++) {
            if (!found++)
                fputs(head, stdout);
            printf("| %3u  %-*s%6u%9u          %u:%-2u    |\n", request->gpus.index[i], name_width(), gi->profile.name,
                   gi->info.profileId, gi->info.id, gi->info.placement.start, gi->info.placement.size);
            print_rule(head);
        }
    }
    return found ? 0 : say_no_gis();
}

static void print_ci_profile(unsigned gpu, const struct gi *gi, const ci_profile_t *p, int is_default)
{
    unsigned left = 0;
    nvml.GpuInstanceGetComputeInstanceRemainingCapacity(gi->handle, p->id, &left);
    printf("| %3u    %3u       %-18s%4u%c     %u/%u           %-3u       %-2u    %-2u    %-2u  |\n", gpu, gi->info.id,
           p->name, p->id, is_default ? '*' : ' ', left, p->instanceCount, p->multiprocessorCount,
           p->sharedDecoderCount, p->sharedEncoderCount, p->sharedOfaCount);
    printf("|%69s%2u     %-2u        |\n", "", p->sharedCopyEngineCount, p->sharedJpegCount);
}

int mig_list_ci_profiles(const struct mig_request *request)
{
    struct gi instances[SMI_INSTANCES];
    ci_profile_t profiles[NVML_COMPUTE_INSTANCE_PROFILE_COUNT];
    unsigned found = 0;
    if (!mig_is_enabled(&request->gpus))
        return say_not_enabled();
    for (unsigned i = 0; i < request->gpus.count; i++) {
        unsigned count = instances_of(request->gpus.gpu[i], request->gis, instances);
        for (const struct gi *gi = instances; gi < instances + count; gi++) {
            unsigned known = ci_profiles_of(gi->handle, profiles), best = default_ci_profile(profiles, known);
            for (unsigned p = 0; p < known; p++) {
                if (!found++)
                    fputs(CI_PROFILES, stdout);
                print_ci_profile(request->gpus.index[i], gi, &profiles[p], p == best);
                print_rule(CI_PROFILES);
            }
        }
    }
    return found ? 0 : say_no_gis();
}

static void print_ci_placements(unsigned gpu, const struct gi *gi, const ci_profile_t *profile)
{
    nvmlPlacement_t places[SMI_INSTANCES];
    unsigned count = SMI_INSTANCES;
    if (nvml.GpuInstanceGetComputeInstancePossiblePlacements(gi->handle, profile->id, places, &count))
        return;
    printf("GPU %2u GI %2u Profile ID %2u ", gpu, gi->info.id, profile->id);
    print_placements(places, count);
}

int mig_list_ci_placements(const struct mig_request *request)
{
    struct gi instances[SMI_INSTANCES];
    ci_profile_t profiles[NVML_COMPUTE_INSTANCE_PROFILE_COUNT];
    unsigned found = 0;
    if (!mig_is_enabled(&request->gpus))
        return say_not_enabled();
    for (unsigned i = 0; i < request->gpus.count; i++) {
        unsigned count = instances_of(request->gpus.gpu[i], request->gis, instances);
        for (const struct gi *gi = instances; gi < instances + count; gi++, found++)
            for (unsigned p = 0, known = ci_profiles_of(gi->handle, profiles); p < known; p++)
                print_ci_placements(request->gpus.index[i], gi, &profiles[p]);
    }
    return found ? 0 : say_no_gis();
}

static const char *ci_name(const struct gi *gi, unsigned id, ci_profile_t *profiles)
{
    unsigned known = ci_profiles_of(gi->handle, profiles);
    for (unsigned p = 0; p < known; p++)
        if (profiles[p].id == id)
            return profiles[p].name;
    return gi->profile.name;
}

static unsigned print_cis(const struct mig_request *request, unsigned gpu, const struct gi *gi, unsigned found)
{
    nvmlComputeInstance_t handles[SMI_INSTANCES];
    nvmlComputeInstanceInfo_t infos[SMI_INSTANCES];
    ci_profile_t profiles[NVML_COMPUTE_INSTANCE_PROFILE_COUNT];
    unsigned count = computes_of(gi, request->cis, handles, infos);
    for (const nvmlComputeInstanceInfo_t *info = infos; info < infos + count; info++) {
        if (!found++)
            fputs(CIS, stdout);
        printf("| %3u    %3u       %-18s%4u%10u          %u:%-2u    |\n", gpu, gi->info.id,
               ci_name(gi, info->profileId, profiles), info->profileId, info->id, info->placement.start,
               info->placement.size);
        print_rule(CIS);
    }
    return found;
}

int mig_list_cis(const struct mig_request *request)
{
    struct gi instances[SMI_INSTANCES];
    unsigned found = 0, any = 0;
    if (!mig_is_enabled(&request->gpus))
        return say_not_enabled();
    for (unsigned i = 0; i < request->gpus.count; i++) {
        unsigned count = instances_of(request->gpus.gpu[i], request->gis, instances);
        any += count;
        for (const struct gi *gi = instances; gi < instances + count; gi++)
            found = print_cis(request, request->gpus.index[i], gi, found);
    }
    return found ? 0 : any ? say_no_cis() : say_no_gis();
}
