/* NVLink: a board's links go to a switch, to one neighbour, or are spread over all other GPUs (state: gpu nvlink=). */
#include "call.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

enum { REPLAY, RECOVERY, CRC_FLIT, CRC_DATA, ECC_DATA, ERROR_COUNTERS };
enum { REMOTE_GPU, REMOTE_SWITCH = 2 };
enum { P2P, SYSTEM_MEMORY, P2P_ATOMICS, SYSTEM_ATOMICS, SLI_BRIDGE, VALID, CAPABILITIES };

struct far_end {
    const struct gpu *gpu; /* NULL: a switch, or nothing */
    unsigned link;
};

static int goes_to(const struct gpu *gpu, const char *what)
{
    return !strcmp(gpu->nvlink, what);
}

static const struct gpu *neighbour(const struct state *state, const struct gpu *gpu)
{
    if (strncmp(gpu->nvlink, "gpu", 3))
        return 0;
    return gpu_by_minor((struct state *)state, parse_number(gpu->nvlink + 3, 0));
}

/* The GPUs that take part in a mesh with this one, without it; *own is its place among them. */
static unsigned mesh(const struct state *state, const struct gpu *gpu, const struct gpu **others, unsigned *own)
{
    unsigned count = 0;
    *own = 0;
    for (unsigned i = 0; i < state->gpus; i++) {
        const struct gpu *other = &state->gpu[i];
        if (!goes_to(other, "mesh") || other == gpu)
            continue;
        *own += other < gpu;
        others[count++] = other;
    }
    return count;
}

static struct far_end far_end(const struct state *state, const struct gpu *gpu, unsigned id)
{
    const struct gpu *others[MAX_GPUS], *one = neighbour(state, gpu);
    unsigned own, count;
    if (one)
        return (struct far_end){one, id};
    if (!goes_to(gpu, "mesh") || !(count = mesh(state, gpu, others, &own)))
        return (struct far_end){0, 0};
    unsigned place = id % count;
    return (struct far_end){others[place], id / count * count + own - (own > place)};
}

static const struct nvlink *own_record(const struct state *state, const struct gpu *gpu, unsigned id)
{
    for (const struct nvlink *l = state->link; l < state->link + state->links; l++)
        if (l->gpu == gpu->minor && l->id == id)
            return l;
    return 0;
}

unsigned nvlink_count(const struct call *c)
{
    return goes_to(c->gpu, "none") ? 0 : c->gpu->model->nvlinks;
}

const struct nvlink *nvlink_of(const struct call *c, unsigned id, struct nvlink *usual)
{
    const struct nvlink *record = own_record(c->state, c->gpu, id);
    if (id >= nvlink_count(c))
        return 0;
    *usual = (struct nvlink){.gpu = c->gpu->minor, .id = id};
    return record ? record : usual;
}

static int is_active(const struct state *state, const struct gpu *gpu, unsigned id)
{
    const struct nvlink *record = own_record(state, gpu, id);
    if (gpu->lost || (record && record->down))
        return 0;
    if (goes_to(gpu, "switch"))
        return 1;
    struct far_end end = far_end(state, gpu, id);
    const struct nvlink *other = end.gpu ? own_record(state, end.gpu, end.link) : 0;
    return end.gpu && !end.gpu->lost && !(other && other->down);
}

int nvlink_is_active(const struct call *c, unsigned id)
{
    return is_active(c->state, c->gpu, id);
}

unsigned nvlinks_between(const struct state *state, const struct gpu *one, const struct gpu *two)
{
    unsigned found = 0;
    for (unsigned id = 0; !goes_to(one, "none") && id < one->model->nvlinks; id++)
        found += far_end(state, one, id).gpu == two && is_active(state, one, id);
    return found;
}

static int has_active(const struct state *state, const struct gpu *gpu)
{
    for (unsigned id = 0; id < gpu->model->nvlinks; id++)
        if (is_active(state, gpu, id))
            return 1;
    return 0;
}

int nvlink_joins(const struct state *state, const struct gpu *one, const struct gpu *two)
{
    if (goes_to(one, "switch") && goes_to(two, "switch"))
        return has_active(state, one) && has_active(state, two);
    return nvlinks_between(state, one, two) > 0;
}

