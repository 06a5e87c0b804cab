/* Queries whose rows are no GPUs: processes, retired pages. And remapped rows, with fields of their own. */
#include "query.h"

#include <string.h>

#define FIELD(title, other, function, kind, ...)                                                                       \
    {.name = title, .alias = other, .property = {.get = function, .which = kind}, __VA_ARGS__}
#define UNIT(text) .property.unit = " " text
#define OWN(title, other, column, ...) FIELD(title, other, 0, column, __VA_ARGS__) /* its value comes with the row */
#define GPU_FIELDS                                                                                                     \
    FIELD("timestamp", 0, get_timestamp, 0), FIELD("gpu_name", 0, get_text, CALL(DeviceGetName)),                      \
        FIELD("gpu_bus_id", 0, get_pci, PCI_BUS_ID), FIELD("gpu_serial", 0, get_text, CALL(DeviceGetSerial)),          \
        FIELD("gpu_uuid", 0, get_text, CALL(DeviceGetUUID))
#define OWN_COLUMNS 6

enum { APP_PID, APP_NAME, APP_MEMORY };
enum { ACCOUNT_PID, ACCOUNT_GPU, ACCOUNT_MEMORY, ACCOUNT_MOST, ACCOUNT_TIME, ACCOUNT_VGPU };
enum { PAGE_ADDRESS, PAGE_TIME, PAGE_CAUSE };

static const struct field app_fields[] = {GPU_FIELDS, OWN("pid", 0, APP_PID), OWN("process_name", "name", APP_NAME),
                                          OWN("used_gpu_memory", "used_memory", APP_MEMORY, UNIT("MiB"))};
static const struct field account_fields[] = {GPU_FIELDS,
                                              OWN("vgpu_instance", 0, ACCOUNT_VGPU),
                                              OWN("pid", 0, ACCOUNT_PID),
                                              OWN("gpu_utilization", "gpu_util", ACCOUNT_GPU, UNIT("%")),
                                              OWN("mem_utilization", "mem_util", ACCOUNT_MEMORY, UNIT("%")),
                                              OWN("max_memory_usage", 0, ACCOUNT_MOST, UNIT("MiB")),
                                              OWN("time", 0, ACCOUNT_TIME, UNIT("ms"))};
static const struct field page_fields[] = {GPU_FIELDS, OWN("retired_pages.address", 0, PAGE_ADDRESS),
                                           OWN("retired_pages.timestamp", 0, PAGE_TIME),
                                           OWN("retired_pages.cause", 0, PAGE_CAUSE)};
static const struct field row_fields[] = {GPU_FIELDS,
                                          FIELD("remapped_rows.correctable", 0, get_remapped, REMAPPED_CORRECTABLE),
                                          FIELD("remapped_rows.uncorrectable", 0, get_remapped, REMAPPED_UNCORRECTABLE),
                                          FIELD("remapped_rows.pending", 0, get_remapped, REMAPPED_PENDING),
                                          FIELD("remapped_rows.failure", 0, get_remapped, REMAPPED_FAILURE),
                                          FIELD("remapped_rows.histogram.max", 0, get_histogram, HISTOGRAM_MAX),
                                          FIELD("remapped_rows.histogram.high", 0, get_histogram, HISTOGRAM_HIGH),
                                          FIELD("remapped_rows.histogram.partial", 0, get_histogram, HISTOGRAM_PARTIAL),
                                          FIELD("remapped_rows.histogram.low", 0, get_histogram, HISTOGRAM_LOW),
                                          FIELD("remapped_rows.histogram.none", 0, get_histogram, HISTOGRAM_NONE)};

const struct field_list app_list = {"query-compute-apps", app_fields, COUNT(app_fields)};
const struct field_list account_list = {"query-accounted-apps", account_fields, COUNT(account_fields)};
const struct field_list page_list = {"query-retired-pages", page_fields, COUNT(page_fields)};
const struct field_list row_list = {"query-remapped-rows", row_fields, COUNT(row_fields)};

static void put_row(const struct query *query, nvmlDevice_t gpu, const struct value *own)
{
    for (unsigned column = 0; column < query->count; column++)
        if (query->column[column]->property.get)
            query_property(query, column, gpu);
        else
            query_value(query, column, &own[query->column[column]->property.which]);
}

