/* Events and topology: nothing happens, quietly. */
#include "call.h"

#include <unistd.h>

static int event_set;

EXPORT nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    *set = &event_set;
    return session_is_open() ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

EXPORT nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    return set == &event_set ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

EXPORT nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, void *data, unsigned milliseconds)
{
    (void)data;
    if (set != &event_set)
        return NVML_ERROR_INVALID_ARGUMENT;
    usleep(milliseconds * 1000);
    return NVML_ERROR_TIMEOUT;
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, void *data, unsigned milliseconds) ALIAS(nvmlEventSetWait_v2);

EXPORT nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, u64 *types)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetSupportedEventTypes", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    *types = 0x19f;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, u64 types, nvmlEventSet_t set)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceRegisterEvents", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    return call_end(&c, set == &event_set && !(types & ~0x19full) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT);
}

/* All GPUs sit below one host bridge (NVML_TOPOLOGY_HOSTBRIDGE). */
EXPORT nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t two, int *level)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetTopologyCommonAncestor", one, HANDLE_GPU))
        return c.code;
    *level = one == two ? 0 : 30;
    return call_end(&c, handle_check(two) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT);
}
