/* One line of the state file is a record: a word, then key=value. The tables below say which, for reading and writing. */
#include "state.h"
#include "text.h"
#include "types.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { COUNT, INTEGER, WIDE, TEXT, BUS, PLACE, MODEL };

struct column {
    const char *key;
    enum kind kind;
    size_t offset, size;
};

struct record {
    const char *word;
    const struct column *columns;
    unsigned column_count, positional; /* so many values come first, without a key */
    size_t rows, row_size, count;      /* offsets in struct state */
    unsigned capacity;
};

#define COLUMN(row, member, key, kind) {key, kind, offsetof(struct row, member), sizeof((struct row *)0)->member}
#define SAME(row, member, kind) COLUMN(row, member, #member, kind)
#define RECORD(word, row, columns, positional, rows, count, capacity)                                    \
    {word, columns, sizeof columns / sizeof *columns, positional, offsetof(struct state, rows), sizeof(struct row), \
     offsetof(struct state, count), capacity}

static const struct column node_columns[] = {SAME(numa_node, node, COUNT), SAME(numa_node, cpus, TEXT)};
static const struct column switch_columns[] = {COLUMN(nvswitch, domain, "bus", BUS), SAME(nvswitch, model, TEXT),
                                               SAME(nvswitch, uuid, TEXT)};
static const struct column gpu_columns[] = {
    SAME(gpu, minor, COUNT),     SAME(gpu, model, MODEL),       SAME(gpu, uuid, TEXT),      SAME(gpu, serial, TEXT),
    COLUMN(gpu, domain, "bus", BUS),         SAME(gpu, place, PLACE),       SAME(gpu, nvlink, TEXT),    SAME(gpu, mig, COUNT),
    SAME(gpu, pending, COUNT),   SAME(gpu, persistence, COUNT), SAME(gpu, client, COUNT),   SAME(gpu, passthrough, COUNT),
    SAME(gpu, lost, COUNT),      SAME(gpu, subsystem, TEXT)};
static const struct column hidden_columns[] = {SAME(hidden_profile, gpu, COUNT), SAME(hidden_profile, profile, COUNT)};
static const struct column counter_columns[] = {
    SAME(ecc_counter, gpu, COUNT), SAME(ecc_counter, location, COUNT), SAME(ecc_counter, uncorrected, COUNT),
    COLUMN(ecc_counter, since_load, "volatile", WIDE), COLUMN(ecc_counter, ever, "aggregate", WIDE)};
static const struct column page_columns[] = {SAME(retired_page, gpu, COUNT), SAME(retired_page, cause, COUNT),
                                             SAME(retired_page, address, WIDE), SAME(retired_page, time, WIDE)};
static const struct column link_columns[] = {SAME(nvlink, gpu, COUNT),   SAME(nvlink, id, COUNT),
                                             SAME(nvlink, down, COUNT),  SAME(nvlink, crc, WIDE),
                                             SAME(nvlink, replay, WIDE), SAME(nvlink, recovery, WIDE),
                                             SAME(nvlink, ecc, WIDE)};
static const struct column fabric_columns[] = {SAME(fabric, gpu, COUNT),    SAME(fabric, state, COUNT),
                                               SAME(fabric, status, INTEGER), SAME(fabric, clique, COUNT),
                                               SAME(fabric, cluster, TEXT), SAME(fabric, health, COUNT),
                                               SAME(fabric, summary, COUNT)};
static const struct column gi_columns[] = {SAME(gpu_instance, gpu, COUNT), SAME(gpu_instance, id, COUNT),
                                           SAME(gpu_instance, profile, COUNT), SAME(gpu_instance, start, COUNT)};
static const struct column ci_columns[] = {SAME(compute_instance, gpu, COUNT), SAME(compute_instance, gi, COUNT),
                                           SAME(compute_instance, id, COUNT), SAME(compute_instance, profile, COUNT),
                                           SAME(compute_instance, start, COUNT)};
static const struct column process_columns[] = {
    SAME(process, gpu, COUNT), SAME(process, pid, COUNT),  SAME(process, gi, COUNT),  SAME(process, ci, COUNT),
    COLUMN(process, memory_mib, "memory", COUNT), SAME(process, type, TEXT), SAME(process, name, TEXT)};
static const struct column fault_columns[] = {SAME(fault, function, TEXT), SAME(fault, code, INTEGER),
                                              SAME(fault, skip, INTEGER),  SAME(fault, count, INTEGER),
                                              SAME(fault, gpu, INTEGER),   SAME(fault, delay, INTEGER)};

