/* The PCI Express link. */
#include "call.h"

#define LANES 16u

static unsigned generation(const struct call *c)
{
    return health_or(c->gpu, HEALTH_pcie_generation, c->gpu->model->pcie_generation);
}

/* Mb/s of one lane's link speed: 2.5 GT/s, doubled with each generation but for 5.0 to 8.0. */
static unsigned megabits(unsigned generation)
{
    static const unsigned speeds[] = {0, 2500, 5000, 8000, 16000, 32000, 64000};
    return generation < sizeof speeds / sizeof *speeds ? speeds[generation] : 0;
}

GPU_NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, generation(&c))
GPU_NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, c.gpu->model->pcie_generation)
GPU_NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, c.gpu->model->pcie_generation)
GPU_NUMBER(nvmlDeviceGetCurrPcieLinkWidth, health_or(c.gpu, HEALTH_pcie_width, LANES))
GPU_NUMBER(nvmlDeviceGetMaxPcieLinkWidth, LANES)
GPU_NUMBER(nvmlDeviceGetPcieReplayCounter, health_or(c.gpu, HEALTH_pcie_replay, 0))
GPU_NUMBER(nvmlDeviceGetPcieLinkMaxSpeed, c.gpu->model->pcie_generation) /* NVML_PCIE_LINK_MAX_SPEED_* */
GPU_NUMBER(nvmlDeviceGetPcieSpeed, megabits(generation(&c)))

/* KB/s: a GPU that works moves a little, an idle one nothing. */
EXPORT nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, unsigned counter, unsigned *kilobytes)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetPcieThroughput", device, HANDLE_GPU))
        return c.code;
    *kilobytes = gpu_is_busy(c.state, c.gpu) ? 51200 : 0;
    return call_end(&c, counter > 1 ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS);
}