static void put_apps(const struct query *query, nvmlDevice_t gpu)
{
    struct process all[SMI_PROCESSES];
    struct value own[OWN_COLUMNS];
    unsigned count = processes_of(gpu, all);
    for (const struct process *p = all; p < all + count; p++) {
        if (!strchr(p->type, 'C'))
            continue;
        int missing = p->info.usedGpuMemory == NVML_VALUE_NOT_AVAILABLE ? NVML_ERROR_NOT_SUPPORTED : 0;
        value_set(&own[APP_PID], 0, "%u", p->info.pid);
        value_set(&own[APP_NAME], 0, "%s", p->name);
        value_set(&own[APP_MEMORY], missing, "%llu", p->info.usedGpuMemory / MIB);
        put_row(query, gpu, own);
    }
}

int smi_query_compute_apps(const struct request *request, const struct selection *gpus)
{
    struct query query;
    int failed = query_parse(&query, request, &app_list);
    if (failed)
        return failed;
    query_header(&query);
    for (unsigned i = 0; i < gpus->count; i++)
        put_apps(&query, gpus->gpu[i]);
    return 0;
}

static void put_accounts(const struct query *query, nvmlDevice_t gpu)
{
    struct value own[OWN_COLUMNS];
    unsigned pids[SMI_PROCESSES], count = SMI_PROCESSES;
    nvmlAccountingStats_t stats;
    if (nvml.DeviceGetAccountingPids(gpu, &count, pids))
        return;
    for (unsigned i = 0; i < count; i++) {
        memset(&stats, 0, sizeof stats);
        nvmlReturn_t code = nvml.DeviceGetAccountingStats(gpu, pids[i], &stats);
        value_set(&own[ACCOUNT_VGPU], NVML_ERROR_NOT_SUPPORTED, "%s", "");
        value_set(&own[ACCOUNT_PID], 0, "%u", pids[i]);
        value_set(&own[ACCOUNT_GPU], code, "%u", stats.gpuUtilization);
        value_set(&own[ACCOUNT_MEMORY], code, "%u", stats.memoryUtilization);
        value_set(&own[ACCOUNT_MOST], code, "%llu", stats.maxMemoryUsage / MIB);
        value_set(&own[ACCOUNT_TIME], code, "%llu", stats.time);
        put_row(query, gpu, own);
    }
}

int smi_query_accounted_apps(const struct request *request, const struct selection *gpus)
{
    struct query query;
    int failed = query_parse(&query, request, &account_list);
    if (failed)
        return failed;
    query_header(&query);
    for (unsigned i = 0; i < gpus->count; i++)
        put_accounts(&query, gpus->gpu[i]);
    return 0;
}

/* A board that retires no pages has one line for each cause. */
static void put_pages(const struct query *query, nvmlDevice_t gpu, unsigned cause)
{
    struct value own[OWN_COLUMNS], retired;
    u64 addresses[64], times[64];
    unsigned count = COUNT(addresses);
    get_retired(&retired, gpu, cause);
    nvmlReturn_t code =
        retired.code ? retired.code : nvml.DeviceGetRetiredPages_v2(gpu, cause, &count, addresses, times);
    int has_times = !code;
    if (code && !retired.code)
        code = nvml.DeviceGetRetiredPages(gpu, cause, &count, addresses);
    value_set(&own[PAGE_CAUSE], 0, cause == RETIRED_SINGLE ? "Single Bit ECC" : "Double Bit ECC");
    for (unsigned i = 0; i < (code ? 1 : count); i++) {
        value_set(&own[PAGE_ADDRESS], code, "0x%016llx", code ? 0 : addresses[i]);
        value_set(&own[PAGE_TIME], has_times ? 0 : NVML_ERROR_NOT_SUPPORTED, "%llu", has_times ? times[i] : 0);
        put_row(query, gpu, own);
    }
}

int smi_query_retired_pages(const struct request *request, const struct selection *gpus)
{
    struct query query;
    int failed = query_parse(&query, request, &page_list);
    if (failed)
        return failed;
    query_header(&query);
    for (unsigned i = 0; i < gpus->count; i++) {
        put_pages(&query, gpus->gpu[i], RETIRED_SINGLE);
        put_pages(&query, gpus->gpu[i], RETIRED_DOUBLE);
    }
    return 0;
}

int smi_query_remapped_rows(const struct request *request, const struct selection *gpus)
{
    struct query query;
    int failed = query_parse(&query, request, &row_list);
    if (failed)
        return failed;
    query_header(&query);
    for (unsigned i = 0; i < gpus->count; i++)
        put_row(&query, gpus->gpu[i], 0);
    return 0;
}
