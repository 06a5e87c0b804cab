/* Look-up in the state. */
#include "call.h"

#include <stdio.h>
#include <string.h>

struct gpu *gpu_by_minor(struct state *state, unsigned minor)
{
    for (struct gpu *g = state->gpu; g < state->gpu + state->gpus; g++)
        if (g->minor == minor)
            return g;
    return 0;
}

struct gpu *gpu_by_index(struct state *state, unsigned index)
{
    for (struct gpu *g = state->gpu; g < state->gpu + state->gpus; g++)
        if (driver_knows(state, g) && gpu_is_visible(g) && !index--)
            return g;
    return 0;
}

int gpu_is_busy(const struct state *state, const struct gpu *gpu)
{
    for (unsigned i = 0; i < state->processes; i++)
        if (state->process[i].gpu == gpu->minor)
            return 1;
    return gpu->client;
}

struct gpu_instance *gi_find(struct state *state, unsigned gpu, unsigned id)
{
    for (struct gpu_instance *i = state->gi; i < state->gi + state->gis; i++)
        if (i->gpu == gpu && i->id == id)
            return i;
    return 0;
}

struct compute_instance *ci_find(struct state *state, unsigned gpu, unsigned gi, unsigned id)
{
    for (struct compute_instance *i = state->ci; i < state->ci + state->cis; i++)
        if (i->gpu == gpu && i->gi == gi && i->id == id)
            return i;
    return 0;
}

void gpu_clear_instances(struct state *state, unsigned minor)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < state->gis; i++)
        if (state->gi[i].gpu != minor)
            state->gi[kept++] = state->gi[i];
    state->gis = kept;
    kept = 0;
    for (unsigned i = 0; i < state->cis; i++)
        if (state->ci[i].gpu != minor)
            state->ci[kept++] = state->ci[i];
    state->cis = kept;
}

/* The same instance of the same GPU has the same UUID each time it is made. */
void mig_uuid(const struct gpu *gpu, const struct compute_instance *ci, char *uuid)
{
    char key[128];
    unsigned long long hash[2] = {0xcbf29ce484222325ull, 0x84222325cbf29ce4ull};
    snprintf(key, sizeof key, "%s/%u/%u", gpu->uuid, ci->gi, ci->id);
    for (unsigned half = 0; half < 2; half++)
        for (const char *c = key; *c; c++)
            hash[half] = (hash[half] ^ (unsigned char)*c) * 0x100000001b3ull;
    sprintf(uuid, "MIG-%08x-%04x-5%03x-%04x-%012llx", (unsigned)(hash[0] >> 32), (unsigned)(hash[0] >> 16 & 0xffff),
            (unsigned)(hash[0] & 0xfff), (unsigned)(0x8000 | (hash[1] >> 48 & 0x3fff)), hash[1] & 0xffffffffffffull);
}
