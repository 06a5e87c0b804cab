/* The state file: what the simulated hardware and driver are like now. Format: README.md. */
#ifndef SIMHW_STATE_H
#define SIMHW_STATE_H

#include "model.h"

#define MAX_GPUS 32
#define MAX_INSTANCES 256
#define MAX_PROCESSES 256
#define MAX_FAULTS 64

struct gpu {
    unsigned minor;
    const struct model *model;
    char uuid[64], serial[32];
    unsigned domain, bus, device;
    unsigned mig, pending, persistence, client, passthrough, lost;
};

struct gpu_instance {
    unsigned gpu, id, profile, start;
};

struct compute_instance {
    unsigned gpu, gi, id, profile, start;
};

struct process {
    unsigned gpu, pid, gi, ci, memory_mib; /* gi, ci: NVML_NO_INSTANCE outside MIG */
    char name[64];
};

struct fault {
    char function[64];
    int code, skip, count, gpu; /* count, gpu: -1 = no limit, every GPU */
};

struct state {
    char driver[32], flavour[16]; /* empty while the module is not loaded */
    unsigned gpus, gis, cis, processes, faults;
    struct gpu gpu[MAX_GPUS];
    struct gpu_instance gi[MAX_INSTANCES];
    struct compute_instance ci[MAX_INSTANCES];
    struct process process[MAX_PROCESSES];
    struct fault fault[MAX_FAULTS];
};

const char *state_path(void);
int state_is_overridden(void);
struct state *state_lock(void);  /* NULL: no state file, or a line that cannot be read (said on stderr) */
void state_unlock(int changed);  /* changed: write the file anew and rename it into place */
void state_log(const char *line); /* one line into the write log, with time and pid */

int state_parse(struct state *state, char *text); /* 0, or the number of the first bad line */
void state_sort(struct state *state);

#endif