/* In MIG mode no NVLink is there. Returns 1 with the state locked. */
static int begin(struct call *c, const char *function, nvmlDevice_t device, unsigned id)
{
    if (!call_on(c, function, device, HANDLE_GPU))
        return 0;
    if (!nvlink_count(c) || c->gpu->mig)
        call_end(c, NVML_ERROR_NOT_SUPPORTED);
    else if (id >= nvlink_count(c))
        call_end(c, NVML_ERROR_INVALID_ARGUMENT);
    else
        return 1;
    return 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned id, unsigned *active)
{
    struct call c;
    if (!begin(&c, "nvmlDeviceGetNvLinkState", device, id))
        return c.code;
    *active = nvlink_is_active(&c, id);
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned id, unsigned *version)
{
    struct call c;
    if (!begin(&c, "nvmlDeviceGetNvLinkVersion", device, id))
        return c.code;
    *version = c.gpu->model->nvlink_version;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned id, unsigned capability, unsigned *result)
{
    struct call c;
    if (!begin(&c, "nvmlDeviceGetNvLinkCapability", device, id))
        return c.code;
    if (capability >= CAPABILITIES)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    *result = capability == SLI_BRIDGE ? neighbour(c.state, c.gpu) != 0 : 1;
    return call_end(&c, NVML_SUCCESS);
}

static void put_address(nvmlPciInfo_t *pci, unsigned domain, unsigned bus, unsigned device, unsigned id)
{
    memset(pci, 0, sizeof *pci);
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", domain & 0xffff, bus & 0xff, device & 0xff);
    snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", domain, bus, device);
    pci->domain = domain;
    pci->bus = bus;
    pci->device = device;
    pci->pciDeviceId = id;
}

/* Links are dealt out to the switches one by one. A switch that is no PCI device of the host has no address. */
static void put_switch(const struct call *c, unsigned id, nvmlPciInfo_t *pci)
{
    const struct nvswitch *one = &c->state->nvswitch[c->state->switches ? id % c->state->switches : 0];
    if (c->state->switches)
        put_address(pci, one->domain, one->bus, one->device, 0);
    else
        put_address(pci, 0, 0, 0, 0);
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned id, nvmlPciInfo_t *pci)
{
    struct call c;
    if (!begin(&c, "nvmlDeviceGetNvLinkRemotePciInfo", device, id))
        return c.code;
    const struct gpu *other = far_end(c.state, c.gpu, id).gpu;
    if (!nvlink_is_active(&c, id))
        return call_end(&c, NVML_ERROR_NOT_SUPPORTED);
    if (other)
        put_address(pci, other->domain, other->bus, other->device, other->model->pci_id);
    else
        put_switch(&c, id, pci);
    return call_end(&c, NVML_SUCCESS);
}

/* The first version knew only the short address. */
EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned id, nvmlPciInfo_v2_t *pci)
{
    nvmlPciInfo_t full;
    nvmlReturn_t code = nvmlDeviceGetNvLinkRemotePciInfo_v2(device, id, &full);
    if (code)
        return code;
    *pci = (nvmlPciInfo_v2_t){"", full.domain, full.bus, full.device, full.pciDeviceId, 0, {0}};
    memcpy(pci->busId, full.busIdLegacy, sizeof pci->busId);
    return code;
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned id, unsigned *type)
{
    struct call c;
    if (!begin(&c, "nvmlDeviceGetNvLinkRemoteDeviceType", device, id))
        return c.code;
    *type = goes_to(c.gpu, "switch") ? REMOTE_SWITCH : REMOTE_GPU;
    return call_end(&c, nvlink_is_active(&c, id) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned id, unsigned counter, u64 *value)
{
    struct call c;
    struct nvlink usual;
    if (!begin(&c, "nvmlDeviceGetNvLinkErrorCounter", device, id))
        return c.code;
    if (counter >= ERROR_COUNTERS)
        return call_end(&c, NVML_ERROR_INVALID_ARGUMENT);
    const struct nvlink *link = nvlink_of(&c, id, &usual);
    const u64 values[] = {link->replay, link->recovery, link->crc, link->crc, link->ecc};
    *value = values[counter];
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlDeviceResetNvLinkErrorCounters(nvmlDevice_t device, unsigned id)
{
    struct call c;
    if (!begin(&c, "nvmlDeviceResetNvLinkErrorCounters", device, id))
        return c.code;
    call_log("nvmlDeviceResetNvLinkErrorCounters gpu=%u link=%u", c.gpu->minor, id);
    nvmlReturn_t code = may_set(&c, 1);
    struct nvlink *link = (struct nvlink *)own_record(c.state, c.gpu, id);
    if (!code && link && (link->crc || link->replay || link->recovery || link->ecc)) {
        link->crc = link->replay = link->recovery = link->ecc = 0;
        call_change(&c);
    }
    return call_end(&c, code);
}
