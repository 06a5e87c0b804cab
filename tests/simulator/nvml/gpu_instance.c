/* GPU instances: profiles, placement, life. */
#include "call.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

#define V3_BRANCH 545 /* nvml.h of CUDA 12.3 */

static nvmlReturn_t need_mig(const struct call *c)
{
    return c->gpu->model->mig_units && c->gpu->mig ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

/* NVML_SUCCESS with *profile set, or the code of nvmlDeviceGetGpuInstanceProfileInfo for that number. */
static nvmlReturn_t find_profile(const struct call *c, unsigned number, const struct gi_profile **profile)
{
    if (number >= driver_gi_profiles(c->state))
        return NVML_ERROR_INVALID_ARGUMENT;
    *profile = profile_by_enum(c->gpu->model, number);
    return *profile && driver_offers(c->state, c->gpu, *profile) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

/* By id, NULL when the driver does not offer it. */
static const struct gi_profile *offered(const struct call *c, unsigned id)
{
    const struct gi_profile *profile = profile_by_id(c->gpu->model, id);
    return profile && driver_offers(c->state, c->gpu, profile) ? profile : 0;
}

static void profile_name(char *name, unsigned size, const struct gi_profile *profile)
{
    snprintf(name, size, "MIG %s", profile->name);
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned number,
                                                        nvmlGpuInstanceProfileInfo_t *info)
{
    struct call c;
    const struct gi_profile *p;
    if (!call_on(&c, "nvmlDeviceGetGpuInstanceProfileInfo", device, HANDLE_GPU))
        return c.code;
    nvmlReturn_t code = find_profile(&c, number, &p);
    if (!code)
        *info = (nvmlGpuInstanceProfileInfo_t){p->id,      0,          p->slices, p->count, p->multiprocessors, p->copy,
                                               p->decoder, p->encoder, p->jpeg,   p->ofa,   p->memory_mib};
    return call_end(&c, code);
}

static void fill_v2(nvmlGpuInstanceProfileInfo_v2_t *info, const struct gi_profile *p)
{
    *info = (nvmlGpuInstanceProfileInfo_v2_t){info->version, p->id,      0,          p->slices, p->count, p->multiprocessors,
                                              p->copy,       p->decoder, p->encoder, p->jpeg,   p->ofa,   p->memory_mib,
                                              ""};
    profile_name(info->name, sizeof info->name, p);
}

static void fill_v3(nvmlGpuInstanceProfileInfo_v3_t *info, const struct gi_profile *p)
{
    *info = (nvmlGpuInstanceProfileInfo_v3_t){info->version, p->id,      p->slices,  p->count, p->multiprocessors,
                                              p->copy,       p->decoder, p->encoder, p->jpeg,  p->ofa,
                                              p->memory_mib, "",         p->capabilities};
    profile_name(info->name, sizeof info->name, p);
}

static nvmlReturn_t fill_versioned(const struct call *c, void *info, const struct gi_profile *profile)
{
    unsigned version = *(unsigned *)info;
    if (version == STRUCT_VERSION(nvmlGpuInstanceProfileInfo_v2_t, 2))
        fill_v2(info, profile);
    else if (version == STRUCT_VERSION(nvmlGpuInstanceProfileInfo_v3_t, 3) && driver_branch(c->state) >= V3_BRANCH)
        fill_v3(info, profile);
    else
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned number, void *info)
{
    struct call c;
    const struct gi_profile *profile;
    if (!call_on(&c, "nvmlDeviceGetGpuInstanceProfileInfo", device, HANDLE_GPU))
        return c.code;
    nvmlReturn_t code = find_profile(&c, number, &profile);
    return call_end(&c, code ? code : fill_versioned(&c, info, profile));
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device, unsigned id, void *info)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetGpuInstanceProfileInfoById", device, HANDLE_GPU))
        return c.code;
    const struct gi_profile *profile = offered(&c, id);
    return call_end(&c, profile ? fill_versioned(&c, info, profile) : NVML_ERROR_INVALID_ARGUMENT);
}

static int compare(const void *left, const void *right)
{
    unsigned a = ((const nvmlPlacement_t *)left)->start, b = ((const nvmlPlacement_t *)right)->start;
    return a < b ? -1 : a > b;
}

static void sort(nvmlPlacement_t *placements, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned j = i; j && compare(&placements[j - 1], &placements[j]) > 0; j--) {
            nvmlPlacement_t swap = placements[j];
            placements[j] = placements[j - 1];
            placements[j - 1] = swap;
        }
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned id,
                                                                  nvmlPlacement_t *placements, unsigned *count)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetGpuInstancePossiblePlacements", device, HANDLE_GPU))
        return c.code;
    const struct gi_profile *p = offered(&c, id);
    if (!p)
        return call_end(&c, c.gpu->model->mig_units ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_SUPPORTED);
    unsigned room = *count;
    *count = p->start_count;
    if (!placements)
        return call_end(&c, NVML_SUCCESS);
    if (room < p->start_count)
        return call_end(&c, NVML_ERROR_INSUFFICIENT_SIZE);
    for (unsigned i = 0; i < p->start_count; i++)
        placements[i] = (nvmlPlacement_t){p->starts[i], p->size};
    sort(placements, p->start_count);
    return call_end(&c, NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device, unsigned id, nvmlPlacement_t *placements,
                                                        unsigned *count)
    ALIAS(nvmlDeviceGetGpuInstancePossiblePlacements_v2);

