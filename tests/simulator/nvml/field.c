/* nvmlDeviceGetFieldValues: what exporters ask, by the numbers of NVML_FI_DEV_*. */
#include "call.h"

#include <stddef.h>

enum { TYPE_UNSIGNED = 1, TYPE_WIDE = 3, TYPE_SIGNED = 5 };
enum { CORRECTED, UNCORRECTED };
enum { VOLATILE, AGGREGATE };
enum { L1, L2, DRAM, REGISTER_FILE, TEXTURE = 4, CBU = 6 };
#define EVERYWHERE (-1)
#define ALL_LINKS 0xFFFFFFFFu

static nvmlReturn_t put(nvmlFieldValue_t *field, unsigned type, u64 value)
{
    field->valueType = type;
    field->value.ullVal = value;
    return NVML_SUCCESS;
}

static nvmlReturn_t read_ecc(const struct call *c, nvmlFieldValue_t *field)
{
    static const struct {
        int location;
        unsigned uncorrected;
    } rows[] = {{L1, 0}, {L1, 1}, {L2, 0}, {L2, 1}, {DRAM, 0}, {DRAM, 1}, {REGISTER_FILE, 0}, {REGISTER_FILE, 1},
                {TEXTURE, 0}, {TEXTURE, 1}, {CBU, 1}};
    unsigned id = field->fieldId, count = sizeof rows / sizeof *rows;
    if (ecc_mode(c->gpu, 0) < 0)
        return NVML_ERROR_NOT_SUPPORTED;
    if (id <= 2)
        return put(field, TYPE_UNSIGNED, ecc_mode(c->gpu, id == 2));
    if (ecc_mode(c->gpu, 0) != 1)
        return NVML_ERROR_NOT_SUPPORTED;
    if (id <= 6)
        return put(field, TYPE_WIDE, ecc_errors(c, EVERYWHERE, (id - 3) % 2, (id - 3) / 2));
    unsigned number = (id - 7) % count;
    return put(field, TYPE_WIDE, ecc_errors(c, rows[number].location, rows[number].uncorrected, (id - 7) / count));
}

/* 29, 30: pages by cause; 31, 92, 93: pending. */
static nvmlReturn_t read_pages(const struct call *c, nvmlFieldValue_t *field)
{
    if (remaps_rows(c) || !c->gpu->model->ecc)
        return NVML_ERROR_NOT_SUPPORTED;
    if (field->fieldId <= 30)
        return put(field, TYPE_WIDE, retired_pages(c, field->fieldId - 29));
    return put(field, TYPE_WIDE, health_or(c->gpu, HEALTH_retired_pending, 0));
}

static nvmlReturn_t read_rows(const struct call *c, nvmlFieldValue_t *field)
{
    static const unsigned keys[] = {HEALTH_remapped_correctable, HEALTH_remapped_uncorrectable, HEALTH_remap_pending,
                                    HEALTH_remap_failed};
    if (!remaps_rows(c) || c->gpu->mig)
        return NVML_ERROR_NOT_SUPPORTED;
    if (field->fieldId >= 301) /* inactive remappings */
        return put(field, TYPE_UNSIGNED, 0);
    return put(field, TYPE_UNSIGNED, health_or(c->gpu, keys[field->fieldId - 142], 0));
}

/* The counter of one link, or of all (link ALL_LINKS). `offset`: of the counter in struct nvlink. */
static nvmlReturn_t put_link_errors(const struct call *c, nvmlFieldValue_t *field, unsigned link, size_t offset)
{
    struct nvlink usual;
    u64 sum = 0;
    for (unsigned id = 0; id < nvlink_count(c); id++)
        if (link == ALL_LINKS || link == id)
            sum += *(const u64 *)((const char *)nvlink_of(c, id, &usual) + offset);
    if (link != ALL_LINKS && link >= nvlink_count(c))
        return NVML_ERROR_INVALID_ARGUMENT;
    return put(field, TYPE_WIDE, sum);
}

static nvmlReturn_t read_links(const struct call *c, nvmlFieldValue_t *field)
{
    static const struct {
        unsigned first, last, link, total; /* field numbers; of the first link; the one that stands for all, or 0 */
        size_t offset;
    } counters[] = {
        {32, 38, 0, 38, offsetof(struct nvlink, crc)},       {96, 101, 6, 0, offsetof(struct nvlink, crc)},
        {39, 45, 0, 45, offsetof(struct nvlink, crc)},       {102, 107, 6, 0, offsetof(struct nvlink, crc)},
        {46, 52, 0, 52, offsetof(struct nvlink, replay)},    {108, 113, 6, 0, offsetof(struct nvlink, replay)},
        {53, 59, 0, 59, offsetof(struct nvlink, recovery)},  {114, 119, 6, 0, offsetof(struct nvlink, recovery)},
        {148, 160, 0, 160, offsetof(struct nvlink, ecc)}};
    for (unsigned i = 0; i < sizeof counters / sizeof *counters; i++)
        if (field->fieldId >= counters[i].first && field->fieldId <= counters[i].last)
            return put_link_errors(c, field,
                                   field->fieldId == counters[i].total ? ALL_LINKS
                                                                       : field->fieldId - counters[i].first + counters[i].link,
                                   counters[i].offset);
    return NVML_ERROR_NOT_SUPPORTED;
}

