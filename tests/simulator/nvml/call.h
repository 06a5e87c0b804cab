/* The frame of every NVML call: session check, locked state, handle, faults, and the write back. */
#ifndef SIMHW_CALL_H
#define SIMHW_CALL_H

#include "state.h"
#include "types.h"

enum handle_kind { HANDLE_GPU = 1, HANDLE_MIG = 2, HANDLE_GI = 4, HANDLE_CI = 8 };

struct handle {
    enum handle_kind kind;
    unsigned gpu, gi, ci; /* device minor and instance ids */
};

struct call {
    nvmlReturn_t code;
    struct state *state;
    struct gpu *gpu;
    struct gpu_instance *gi;
    struct compute_instance *ci;
    const struct handle *handle;
    int changed;
};

/* Return 1 with the state locked, or 0 with call->code set and nothing locked. */
int call_begin(struct call *call, const char *function);
int call_on(struct call *call, const char *function, const void *handle, unsigned kinds);
nvmlReturn_t call_end(struct call *call, nvmlReturn_t code);

/* Every call that wants to change something: one line in the write log, refused or not. */
void call_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The state was changed: it will be written, and the capability files follow. */
void call_change(struct call *call);

void *handle_of(enum handle_kind kind, unsigned gpu, unsigned gi, unsigned ci);
const struct handle *handle_check(const void *pointer);

int session_is_open(void);
int session_is_alone(void); /* no other process has NVML open */
int may_write(void);        /* root, or a state file of the caller's own */

int driver_is_at_least(const struct state *state, const char *version); /* "570.133.20" */
unsigned driver_branch(const struct state *state);
unsigned driver_gi_profiles(const struct state *state);
unsigned driver_ci_profiles(const struct state *state);
unsigned driver_fields(const struct state *state);
int driver_knows(const struct state *state, const struct gpu *gpu);
int driver_offers(const struct state *state, const struct gpu *gpu, const struct gi_profile *profile);

int gpu_is_visible(const struct gpu *gpu);
int mig_is_visible(const struct compute_instance *ci); /* a container needs the device files of its capabilities */
struct gpu *gpu_by_minor(struct state *state, unsigned minor);
struct gpu *gpu_by_index(struct state *state, unsigned index); /* among the visible ones */
void gpu_clear_instances(struct state *state, unsigned minor);
int gpu_is_busy(const struct state *state, const struct gpu *gpu); /* a process or a foreign client */

/* What the state file sets, else `otherwise`. */
u64 health_or(const struct gpu *gpu, unsigned key, u64 otherwise);
/* Of a setter: NVML_SUCCESS, or what stands against it. */
nvmlReturn_t may_set(const struct call *call, int is_legal);
void health_set(struct call *call, unsigned key, u64 value);
void gpu_forget(struct state *state, struct gpu *gpu); /* what a reset takes away */

u64 uptime_ns(void);
unsigned gpu_milliwatts(const struct call *call);
unsigned gpu_power_limit(const struct call *call);
u64 gpu_millijoules(const struct call *call);
unsigned gpu_celsius(const struct call *call);
u64 gpu_event_reasons(const struct call *call);
int ecc_mode(const struct gpu *gpu, int is_pending); /* -1: the board has no ECC */
u64 ecc_errors(const struct call *call, int location, unsigned uncorrected, unsigned counter); /* location -1: all */
int remaps_rows(const struct call *call);
unsigned retired_pages(const struct call *call, unsigned cause);

/* The link's own record, or the usual one of a link without trouble. NULL: the board has no such link. */
const struct nvlink *nvlink_of(const struct call *call, unsigned id, struct nvlink *usual);
int nvlink_is_active(const struct call *call, unsigned id);
unsigned nvlink_count(const struct call *call);
unsigned nvlinks_between(const struct state *state, const struct gpu *one, const struct gpu *two); /* direct ones */
int nvlink_joins(const struct state *state, const struct gpu *one, const struct gpu *two); /* by a switch, too */
const struct fabric *fabric_of(const struct state *state, const struct gpu *gpu);
int fabric_is_held(void); /* the fabric manager runs */
void event_raise(const struct gpu *gpu, u64 type, u64 data);

struct gpu_instance *gi_find(struct state *state, unsigned gpu, unsigned id);
struct compute_instance *ci_find(struct state *state, unsigned gpu, unsigned gi, unsigned id);
void mig_uuid(const struct gpu *gpu, const struct compute_instance *ci, char *uuid); /* 41 bytes */
unsigned ci_slices(unsigned profile);
unsigned ci_multiprocessors(const struct model *model, const struct gi_profile *profile, unsigned ci_profile);
void ci_name(char *name, unsigned size, const struct gi_profile *profile, unsigned ci_profile);

void nodes_make(struct state *state);                    /* device nodes as nvidia-modprobe would make them */
int node_path(char *path, unsigned size, const char *name); /* below /dev or GPU_FLEET_SIM_DEV */
int node_exists(const char *name);
int nodes_hold(const struct state *state, int *fds); /* MAX_GPUS + 1 descriptors at most; returns their number */
void capabilities_sync(struct state *state);             /* /proc/driver/nvidia/capabilities follows the instances */
unsigned capability_minor(unsigned gpu, unsigned gi);

#define EVENT_MIG_CONFIGURATION 0x100ull /* nvmlEventMigConfigChange */

#define GPU_VALUE(function, type, kinds, expression)           \
    EXPORT nvmlReturn_t function(nvmlDevice_t device, type *value) \
    {                                                          \
        struct call c;                                         \
        if (!call_on(&c, #function, device, kinds))            \
            return c.code;                                     \
        if (!value)                                            \
            return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);  \
        *value = expression;                                   \
        return call_end(&c, NVML_SUCCESS);                     \
    }
#define GPU_NUMBER(function, expression) GPU_VALUE(function, unsigned, HANDLE_GPU, expression)

#endif
