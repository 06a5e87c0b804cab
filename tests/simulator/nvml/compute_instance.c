/* Compute instances: the profile number is also the profile id. */
#include "call.h"

#include <stdio.h>
#include <string.h>

#define REVISION1 7

struct ci_profile {
    unsigned number, slices;
};

static const struct ci_profile ci_profiles[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 7}, {5, 8}, {6, 6}, {REVISION1, 1}};

static const struct ci_profile *ci_profile(unsigned number)
{
    for (unsigned i = 0; i < sizeof ci_profiles / sizeof *ci_profiles; i++)
        if (ci_profiles[i].number == number)
            return &ci_profiles[i];
    return 0;
}

unsigned ci_slices(unsigned number)
{
    const struct ci_profile *profile = ci_profile(number);
    return profile ? profile->slices : 0;
}

/* Instances of the profile that a GPU instance can hold; 0: not offered. 4 slices offer no 3-slice profile, and those of more
   than 4 slices are for the GPU instance of just that size. */
static unsigned ci_count(const struct model *model, const struct gi_profile *gi, unsigned number)
{
    unsigned slices = ci_slices(number);
    if (number == REVISION1)
        return model->revision1_multiprocessors && gi->size == 2 ? 1 : 0;
    if (!slices || slices > gi->slices || (slices > 4 && slices != gi->slices) || (slices == 3 && gi->slices == 4))
        return 0;
    return gi->slices / slices;
}

unsigned ci_multiprocessors(const struct model *model, const struct gi_profile *gi, unsigned number)
{
    unsigned slices = ci_slices(number);
    if (number == REVISION1)
        return model->revision1_multiprocessors;
    if (slices == gi->slices && gi->slices > 1)
        return gi->multiprocessors;
    return slices * model->slice_multiprocessors;
}

void ci_name(char *name, unsigned size, const struct gi_profile *gi, unsigned number)
{
    if (ci_slices(number) == gi->slices)
        snprintf(name, size, "MIG %s", gi->name);
    else
        snprintf(name, size, "MIG %uc.%s", ci_slices(number), gi->name);
}

static const struct gi_profile *gi_profile(const struct call *c)
{
    return profile_by_id(c->gpu->model, c->gi->profile);
}

static nvmlReturn_t check_profile(const struct call *c, unsigned number, unsigned engine)
{
    if (number >= driver_ci_profiles(c->state) || engine)
        return NVML_ERROR_INVALID_ARGUMENT;
    return ci_count(c->gpu->model, gi_profile(c), number) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlComputeInstanceProfileInfo_t describe(const struct call *c, unsigned number)
{
    const struct gi_profile *gi = gi_profile(c);
    return (nvmlComputeInstanceProfileInfo_t){number,
                                              ci_slices(number),
                                              ci_count(c->gpu->model, gi, number),
                                              ci_multiprocessors(c->gpu->model, gi, number),
                                              gi->copy,
                                              gi->decoder,
                                              gi->encoder,
                                              gi->jpeg,
                                              gi->ofa};
}

EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t gi, unsigned number, unsigned engine,
                                                                 nvmlComputeInstanceProfileInfo_t *info)
{
    struct call c;
    if (!call_on(&c, "nvmlGpuInstanceGetComputeInstanceProfileInfo", gi, HANDLE_GI))
        return c.code;
    nvmlReturn_t code = check_profile(&c, number, engine);
    if (!code)
        *info = describe(&c, number);
    return call_end(&c, code);
}

EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvmlGpuInstance_t gi, unsigned number, unsigned engine,
                                                                  nvmlComputeInstanceProfileInfo_v2_t *info)
{
    struct call c;
    if (!call_on(&c, "nvmlGpuInstanceGetComputeInstanceProfileInfo", gi, HANDLE_GI))
        return c.code;
    nvmlReturn_t code = check_profile(&c, number, engine);
    int v3 = info->version == STRUCT_VERSION(nvmlComputeInstanceProfileInfo_v3_t, 3);
    if (!code && !v3 && info->version != STRUCT_VERSION(nvmlComputeInstanceProfileInfo_v2_t, 2))
        code = NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (code)
        return call_end(&c, code);
    info->info = describe(&c, number);
    memset(info->name, 0, sizeof info->name);
    ci_name(info->name, sizeof info->name, gi_profile(&c), number);
    if (v3)
        ((nvmlComputeInstanceProfileInfo_v3_t *)info)->capabilities = 0;
    return call_end(&c, NVML_SUCCESS);
}

