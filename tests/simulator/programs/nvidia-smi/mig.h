/* nvidia-smi mig: what its verbs share. */
#ifndef SIMHW_MIG_H
#define SIMHW_MIG_H

#include "smi.h"

typedef nvmlGpuInstanceProfileInfo_v2_t gi_profile_t;
typedef nvmlComputeInstanceProfileInfo_v2_t ci_profile_t;

struct mig_request {
    int verb, compute;                      /* compute: -C */
    const char *ids, *gis, *cis, *profiles; /* NULL: all, or none given */
    struct selection gpus;
};

struct gi {
    nvmlGpuInstance_t handle;
    nvmlGpuInstanceInfo_t info;
    gi_profile_t profile;
};

/* Profiles in the order of -lgip: by slices, then memory. Both return their number. */
unsigned gi_profiles_of(nvmlDevice_t gpu, gi_profile_t *profiles);     /* NVML_GPU_INSTANCE_PROFILE_COUNT at most */
unsigned ci_profiles_of(nvmlGpuInstance_t gi, ci_profile_t *profiles); /* NVML_COMPUTE_INSTANCE_PROFILE_COUNT at most */

/* Instances of a GPU, by profile and id; `gis` leaves those of a list such as 1,2. */
unsigned instances_of(nvmlDevice_t gpu, const char *gis, struct gi *instances); /* SMI_INSTANCES at most */
unsigned computes_of(const struct gi *gi, const char *cis, nvmlComputeInstance_t *handles,
                     nvmlComputeInstanceInfo_t *infos);

int mig_is_enabled(const struct selection *gpus);                          /* on any of them */
unsigned default_ci_profile(const ci_profile_t *profiles, unsigned count); /* its place in the array */

int mig_list_gi_profiles(const struct mig_request *request);
int mig_list_gi_placements(const struct mig_request *request);
int mig_list_gis(const struct mig_request *request);
int mig_list_ci_profiles(const struct mig_request *request);
int mig_list_ci_placements(const struct mig_request *request);
int mig_list_cis(const struct mig_request *request);
int mig_create_gis(const struct mig_request *request);
int mig_create_cis(const struct mig_request *request);
int mig_destroy_gis(const struct mig_request *request);
int mig_destroy_cis(const struct mig_request *request);

/* Plain answers, and their exit code. */
int say_not_enabled(void);
int say_no_gis(void);
int say_no_cis(void);

#endif
