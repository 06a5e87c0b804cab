/* What depends on the version of the loaded driver. */
#include "call.h"
#include "text.h"

#include <string.h>

enum { TURING = 6, BLACKWELL = 10 }; /* NVML_DEVICE_ARCH_* */

/* <0, 0, >0 as strcmp; a missing part counts as 0. */
static long compare_versions(const char *left, const char *right)
{
    while (*left || *right) {
        char *left_end = (char *)left, *right_end = (char *)right;
        long difference = parse_number(left, &left_end) - parse_number(right, &right_end);
        if (difference)
            return difference;
        left = *left_end ? left_end + 1 : left_end;
        right = *right_end ? right_end + 1 : right_end;
    }
    return 0;
}

int driver_is_at_least(const struct state *state, const char *version)
{
    return compare_versions(state->driver, version) >= 0;
}

unsigned driver_branch(const struct state *state)
{
    return parse_number(state->driver, 0);
}

/* How many kinds of profiles nvml.h of the branch has: beyond them a number is no argument. */
unsigned driver_gi_profiles(const struct state *state)
{
    unsigned branch = driver_branch(state);
    return branch >= 610 ? 18 : branch >= 575 ? 17 : branch >= 570 ? 13 : branch >= 525 ? 10 : 8;
}

unsigned driver_ci_profiles(const struct state *state)
{
    unsigned branch = driver_branch(state);
    return branch >= 610 ? 9 : branch >= 525 ? 8 : 7;
}

/* NVML_FI_MAX of the branch. */
unsigned driver_fields(const struct state *state)
{
    static const struct {
        unsigned branch, fields;
    } rows[] = {{620, 310}, {615, 308}, {610, 303}, {595, 296}, {590, 289}, {575, 274}, {570, 269}, {560, 230},
                {555, 223}, {550, 200}, {535, 197}, {530, 173}, {525, 170}, {520, 167}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (driver_branch(state) >= rows[i].branch)
            return rows[i].fields;
    return 161;
}

/* Open modules need a GPU System Processor, which came with Turing; from Blackwell on there are no others (probe.py). */
static int flavour_drives(const struct state *state, const struct gpu *gpu)
{
    unsigned architecture = gpu->model->architecture;
    return strcmp(state->flavour, "open") ? architecture < BLACKWELL : architecture >= TURING;
}

/* A board that is newer than the driver, or no longer driven by it, is not there for NVML. */
int driver_knows(const struct state *state, const struct gpu *gpu)
{
    unsigned last = gpu->model->last_branch;
    if (!flavour_drives(state, gpu))
        return 0;
    return driver_is_at_least(state, gpu->model->first_driver) && (!last || driver_branch(state) <= last);
}

/* The profile, when this driver offers it on this GPU. Around branch 535 none is offered while MIG is off. */
int driver_offers(const struct state *state, const struct gpu *gpu, const struct gi_profile *profile)
{
    unsigned branch = driver_branch(state);
    if (profile->since > branch || (branch == 535 && !gpu->mig))
        return 0;
    for (unsigned i = 0; i < state->hiddens; i++)
        if (state->hidden[i].gpu == gpu->minor && state->hidden[i].profile == profile->id)
            return 0;
    return 1;
}