static unsigned used_slices(const struct call *c)
{
    unsigned mask = 0;
    for (const struct compute_instance *i = c->state->ci; i < c->state->ci + c->state->cis; i++)
        if (i->gpu == c->gi->gpu && i->gi == c->gi->id)
            mask |= ((1u << ci_slices(i->profile)) - 1) << i->start;
    return mask;
}

/* Two slices start at even numbers, three at 0 and 4, four and seven at 0 (no public output shows more). */
static unsigned start_step(unsigned slices)
{
    return slices > 2 ? 4 : slices;
}

static int free_start(const struct call *c, unsigned number, unsigned mask)
{
    unsigned slices = ci_slices(number);
    for (unsigned start = 0; start + slices <= gi_profile(c)->slices; start += start_step(slices))
        if (!(mask & ((1u << slices) - 1) << start))
            return start;
    return -1;
}

EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t gi, unsigned number,
                                                                       unsigned *count)
{
    struct call c;
    if (!call_on(&c, "nvmlGpuInstanceGetComputeInstanceRemainingCapacity", gi, HANDLE_GI))
        return c.code;
    if (check_profile(&c, number, 0))
        return call_end(&c, check_profile(&c, number, 0));
    unsigned mask = used_slices(&c);
    *count = 0;
    for (int start; (start = free_start(&c, number, mask)) >= 0; ++*count)
        mask |= ((1u << ci_slices(number)) - 1) << start;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(nvmlGpuInstance_t gi, unsigned number,
                                                                        nvmlPlacement_t *placements, unsigned *count)
{
    struct call c;
    if (!call_on(&c, "nvmlGpuInstanceGetComputeInstancePossiblePlacements", gi, HANDLE_GI))
        return c.code;
    if (check_profile(&c, number, 0))
        return call_end(&c, check_profile(&c, number, 0));
    unsigned slices = ci_slices(number), found = 0, room = *count;
    for (unsigned start = 0; start + slices <= gi_profile(&c)->slices; start += start_step(slices), found++)
        if (placements && found < room)
            placements[found] = (nvmlPlacement_t){start, slices};
    *count = found;
    return call_end(&c, placements && found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

static unsigned free_id(const struct call *c)
{
    unsigned id = 0;
    while (ci_find(c->state, c->gi->gpu, c->gi->id, id))
        id++;
    return id;
}

static nvmlReturn_t add_instance(struct call *c, unsigned number, int start, nvmlComputeInstance_t *ci)
{
    if (start < 0 || c->state->cis == MAX_INSTANCES)
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    unsigned id = free_id(c);
    c->state->ci[c->state->cis++] = (struct compute_instance){c->gi->gpu, c->gi->id, id, number, start};
    *ci = handle_of(HANDLE_CI, c->gi->gpu, c->gi->id, id);
    event_raise(c->gpu, EVENT_MIG_CONFIGURATION, 0);
    call_change(c);
    return NVML_SUCCESS;
}

static nvmlReturn_t may_create(const struct call *c, unsigned number)
{
    nvmlReturn_t code = check_profile(c, number, 0);
    return code ? code : may_write() ? NVML_SUCCESS : NVML_ERROR_NO_PERMISSION;
}

EXPORT nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t gi, unsigned number, nvmlComputeInstance_t *ci)
{
    struct call c;
    if (!call_on(&c, "nvmlGpuInstanceCreateComputeInstance", gi, HANDLE_GI))
        return c.code;
    call_log("nvmlGpuInstanceCreateComputeInstance gpu=%u gi=%u profile=%u", c.gi->gpu, c.gi->id, number);
    nvmlReturn_t code = may_create(&c, number);
    return call_end(&c, code ? code : add_instance(&c, number, free_start(&c, number, used_slices(&c)), ci));
}

/* Of a profile that the GPU instance offers: an unknown one has no slices, and so no starts. */
static int is_start(const struct call *c, unsigned slices, const nvmlPlacement_t *placement)
{
    unsigned room = gi_profile(c)->slices;
    return placement->size == slices && placement->start < room && slices <= room - placement->start &&
           placement->start % start_step(slices) == 0;
}

EXPORT nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(nvmlGpuInstance_t gi, unsigned number,
                                                                      const nvmlPlacement_t *placement,
                                                                      nvmlComputeInstance_t *ci)
{
    struct call c;
    if (!call_on(&c, "nvmlGpuInstanceCreateComputeInstance", gi, HANDLE_GI))
        return c.code;
    call_log("nvmlGpuInstanceCreateComputeInstanceWithPlacement gpu=%u gi=%u profile=%u start=%u", c.gi->gpu, c.gi->id,
             number, placement->start);
    nvmlReturn_t code = may_create(&c, number);
    unsigned slices = ci_slices(number);
    if (!code && !is_start(&c, slices, placement))
        code = NVML_ERROR_INVALID_ARGUMENT;
    if (code)
        return call_end(&c, code);
    unsigned bits = ((1u << slices) - 1) << placement->start;
    return call_end(&c, add_instance(&c, number, used_slices(&c) & bits ? -1 : (int)placement->start, ci));
}

static int ci_is_used(const struct call *c)
{
    for (const struct process *p = c->state->process; p < c->state->process + c->state->processes; p++)
        if (p->gpu == c->ci->gpu && p->gi == c->ci->gi && (p->ci == c->ci->id || p->ci == NVML_NO_INSTANCE))
            return 1;
    return 0;
}

EXPORT nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t ci)
{
    struct call c;
    if (!call_on(&c, "nvmlComputeInstanceDestroy", ci, HANDLE_CI))
        return c.code;
    call_log("nvmlComputeInstanceDestroy gpu=%u gi=%u ci=%u", c.ci->gpu, c.ci->gi, c.ci->id);
    if (!may_write() || ci_is_used(&c))
        return call_end(&c, may_write() ? NVML_ERROR_IN_USE : NVML_ERROR_NO_PERMISSION);
    *c.ci = c.state->ci[--c.state->cis];
    event_raise(c.gpu, EVENT_MIG_CONFIGURATION, 0);
    call_change(&c);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t gi, unsigned number, nvmlComputeInstance_t *cis,
                                                       unsigned *count)
{
    struct call c;
    if (!call_on(&c, "nvmlGpuInstanceGetComputeInstances", gi, HANDLE_GI))
        return c.code;
    *count = 0;
    if (check_profile(&c, number, 0))
        return call_end(&c, check_profile(&c, number, 0));
    for (const struct compute_instance *i = c.state->ci; i < c.state->ci + c.state->cis; i++)
        if (i->gpu == c.gi->gpu && i->gi == c.gi->id && i->profile == number)
            cis[(*count)++] = handle_of(HANDLE_CI, i->gpu, i->gi, i->id);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t gi, unsigned id, nvmlComputeInstance_t *ci)
{
    struct call c;
    if (!call_on(&c, "nvmlGpuInstanceGetComputeInstanceById", gi, HANDLE_GI))
        return c.code;
    if (!ci_find(c.state, c.gi->gpu, c.gi->id, id))
        return call_end(&c, NVML_ERROR_NOT_FOUND);
    *ci = handle_of(HANDLE_CI, c.gi->gpu, c.gi->id, id);
    return call_end(&c, NVML_SUCCESS);
}

/* info->device is the MIG device handle, as in NVML. */
EXPORT nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t ci, nvmlComputeInstanceInfo_t *info)
{
    struct call c;
    if (!call_on(&c, "nvmlComputeInstanceGetInfo", ci, HANDLE_CI))
        return c.code;
    info->device = handle_of(HANDLE_MIG, c.ci->gpu, c.ci->gi, c.ci->id);
    info->gpuInstance = handle_of(HANDLE_GI, c.ci->gpu, c.ci->gi, 0);
    info->id = c.ci->id;
    info->profileId = c.ci->profile;
    info->placement = (nvmlPlacement_t){c.ci->start, ci_slices(c.ci->profile)};
    return call_end(&c, NVML_SUCCESS);
}

nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t ci, nvmlComputeInstanceInfo_t *info)
    ALIAS(nvmlComputeInstanceGetInfo_v2);
