/* The state file: what the simulated hardware and driver are like now. Format: README.md. */
#ifndef SIMHW_STATE_H
#define SIMHW_STATE_H

#include "health_values.h"
#include "model.h"

#define MAX_GPUS 64
#define MAX_INSTANCES 1024
#define MAX_PROCESSES 512
#define MAX_FAULTS 256
#define MAX_COUNTERS 1024
#define MAX_PAGES 1024
#define MAX_LINKS 2048
#define MAX_HIDDEN 512
#define MAX_SWITCHES 64
#define MAX_NODES 64

#define HEALTH_UNSET (~0ull)
#define PLACE_PARTS 4 /* NUMA node, host bridge, upper switch, lower switch */

struct gpu {
    unsigned minor;
    const struct model *model;
    char uuid[64], serial[32], nvlink[16], subsystem[16]; /* subsystem: another than the model's, as 0x147910DE */
    unsigned domain, bus, device; /* in this order: read as one value */
    unsigned place[PLACE_PARTS];
    unsigned mig, pending, persistence, client, passthrough, lost;
    unsigned long long health[HEALTH_VALUES];
};

struct gpu_instance {
    unsigned gpu, id, profile, start;
};

struct compute_instance {
    unsigned gpu, gi, id, profile, start;
};

struct process {
    unsigned gpu, pid, gi, ci, memory_mib; /* gi, ci: NVML_NO_INSTANCE outside MIG */
    char type[12], name[64];
};

struct fault {
    char function[64];
    int code, skip, count, gpu, delay; /* count, gpu: -1 = no limit, every GPU; delay: milliseconds */
};

struct ecc_counter {
    unsigned gpu, location, uncorrected; /* location: NVML_MEMORY_LOCATION_* */
    unsigned long long since_load, ever;
};

struct retired_page {
    unsigned gpu, cause;
    unsigned long long address, time;
};

struct nvlink {
    unsigned gpu, id, down;
    unsigned long long crc, replay, recovery, ecc;
};

struct nvswitch {
    unsigned domain, bus, device;
    char model[16], uuid[64];
};

struct fabric {
    unsigned gpu, state, clique, health, summary;
    int status;
    char cluster[40];
};

struct hidden_profile {
    unsigned gpu, profile;
};

struct numa_node {
    unsigned node;
    char cpus[128];
};

struct state {
    char driver[32], flavour[16]; /* empty while the module is not loaded */
    unsigned gpus, gis, cis, processes, faults, counters, pages, links, switches, fabrics, hiddens, nodes;
    struct gpu gpu[MAX_GPUS];
    struct gpu_instance gi[MAX_INSTANCES];
    struct compute_instance ci[MAX_INSTANCES];
    struct process process[MAX_PROCESSES];
    struct fault fault[MAX_FAULTS];
    struct ecc_counter counter[MAX_COUNTERS];
    struct retired_page page[MAX_PAGES];
    struct nvlink link[MAX_LINKS];
    struct nvswitch nvswitch[MAX_SWITCHES];
    struct fabric fabric[MAX_GPUS];
    struct hidden_profile hidden[MAX_HIDDEN];
    struct numa_node node[MAX_NODES];
};

const char *state_path(void);
int state_is_overridden(void);
struct state *state_lock(void);  /* NULL: no state file, or a line that cannot be read (said on stderr) */
void state_unlock(int changed);  /* changed: write the file anew and rename it into place */
void state_log(const char *line); /* one line into the write log, with time and pid */

int state_parse(struct state *state, char *text); /* 0, or the number of the first bad line */
void state_print(const struct state *state, void *file); /* file: FILE * */
void state_sort(struct state *state);

#endif
