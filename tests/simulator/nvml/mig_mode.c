/* MIG mode and GPU reset. Ampere needs a reset for a mode change and keeps the mode; Hopper changes at once. */
#include "call.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *now, unsigned *pending)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetMigMode", device, HANDLE_GPU))
        return c.code;
    *now = c.gpu->mig;
    *pending = c.gpu->pending;
    return call_end(&c, c.gpu->model->mig_units ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
}

static int has_instances(const struct state *state, const struct gpu *gpu)
{
    for (unsigned i = 0; i < state->gis; i++)
        if (state->gi[i].gpu == gpu->minor)
            return 1;
    return 0;
}

/* The fabric manager has its switches open: no GPU behind them can be reset alone. */
static int on_held_fabric(const struct call *c)
{
    return !strcmp(c->gpu->nvlink, "switch") && fabric_is_held();
}

/* 0 when the new mode can become active now, else what stands against it. */
static nvmlReturn_t activation(const struct call *c)
{
    const struct gpu *gpu = c->gpu;
    if (gpu_is_busy(c->state, gpu) || has_instances(c->state, gpu))
        return NVML_ERROR_IN_USE;
    if (!gpu->model->mig_needs_reset)
        return NVML_SUCCESS;
    if (gpu->passthrough)
        return NVML_ERROR_RESET_REQUIRED;
    return session_is_alone() && !on_held_fabric(c) ? NVML_SUCCESS : NVML_ERROR_IN_USE;
}

static void activate(struct call *c, unsigned mode)
{
    c->gpu->mig = mode;
    if (c->gpu->model->mig_needs_reset)
        gpu_forget(c->state, c->gpu);
    event_raise(c->gpu, EVENT_MIG_CONFIGURATION, 0);
}

EXPORT nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned mode, nvmlReturn_t *status)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceSetMigMode", device, HANDLE_GPU))
        return c.code;
    call_log("nvmlDeviceSetMigMode gpu=%u mode=%u", c.gpu->minor, mode);
    if (!c.gpu->model->mig_units)
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    if (mode > 1 || !status)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    if (!may_write())
        return call_end(&c, NVML_ERROR_NO_PERMISSION);
    c.gpu->pending = mode;
    *status = c.gpu->mig == mode ? NVML_SUCCESS : activation(&c);
    if (!*status && c.gpu->mig != mode)
        activate(&c, mode);
    call_change(&c);
    return call_end(&c, NVML_SUCCESS);
}

/* The persistence daemon has the GPUs open; a reset by SetMigMode gets past it, one by nvidia-smi does not. */
static int is_held(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.holders", state_path());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    int held = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return held;
}

/* What nvidia-smi --gpu-reset does through private calls: pending mode becomes active, instances are lost. */
EXPORT nvmlReturn_t simhwDeviceReset(nvmlDevice_t device)
{
    struct call c;
    if (!call_on(&c, "simhwDeviceReset", device, HANDLE_GPU))
        return c.code;
    call_log("reset gpu=%u", c.gpu->minor);
    if (!may_write())
        return call_end(&c, NVML_ERROR_NO_PERMISSION);
    if (c.gpu->passthrough)
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    if (gpu_is_busy(c.state, c.gpu) || !session_is_alone() || is_held() || on_held_fabric(&c))
        return call_end(&c, NVML_ERROR_IN_USE);
    c.gpu->mig = c.gpu->pending;
    gpu_forget(c.state, c.gpu);
    gpu_clear_instances(c.state, c.gpu->minor);
    call_change(&c);
    return call_end(&c, NVML_SUCCESS);
}