/* The scope is the link. */
static nvmlReturn_t read_scoped_link(const struct call *c, nvmlFieldValue_t *field)
{
    unsigned link = field->scopeId;
    switch (field->fieldId) {
    case 161:
        return put_link_errors(c, field, link, offsetof(struct nvlink, replay));
    case 162:
        return put_link_errors(c, field, link, offsetof(struct nvlink, recovery));
    case 163:
        return put_link_errors(c, field, link, offsetof(struct nvlink, crc));
    }
    if (link >= nvlink_count(c))
        return NVML_ERROR_INVALID_ARGUMENT;
    if (field->fieldId == 164)
        return put(field, TYPE_UNSIGNED, nvlink_is_active(c, link) ? c->gpu->model->nvlink_speed : 0);
    if (field->fieldId == 165)
        return put(field, TYPE_UNSIGNED, nvlink_is_active(c, link));
    return put(field, TYPE_UNSIGNED, c->gpu->model->nvlink_version);
}

static nvmlReturn_t read_nvlink(const struct call *c, nvmlFieldValue_t *field)
{
    unsigned id = field->fieldId, count = nvlink_count(c);
    if (!count || c->gpu->mig)
        return id == 91 && !count ? put(field, TYPE_UNSIGNED, 0) : NVML_ERROR_NOT_SUPPORTED;
    if (id == 91)
        return put(field, TYPE_UNSIGNED, count);
    if ((id >= 84 && id <= 90) || (id >= 132 && id <= 137))
        return put(field, TYPE_UNSIGNED, c->gpu->model->nvlink_speed);
    if (id >= 138 && id <= 141)
        return put(field, TYPE_WIDE, 0); /* traffic in KiB */
    if (id == 147)
        return put(field, TYPE_UNSIGNED, c->gpu->nvlink[0] == 's' ? count : 0);
    return id >= 161 && id <= 166 ? read_scoped_link(c, field) : read_links(c, field);
}

static nvmlReturn_t read_power(const struct call *c, nvmlFieldValue_t *field)
{
    const struct model *model = c->gpu->model;
    switch (field->fieldId) {
    case 187:
        return put(field, TYPE_UNSIGNED, model->power_min * 1000);
    case 188:
    case 189:
        return put(field, TYPE_UNSIGNED, model->power_max * 1000);
    case 190:
    case 192:
        return put(field, TYPE_UNSIGNED, gpu_power_limit(c));
    case 191:
        return put(field, TYPE_WIDE, gpu_millijoules(c));
    }
    return put(field, TYPE_UNSIGNED, gpu_milliwatts(c));
}

/* Distance from the operating maximum: what Ada and later count in. */
static nvmlReturn_t read_limit(const struct call *c, nvmlFieldValue_t *field)
{
    const struct model *m = c->gpu->model;
    const unsigned limits[] = {m->shutdown, m->slowdown, m->memory_maximum, m->operating_maximum};
    if (m->architecture < NVML_ARCH_ADA)
        return NVML_ERROR_NOT_SUPPORTED;
    field->valueType = TYPE_SIGNED;
    field->value.ullVal = 0;
    field->value.siVal = (int)m->operating_maximum - (int)limits[field->fieldId - 193];
    return NVML_SUCCESS;
}

static nvmlReturn_t read_other(const struct call *c, nvmlFieldValue_t *field)
{
    const struct model *m = c->gpu->model;
    switch (field->fieldId) {
    case 82:
        return m->hbm ? put(field, TYPE_UNSIGNED, health_or(c->gpu, HEALTH_memory_temperature, gpu_celsius(c) + 8))
                      : NVML_ERROR_NOT_SUPPORTED;
    case 83:
        return put(field, TYPE_WIDE, gpu_millijoules(c));
    case 94:
        return put(field, TYPE_WIDE, health_or(c->gpu, HEALTH_pcie_replay, 0));
    case 170:
        return put(field, TYPE_UNSIGNED, m->coherent ? 1 : 0);
    case 184:
        return put(field, TYPE_UNSIGNED, m->mig_units && !m->mig_needs_reset);
    case 199:
        return put(field, TYPE_UNSIGNED, m->mig_units && driver_branch(c->state) != 535);
    case 226:
        return put(field, TYPE_UNSIGNED, health_or(c->gpu, HEALTH_recovery_action, 0) == 1);
    case 227:
        return put(field, TYPE_UNSIGNED, health_or(c->gpu, HEALTH_recovery_action, 0) == 4);
    case 230:
        return put(field, TYPE_UNSIGNED, health_or(c->gpu, HEALTH_recovery_action, 0));
    }
    return NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t read_field(const struct call *c, nvmlFieldValue_t *field)
{
    static const struct {
        unsigned first, last;
        nvmlReturn_t (*read)(const struct call *, nvmlFieldValue_t *);
    } ranges[] = {{1, 28, read_ecc},        {29, 31, read_pages},    {32, 73, read_nvlink},  {84, 91, read_nvlink},
                  {92, 93, read_pages},     {96, 141, read_nvlink},  {142, 145, read_rows},  {146, 168, read_nvlink},
                  {185, 192, read_power},   {193, 196, read_limit},  {301, 302, read_rows}};
    unsigned id = field->fieldId;
    field->timestamp = uptime_ns() / 1000;
    if (id >= driver_fields(c->state))
        return NVML_ERROR_NOT_SUPPORTED;
    for (unsigned i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (id >= ranges[i].first && id <= ranges[i].last)
            return ranges[i].read(c, field);
    if ((id >= 74 && id <= 81) || (id >= 269 && id <= 271) || (id >= 173 && id <= 183))
        return put(field, TYPE_WIDE, 0); /* time held down by a policy; PCIe errors other than replays */
    return read_other(c, field);
}

EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *fields)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetFieldValues", device, HANDLE_GPU))
        return c.code;
    for (int i = 0; fields && i < count; i++)
        fields[i].nvmlReturn = read_field(&c, &fields[i]);
    return call_end(&c, fields ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT);
}