static const struct record records[] = {
    RECORD("numa", numa_node, node_columns, 0, node, nodes, MAX_NODES),
    RECORD("switch", nvswitch, switch_columns, 0, nvswitch, switches, MAX_SWITCHES),
    RECORD("gpu", gpu, gpu_columns, 0, gpu, gpus, MAX_GPUS),
    RECORD("hidden", hidden_profile, hidden_columns, 0, hidden, hiddens, MAX_HIDDEN),
    RECORD("ecc", ecc_counter, counter_columns, 0, counter, counters, MAX_COUNTERS),
    RECORD("page", retired_page, page_columns, 0, page, pages, MAX_PAGES),
    RECORD("link", nvlink, link_columns, 0, link, links, MAX_LINKS),
    RECORD("fabric", fabric, fabric_columns, 0, fabric, fabrics, MAX_GPUS),
    RECORD("gi", gpu_instance, gi_columns, 0, gi, gis, MAX_INSTANCES),
    RECORD("ci", compute_instance, ci_columns, 0, ci, cis, MAX_INSTANCES),
    RECORD("process", process, process_columns, 0, process, processes, MAX_PROCESSES),
    RECORD("fault", fault, fault_columns, 2, fault, faults, MAX_FAULTS),
};
static const char *const health_keys[] = {HEALTH_KEYS};

#define EACH(index, array) for (unsigned index = 0; index < sizeof array / sizeof *array; index++)

/* Hex numbers between the separators; -1 when there are fewer or other ones. */
static int read_parts(const char *text, unsigned *parts, unsigned count, const char *separators)
{
    for (unsigned i = 0; i < count; i++) {
        char *end;
        parts[i] = parse_hex(text, &end);
        if (end == text || *end != separators[i])
            return -1;
        text = end + 1;
    }
    return 0;
}

static int read_value(const struct column *column, char *row, const char *text)
{
    char *to = row + column->offset;
    switch (column->kind) {
    case COUNT:
        *(unsigned *)to = strcmp(text, "-") ? (unsigned)parse_number(text, 0) : NVML_NO_INSTANCE;
        return 0;
    case INTEGER:
        *(int *)to = parse_number(text, 0);
        return 0;
    case WIDE:
        *(u64 *)to = parse_wide(text);
        return 0;
    case TEXT:
        return copy_text(to, column->size, text);
    case BUS:
        return read_parts(text, (unsigned *)to, 3, "::.");
    case PLACE:
        return read_parts(text, (unsigned *)to, PLACE_PARTS, "...");
    default:
        return (*(const struct model **)to = model_by_key(text)) ? 0 : -1;
    }
}

static const struct column *find_column(const struct record *record, const char *key)
{
    for (unsigned i = 0; i < record->column_count; i++)
        if (!strcmp(record->columns[i].key, key))
            return &record->columns[i];
    return 0;
}

/* The next value of the line: its column, or NULL at the end (*bad is set when the word fits no column). */
static const struct column *next_value(const struct record *record, unsigned number, char **cursor, char **value, int *bad)
{
    char *token = next_token(cursor);
    if (!token)
        return 0;
    *value = number < record->positional ? token : token_value(token);
    const struct column *column = number < record->positional ? &record->columns[number] : find_column(record, token);
    *bad = !*value || !column;
    return *bad ? 0 : column;
}

/* What a record has where the line does not say it. */
static void start_row(const char *word, void *row)
{
    if (!strcmp(word, "process")) {
        struct process *process = row;
        process->gi = process->ci = NVML_NO_INSTANCE;
        strcpy(process->type, "compute");
    } else if (!strcmp(word, "fault")) {
        struct fault *fault = row;
        fault->count = fault->gpu = -1;
    } else if (!strcmp(word, "gpu")) {
        struct gpu *gpu = row;
        strcpy(gpu->nvlink, "none");
        memset(gpu->health, 0xff, sizeof gpu->health);
    }
}

static int check_row(const char *word, const void *row)
{
    const struct gpu *gpu = row;
    return !strcmp(word, "gpu") && (!gpu->model || !gpu->uuid[0]) ? -1 : 0;
}

static int read_row(struct state *state, const struct record *record, char *cursor)
{
    unsigned *count = (unsigned *)((char *)state + record->count), number = 0;
    char *row = (char *)state + record->rows + *count * record->row_size, *value;
    int bad = 0;
    if (*count == record->capacity)
        return -1;
    memset(row, 0, record->row_size);
    start_row(record->word, row);
    for (const struct column *column; (column = next_value(record, number, &cursor, &value, &bad)); number++)
        if (read_value(column, row, value))
            return -1;
    if (bad || number < record->positional)
        return -1;
    ++*count;
    return check_row(record->word, row);
}

static int read_driver(struct state *state, char *cursor)
{
    char *version = next_token(&cursor), *flavour = next_token(&cursor);
    if (!version || !flavour || copy_text(state->driver, sizeof state->driver, version))
        return -1;
    return copy_text(state->flavour, sizeof state->flavour, flavour);
}

