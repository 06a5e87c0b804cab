/* The boards that the simulator knows. The table itself is generated from models.py. */
#ifndef SIMHW_MODEL_H
#define SIMHW_MODEL_H

#define MAX_STARTS 8

struct gi_profile {
    const char *name;
    unsigned profile; /* NVML_GPU_INSTANCE_PROFILE_* */
    unsigned id;
    unsigned slices, memory_mib, count, multiprocessors;
    unsigned copy, decoder, encoder, jpeg, ofa;
    unsigned size, start_count;
    unsigned starts[MAX_STARTS]; /* in the driver's order */
    unsigned since, capabilities; /* driver branch; NVML_GPU_INSTANCE_PROFILE_CAPS_* */
};

struct model {
    const char *key, *name, *vbios, *part_number;
    unsigned pci_id, subsystem, architecture, major, minor, brand;
    unsigned memory_mib, bar1_mib, multiprocessors, cores;
    unsigned power_idle, power_min, power_max, clock_sm, clock_memory;
    unsigned bus_width, pcie_generation;
    unsigned mig_units, mig_needs_reset;
    unsigned decoders, encoders, jpegs, ofas;
    unsigned slice_multiprocessors, revision1_multiprocessors;
    unsigned shutdown, slowdown, memory_maximum, operating_maximum; /* degrees Celsius */
    unsigned nvlinks, nvlink_version, nvlink_speed;                 /* NVML_NVLINK_VERSION_*, MB/s */
    unsigned ecc, row_banks, hbm, fans, coherent, display;
    unsigned last_branch; /* 0: ongoing */
    const char *first_driver;
    unsigned profile_count;
    const struct gi_profile *profiles;
};

extern const struct model models[];
extern const unsigned model_count;

const struct model *model_by_key(const char *key);
const struct gi_profile *profile_by_id(const struct model *model, unsigned id);
const struct gi_profile *profile_by_enum(const struct model *model, unsigned profile);

#endif
