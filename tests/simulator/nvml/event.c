/*
 * Events. They are lines of the file state.events, appended by this library and by simhw; a set sees those that came after
 * a GPU was registered with it:
 *
 *     gpu=0 type=8 data=79 gi=- ci=-
 */
#define _GNU_SOURCE
#include "call.h"
#include "text.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 20
#define LINE 160
#define ECC_TYPES 0x3ull
#define SUPPORTED 0x19full /* ECC errors, P-state, Xid, clock, power source, MIG configuration */

struct registration {
    unsigned gpu;
    u64 types;
    off_t from;
};

struct event_set {
    struct event_set *next;
    off_t position;
    unsigned count;
    struct registration registration[MAX_GPUS];
};

static struct event_set *sets;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int open_events(int flags)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.events", state_path());
    int fd = open(path, flags | O_CLOEXEC, 0666);
    if (fd >= 0 && flags & O_CREAT)
        fchmod(fd, 0666);
    return fd;
}

static off_t events_end(void)
{
    struct stat st;
    int fd = open_events(O_RDONLY);
    off_t end = fd >= 0 && !fstat(fd, &st) ? st.st_size : 0;
    if (fd >= 0)
        close(fd);
    return end;
}

void event_raise(const struct gpu *gpu, u64 type, u64 data)
{
    char line[LINE];
    int fd = open_events(O_WRONLY | O_APPEND | O_CREAT);
    int size = snprintf(line, sizeof line, "gpu=%u type=%llu data=%llu gi=- ci=-\n", gpu->minor, type, data);
    if (fd < 0 || write(fd, line, size) != size)
        fprintf(stderr, "libnvidia-ml (simulated): %s.events cannot be written\n", state_path());
    if (fd >= 0)
        close(fd);
}

/* The set when it is one, with the lock held. */
static struct event_set *find_set(const void *pointer)
{
    struct event_set *set = sets;
    pthread_mutex_lock(&mutex);
    for (set = sets; set && set != pointer; set = set->next)
        ;
    return set;
}

EXPORT nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    struct call c;
    if (!call_begin(&c, "nvmlEventSetCreate"))
        return c.code;
    struct event_set *made = calloc(1, sizeof *made);
    if (!made)
        return call_end(&c, NVML_ERROR_MEMORY);
    made->position = events_end();
    pthread_mutex_lock(&mutex);
    made->next = sets;
    sets = made;
    pthread_mutex_unlock(&mutex);
    *set = made;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t pointer)
{
    struct call c;
    if (!call_begin(&c, "nvmlEventSetFree"))
        return c.code;
    struct event_set *set = find_set(pointer), **link = &sets;
    while (set && *link != set)
        link = &(*link)->next;
    if (set)
        *link = set->next;
    pthread_mutex_unlock(&mutex);
    free(set);
    return call_end(&c, set ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT);
}

static u64 supported_types(const struct call *c)
{
    return c->gpu->model->ecc ? SUPPORTED : SUPPORTED & ~ECC_TYPES;
}

EXPORT nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, u64 *types)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceGetSupportedEventTypes", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    *types = supported_types(&c);
    return call_end(&c, NVML_SUCCESS);
}

static nvmlReturn_t add_registration(struct event_set *set, unsigned gpu, u64 types)
{
    for (unsigned i = 0; i < set->count; i++)
        if (set->registration[i].gpu == gpu) {
            set->registration[i].types |= types;
            return NVML_SUCCESS;
        }
    if (set->count == MAX_GPUS)
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    set->registration[set->count++] = (struct registration){gpu, types, events_end()};
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, u64 types, nvmlEventSet_t pointer)
{
    struct call c;
    if (!call_on(&c, "nvmlDeviceRegisterEvents", device, HANDLE_GPU | HANDLE_MIG))
        return c.code;
    if (types & ~supported_types(&c))
        return call_end(&c, types & ~SUPPORTED ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_SUPPORTED);
    struct event_set *set = find_set(pointer);
    nvmlReturn_t code = set ? add_registration(set, c.gpu->minor, types) : NVML_ERROR_INVALID_ARGUMENT;
    pthread_mutex_unlock(&mutex);
    return call_end(&c, code);
}

static int parse_event(char *line, unsigned *gpu, nvmlEventData_t *event)
{
    char *cursor = line;
    for (char *token; (token = next_token(&cursor));) {
        char *value = token_value(token);
        if (!value)
            return -1;
        if (!strcmp(token, "gpu"))
            *gpu = parse_number(value, 0);
        else if (!strcmp(token, "type"))
            event->eventType = parse_wide(value);
        else if (!strcmp(token, "data"))
            event->eventData = parse_wide(value);
        else if (!strcmp(token, "gi") && *value != '-')
            event->gpuInstanceId = parse_number(value, 0);
        else if (!strcmp(token, "ci") && *value != '-')
            event->computeInstanceId = parse_number(value, 0);
    }
    return 0;
}

static int is_wanted(const struct event_set *set, unsigned gpu, u64 type, off_t place)
{
    for (unsigned i = 0; i < set->count; i++)
        if (set->registration[i].gpu == gpu)
            return set->registration[i].types & type && place >= set->registration[i].from;
    return 0;
}

/* The next event of the set that has come: 1, else 0. */
static int take_event(struct event_set *set, nvmlEventData_t *event)
{
    char line[LINE];
    int fd = open_events(O_RDONLY), found = 0;
    FILE *file = fd < 0 ? 0 : fdopen(fd, "r");
    if (!file)
        return 0;
    fseeko(file, set->position, SEEK_SET);
    for (off_t place = set->position; !found && fgets(line, sizeof line, file) && strchr(line, '\n'); place = set->position) {
        unsigned gpu = 0;
        *event = (nvmlEventData_t){0, 0, 0, NVML_NO_INSTANCE, NVML_NO_INSTANCE};
        set->position = ftello(file);
        found = !parse_event(line, &gpu, event) && is_wanted(set, gpu, event->eventType, place);
        event->device = handle_of(HANDLE_GPU, gpu, 0, 0);
    }
    fclose(file);
    return found;
}

/* An event, a lost GPU of the set, or NVML_ERROR_TIMEOUT when there is nothing yet. */
static nvmlReturn_t look(const void *pointer, const struct state *state, nvmlEventData_t *event)
{
    struct event_set *set = find_set(pointer);
    nvmlReturn_t code = NVML_ERROR_TIMEOUT;
    if (!set)
        code = NVML_ERROR_INVALID_ARGUMENT;
    else if (take_event(set, event))
        code = NVML_SUCCESS;
    for (unsigned i = 0; code == NVML_ERROR_TIMEOUT && i < set->count; i++) {
        const struct gpu *gpu = gpu_by_minor((struct state *)state, set->registration[i].gpu);
        if (!gpu || gpu->lost)
            code = NVML_ERROR_GPU_IS_LOST;
    }
    pthread_mutex_unlock(&mutex);
    return code;
}

EXPORT nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *event, unsigned milliseconds)
{
    const struct timespec pause = {0, POLL_MS * 1000000};
    u64 end = uptime_ns() + milliseconds * 1000000ull;
    for (;;) {
        struct call c;
        if (!call_begin(&c, "nvmlEventSetWait"))
            return c.code;
        nvmlReturn_t code = look(set, c.state, event);
        call_end(&c, code);
        if (code != NVML_ERROR_TIMEOUT || uptime_ns() >= end)
            return code;
        nanosleep(&pause, 0);
    }
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *event, unsigned milliseconds) ALIAS(nvmlEventSetWait_v2);