struct usage {
    unsigned units, same; /* bit mask of used memory units; instances of the profile in question */
    unsigned decoders, encoders, jpegs, ofas;
};

static void use(struct usage *usage, const struct gi_profile *p, unsigned start)
{
    usage->units |= ((1u << p->size) - 1) << start;
    usage->decoders += p->decoder;
    usage->encoders += p->encoder;
    usage->jpegs += p->jpeg;
    usage->ofas += p->ofa;
}

static struct usage usage_of(const struct call *c, unsigned profile)
{
    struct usage usage = {0};
    for (const struct gpu_instance *i = c->state->gi; i < c->state->gi + c->state->gis; i++) {
        if (i->gpu != c->gpu->minor)
            continue;
        use(&usage, profile_by_id(c->gpu->model, i->profile), i->start);
        usage.same += i->profile == profile;
    }
    return usage;
}

static int fits(const struct model *m, const struct usage *u, const struct gi_profile *p, unsigned start)
{
    if (u->units & ((1u << p->size) - 1) << start || u->same >= p->count)
        return 0;
    return u->decoders + p->decoder <= m->decoders && u->encoders + p->encoder <= m->encoders &&
           u->jpegs + p->jpeg <= m->jpegs && u->ofas + p->ofa <= m->ofas;
}

/* The first free start in the driver's order, or -1. */
static int first_start(const struct model *model, const struct usage *usage, const struct gi_profile *profile)
{
    for (unsigned i = 0; i < profile->start_count; i++)
        if (fits(model, usage, profile, profile->starts[i]))
            return profile->starts[i];
    return -1;
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned id, unsigned *count)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetGpuInstanceRemainingCapacity", device, HANDLE_GPU))
        return c.code;
    const struct gi_profile *profile = offered(&c, id);
    if (need_mig(&c) || !profile)
        return call_end(&c, need_mig(&c) ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT);
    struct usage usage = usage_of(&c, id);
    *count = 0;
    for (int start; (start = first_start(c.gpu->model, &usage, profile)) >= 0; ++*count, usage.same++)
        use(&usage, profile, start);
    return call_end(&c, NVML_SUCCESS);
}

/* Instance ids follow a tree: 0 the whole board, 1-2 halves, 3-6 quarters, 7-14 eighths. */
static unsigned instance_id(const struct model *model, const struct gi_profile *profile, unsigned start)
{
    return model->mig_units / profile->size - 1 + start / profile->size;
}

static nvmlReturn_t add_instance(struct call *c, const struct gi_profile *profile, int start, nvmlGpuInstance_t *gi)
{
    if (start < 0 || c->state->gis == MAX_INSTANCES)
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    unsigned id = instance_id(c->gpu->model, profile, start);
    c->state->gi[c->state->gis++] = (struct gpu_instance){c->gpu->minor, id, profile->id, start};
    *gi = handle_of(HANDLE_GI, c->gpu->minor, id, 0);
    event_raise(c->gpu, EVENT_MIG_CONFIGURATION, 0);
    call_change(c);
    return NVML_SUCCESS;
}

