/* One line of the state file is a record: a word, then key=value. */
#include "state.h"
#include "text.h"
#include "types.h"

#include <stdlib.h>
#include <string.h>

struct number_field {
    const char *key;
    unsigned *value;
};

static unsigned instance_number(const char *text)
{
    return strcmp(text, "-") ? (unsigned)parse_number(text, 0) : NVML_NO_INSTANCE;
}

/* Fills the fields named in the rest of the line. Returns -1 for a key that the record does not have. */
static int read_numbers(char *cursor, const struct number_field *fields)
{
    for (char *token; (token = next_token(&cursor));) {
        char *value = token_value(token);
        const struct number_field *field = fields;
        while (field->key && strcmp(field->key, token))
            field++;
        if (!value || !field->key)
            return -1;
        *field->value = instance_number(value);
    }
    return 0;
}

static int read_bus(struct gpu *gpu, const char *text)
{
    char *end;
    gpu->domain = parse_hex(text, &end);
    if (*end++ != ':')
        return -1;
    gpu->bus = parse_hex(end, &end);
    if (*end++ != ':')
        return -1;
    gpu->device = parse_hex(end, &end);
    return *end == '.' ? 0 : -1;
}

static int read_gpu_word(struct gpu *gpu, const char *key, const char *value)
{
    if (!strcmp(key, "model"))
        return (gpu->model = model_by_key(value)) ? 0 : -1;
    if (!strcmp(key, "uuid"))
        return copy_text(gpu->uuid, sizeof gpu->uuid, value);
    if (!strcmp(key, "serial"))
        return copy_text(gpu->serial, sizeof gpu->serial, value);
    if (!strcmp(key, "bus"))
        return read_bus(gpu, value);
    return 1;
}

static int read_gpu(struct state *state, char *cursor)
{
    struct gpu *gpu = &state->gpu[state->gpus];
    const struct number_field numbers[] = {
        {"minor", &gpu->minor},   {"mig", &gpu->mig},         {"pending", &gpu->pending}, {"persistence", &gpu->persistence},
        {"client", &gpu->client}, {"passthrough", &gpu->passthrough}, {"lost", &gpu->lost},       {0, 0}};
    if (state->gpus == MAX_GPUS)
        return -1;
    for (char *token; (token = next_token(&cursor));) {
        char *value = token_value(token), one[96];
        int done = value ? read_gpu_word(gpu, token, value) : -1;
        if (done < 0 || strlen(token) + strlen(value) + 2 > sizeof one)
            return -1;
        if (done == 0)
            continue;
        strcat(strcat(strcpy(one, token), "="), value);
        if (read_numbers(one, numbers))
            return -1;
    }
    state->gpus++;
    return gpu->model && gpu->uuid[0] ? 0 : -1;
}

static int read_gi(struct state *state, char *cursor)
{
    struct gpu_instance *gi = &state->gi[state->gis];
    const struct number_field fields[] = {
        {"gpu", &gi->gpu}, {"id", &gi->id}, {"profile", &gi->profile}, {"start", &gi->start}, {0, 0}};
    if (state->gis == MAX_INSTANCES || read_numbers(cursor, fields))
        return -1;
    state->gis++;
    return 0;
}

static int read_ci(struct state *state, char *cursor)
{
    struct compute_instance *ci = &state->ci[state->cis];
    const struct number_field fields[] = {{"gpu", &ci->gpu},         {"gi", &ci->gi},       {"id", &ci->id},
                                          {"profile", &ci->profile}, {"start", &ci->start}, {0, 0}};
    if (state->cis == MAX_INSTANCES || read_numbers(cursor, fields))
        return -1;
    state->cis++;
    return 0;
}

static int read_process(struct state *state, char *cursor)
{
    struct process *process = &state->process[state->processes];
    const struct number_field fields[] = {{"gpu", &process->gpu},           {"pid", &process->pid}, {"gi", &process->gi},
                                          {"ci", &process->ci}, {"memory", &process->memory_mib}, {0, 0}};
    if (state->processes == MAX_PROCESSES)
        return -1;
    process->gi = process->ci = NVML_NO_INSTANCE;
    char *name = strstr(cursor, "name=");
    if (name) {
        if (copy_text(process->name, sizeof process->name, name + 5))
            return -1;
        process->name[strcspn(process->name, " \t\r\n")] = 0;
        *name = 0;
    }
    if (read_numbers(cursor, fields))
        return -1;
    state->processes++;
    return 0;
}

static int read_fault(struct state *state, char *cursor)
{
    struct fault *fault = &state->fault[state->faults];
    const struct number_field fields[] = {{"skip", (unsigned *)&fault->skip},
                                          {"count", (unsigned *)&fault->count},
                                          {"gpu", (unsigned *)&fault->gpu},
                                          {0, 0}};
    char *function = next_token(&cursor), *code = next_token(&cursor);
    if (state->faults == MAX_FAULTS || !function || !code)
        return -1;
    fault->code = parse_number(code, 0);
    fault->count = fault->gpu = -1;
    if (copy_text(fault->function, sizeof fault->function, function) || read_numbers(cursor, fields))
        return -1;
    state->faults++;
    return 0;
}

static int read_driver(struct state *state, char *cursor)
{
    char *version = next_token(&cursor), *flavour = next_token(&cursor);
    if (!version || !flavour || copy_text(state->driver, sizeof state->driver, version))
        return -1;
    return copy_text(state->flavour, sizeof state->flavour, flavour);
}

static int read_line(struct state *state, char *line)
{
    static const struct {
        const char *word;
        int (*read)(struct state *, char *);
    } records[] = {{"driver", read_driver}, {"gpu", read_gpu}, {"gi", read_gi}, {"ci", read_ci},
                   {"process", read_process}, {"fault", read_fault}};
    char *cursor = line, *word = next_token(&cursor);
    if (!word || *word == '#')
        return 0;
    for (unsigned i = 0; i < sizeof records / sizeof *records; i++)
        if (!strcmp(records[i].word, word))
            return records[i].read(state, cursor);
    return -1;
}

int state_parse(struct state *state, char *text)
{
    memset(state, 0, sizeof *state);
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

static int by_bus(const void *left, const void *right)
{
    const struct gpu *a = left, *b = right;
    if (a->domain != b->domain)
        return a->domain < b->domain ? -1 : 1;
    if (a->bus != b->bus)
        return a->bus < b->bus ? -1 : 1;
    return a->device < b->device ? -1 : a->device > b->device;
}

static int by_gi(const void *left, const void *right)
{
    const struct gpu_instance *a = left, *b = right;
    if (a->gpu != b->gpu)
        return a->gpu < b->gpu ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int by_ci(const void *left, const void *right)
{
    const struct compute_instance *a = left, *b = right;
    if (a->gpu != b->gpu)
        return a->gpu < b->gpu ? -1 : 1;
    if (a->gi != b->gi)
        return a->gi < b->gi ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* NVML counts GPUs in the order of their bus ids and MIG devices in the order of their instance ids. */
void state_sort(struct state *state)
{
    qsort(state->gpu, state->gpus, sizeof *state->gpu, by_bus);
    qsort(state->gi, state->gis, sizeof *state->gi, by_gi);
    qsort(state->ci, state->cis, sizeof *state->ci, by_ci);
}
