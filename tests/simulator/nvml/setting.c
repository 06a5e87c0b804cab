/* Values of a GPU that the state file or a caller sets. */
#include "call.h"

#include <string.h>

u64 health_or(const struct gpu *gpu, unsigned key, u64 otherwise)
{
    return gpu->health[key] == HEALTH_UNSET ? otherwise : gpu->health[key];
}

nvmlReturn_t may_set(const struct call *call, int is_legal)
{
    (void)call;
    if (!is_legal)
        return NVML_ERROR_INVALID_ARGUMENT;
    return may_write() ? NVML_SUCCESS : NVML_ERROR_NO_PERMISSION;
}

void health_set(struct call *call, unsigned key, u64 value)
{
    if (call->gpu->health[key] == value)
        return;
    call->gpu->health[key] = value;
    call_change(call);
}

static void forget_counters(struct state *state, unsigned minor)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < state->counters; i++) {
        struct ecc_counter *counter = &state->counter[i];
        if (counter->gpu == minor)
            counter->since_load = 0;
        if (counter->gpu != minor || counter->ever)
            state->counter[kept++] = *counter;
    }
    state->counters = kept;
}

static void forget_links(struct state *state, unsigned minor)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < state->links; i++) {
        struct nvlink *link = &state->link[i];
        if (link->gpu == minor)
            link->crc = link->replay = link->recovery = link->ecc = 0;
        if (link->gpu != minor || link->down)
            state->link[kept++] = *link;
    }
    state->links = kept;
}

/* The same as driver.forget in Python does for all GPUs when the module goes: what was pending is in force. */
void gpu_forget(struct state *state, struct gpu *gpu)
{
    static const char lost[] = {HEALTH_LOST_WITH_RESET};
    for (unsigned key = 0; key < HEALTH_VALUES; key++)
        if (lost[key])
            gpu->health[key] = HEALTH_UNSET;
    if (gpu->health[HEALTH_ecc_pending] != HEALTH_UNSET)
        gpu->health[HEALTH_ecc] = gpu->health[HEALTH_ecc_pending];
    forget_counters(state, gpu->minor);
    forget_links(state, gpu->minor);
}