static nvmlReturn_t may_create(const struct call *c, const struct gi_profile *profile)
{
    if (need_mig(c))
        return NVML_ERROR_NOT_SUPPORTED;
    if (!profile)
        return NVML_ERROR_INVALID_ARGUMENT;
    return may_write() ? NVML_SUCCESS : NVML_ERROR_NO_PERMISSION;
}

EXPORT nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *gi)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceCreateGpuInstance", device, HANDLE_GPU))
        return c.code;
    call_log("nvmlDeviceCreateGpuInstance gpu=%u profile=%u", c.gpu->minor, id);
    const struct gi_profile *profile = offered(&c, id);
    nvmlReturn_t code = may_create(&c, profile);
    if (code)
        return call_end(&c, code);
    struct usage usage = usage_of(&c, id);
    return call_end(&c, add_instance(&c, profile, first_start(c.gpu->model, &usage, profile), gi));
}

static int is_start(const struct gi_profile *profile, const nvmlPlacement_t *placement)
{
    for (unsigned i = 0; i < profile->start_count; i++)
        if (profile->starts[i] == placement->start)
            return placement->size == profile->size;
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned id,
                                                             const nvmlPlacement_t *placement, nvmlGpuInstance_t *gi)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceCreateGpuInstance", device, HANDLE_GPU))
        return c.code;
    call_log("nvmlDeviceCreateGpuInstanceWithPlacement gpu=%u profile=%u start=%u", c.gpu->minor, id, placement->start);
    const struct gi_profile *profile = offered(&c, id);
    nvmlReturn_t code = may_create(&c, profile);
    if (code || !is_start(profile, placement))
        return call_end(&c, code ? code : NVML_ERROR_INVALID_ARGUMENT);
    struct usage usage = usage_of(&c, id);
    int start = fits(c.gpu->model, &usage, profile, placement->start) ? (int)placement->start : -1;
    return call_end(&c, add_instance(&c, profile, start, gi));
}

static int gi_is_used(const struct call *c)
{
    for (unsigned i = 0; i < c->state->cis; i++)
        if (c->state->ci[i].gpu == c->gi->gpu && c->state->ci[i].gi == c->gi->id)
            return 1;
    for (unsigned i = 0; i < c->state->processes; i++)
        if (c->state->process[i].gpu == c->gi->gpu && c->state->process[i].gi == c->gi->id)
            return 1;
    return 0;
}

EXPORT nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t gi)
{
    struct call c;
    if (!call_on(&c, "nvmlGpuInstanceDestroy", gi, HANDLE_GI))
        return c.code;
    call_log("nvmlGpuInstanceDestroy gpu=%u gi=%u", c.gi->gpu, c.gi->id);
    if (!may_write() || gi_is_used(&c))
        return call_end(&c, may_write() ? NVML_ERROR_IN_USE : NVML_ERROR_NO_PERMISSION);
    *c.gi = c.state->gi[--c.state->gis];
    event_raise(c.gpu, EVENT_MIG_CONFIGURATION, 0);
    call_change(&c);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *gis, unsigned *count)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetGpuInstances", device, HANDLE_GPU))
        return c.code;
    *count = 0;
    if (need_mig(&c) || !offered(&c, id))
        return call_end(&c, need_mig(&c) ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT);
    for (const struct gpu_instance *i = c.state->gi; i < c.state->gi + c.state->gis; i++)
        if (i->gpu == c.gpu->minor && i->profile == id)
            gis[(*count)++] = handle_of(HANDLE_GI, i->gpu, i->id, 0);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *gi)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetGpuInstanceById", device, HANDLE_GPU))
        return c.code;
    if (need_mig(&c) || !gi_find(c.state, c.gpu->minor, id))
        return call_end(&c, need_mig(&c) ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_NOT_FOUND);
    *gi = handle_of(HANDLE_GI, c.gpu->minor, id, 0);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t gi, nvmlGpuInstanceInfo_t *info)
{
    struct call c;
    if (!call_on(&c, "nvmlGpuInstanceGetInfo", gi, HANDLE_GI))
        return c.code;
    info->device = handle_of(HANDLE_GPU, c.gpu->minor, 0, 0);
    info->id = c.gi->id;
    info->profileId = c.gi->profile;
    info->placement = (nvmlPlacement_t){c.gi->start, profile_by_id(c.gpu->model, c.gi->profile)->size};
    return call_end(&c, NVML_SUCCESS);
}