static u64 *health_value(struct gpu *gpu, const char *key)
{
    EACH(i, health_keys)
        if (!strcmp(health_keys[i], key))
            return &gpu->health[i];
    return 0;
}

/* health gpu=0 temperature=91: the line of the GPU has to come first. */
static int read_health(struct state *state, char *cursor)
{
    char *token = next_token(&cursor), *value = token ? token_value(token) : 0;
    struct gpu *gpu = state->gpu, *end = state->gpu + state->gpus;
    if (!value || strcmp(token, "gpu"))
        return -1;
    while (gpu < end && gpu->minor != (unsigned)parse_number(value, 0))
        gpu++;
    while (gpu < end && (token = next_token(&cursor))) {
        u64 *to = (value = token_value(token)) ? health_value(gpu, token) : 0;
        if (!to)
            return -1;
        *to = parse_wide(value);
    }
    return gpu < end ? 0 : -1;
}

static int read_line(struct state *state, char *line)
{
    char *cursor = line, *word = next_token(&cursor);
    if (!word || *word == '#')
        return 0;
    if (!strcmp(word, "driver"))
        return read_driver(state, cursor);
    if (!strcmp(word, "health"))
        return read_health(state, cursor);
    EACH(i, records)
        if (!strcmp(records[i].word, word))
            return read_row(state, &records[i], cursor);
    return -1;
}

int state_parse(struct state *state, char *text)
{
    memset(state, 0, offsetof(struct state, gpu)); /* the counts; rows are cleared when they are read */
    for (int number = 1; text && *text; number++) {
        char *end = strchr(text, '\n');
        if (end)
            *end = 0;
        if (read_line(state, text))
            return number;
        text = end ? end + 1 : 0;
    }
    state_sort(state);
    return 0;
}

static void print_value(FILE *file, const struct column *column, const char *row)
{
    const void *from = row + column->offset;
    const unsigned *parts = from;
    switch (column->kind) {
    case COUNT:
        fprintf(file, *parts == NVML_NO_INSTANCE ? "-" : "%u", *parts);
        break;
    case INTEGER:
        fprintf(file, "%d", *(const int *)from);
        break;
    case WIDE:
        fprintf(file, "%llu", *(const u64 *)from);
        break;
    case TEXT:
        fputs(from, file);
        break;
    case BUS:
        fprintf(file, "%04x:%02x:%02x.0", parts[0], parts[1], parts[2]);
        break;
    case PLACE:
        fprintf(file, "%x.%x.%x.%x", parts[0], parts[1], parts[2], parts[3]);
        break;
    case MODEL:
        fputs((*(const struct model *const *)from)->key, file);
    }
}

static void print_row(FILE *file, const struct record *record, const char *row)
{
    fputs(record->word, file);
    for (unsigned i = 0; i < record->column_count; i++) {
        if (record->columns[i].kind == TEXT && !row[record->columns[i].offset])
            continue;
        fputc(' ', file);
        if (i >= record->positional)
            fprintf(file, "%s=", record->columns[i].key);
        print_value(file, &record->columns[i], row);
    }
    fputc('\n', file);
}

static void print_health(FILE *file, const struct gpu *gpu)
{
    int started = 0;
    EACH(i, health_keys) {
        if (gpu->health[i] == HEALTH_UNSET)
            continue;
        if (!started++)
            fprintf(file, "health gpu=%u", gpu->minor);
        fprintf(file, " %s=%llu", health_keys[i], gpu->health[i]);
    }
    if (started)
        fputc('\n', file);
}

void state_print(const struct state *state, void *file)
{
    if (state->driver[0])
        fprintf(file, "driver %s %s\n", state->driver, state->flavour);
    EACH(i, records) {
        const char *row = (const char *)state + records[i].rows;
        unsigned count = *(const unsigned *)((const char *)state + records[i].count);
        for (unsigned number = 0; number < count; number++, row += records[i].row_size)
            print_row(file, &records[i], row);
        for (unsigned number = 0; !strcmp(records[i].word, "gpu") && number < count; number++)
            print_health(file, &state->gpu[number]);
    }
}

static int compare(const unsigned *left, const unsigned *right, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static int by_bus(const void *left, const void *right)
{
    return compare(&((const struct gpu *)left)->domain, &((const struct gpu *)right)->domain, 3);
}

static int by_gi(const void *left, const void *right)
{
    return compare(left, right, 2); /* gpu, id */
}

static int by_ci(const void *left, const void *right)
{
    return compare(left, right, 3); /* gpu, gi, id */
}

/* NVML counts GPUs in the order of their bus ids and MIG devices in the order of their instance ids. */
void state_sort(struct state *state)
{
    qsort(state->gpu, state->gpus, sizeof *state->gpu, by_bus);
    qsort(state->gi, state->gis, sizeof *state->gi, by_gi);
    qsort(state->ci, state->cis, sizeof *state->ci, by_ci);
}
