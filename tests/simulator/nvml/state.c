#include "state.h"
#include "types.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct state current;
static int lock = -1;

const char *state_path(void)
{
    const char *path = getenv("GPU_FLEET_SIM_STATE");
    return path && *path ? path : "/var/lib/simhw/state";
}

int state_is_overridden(void)
{
    return getenv("GPU_FLEET_SIM_STATE") != 0;
}

static int open_beside(const char *suffix, int flags)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", state_path(), suffix);
    int fd = open(path, flags | O_CLOEXEC | O_CREAT, 0666);
    if (fd >= 0)
        fchmod(fd, 0666);
    return fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC);
}

static char *read_all(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    char *text = fstat(fd, &st) ? 0 : malloc(st.st_size + 1);
    ssize_t size = text ? read(fd, text, st.st_size) : -1;
    close(fd);
    if (size < 0) {
        free(text);
        return 0;
    }
    text[size] = 0;
    return text;
}

static int load(void)
{
    char *text = read_all(state_path());
    if (!text)
        return -1;
    int bad = state_parse(&current, text);
    free(text);
    if (bad)
        fprintf(stderr, "libnvidia-ml (simulated): %s: line %d cannot be read\n", state_path(), bad);
    return bad ? -1 : 0;
}

struct state *state_lock(void)
{
    pthread_mutex_lock(&mutex);
    lock = open_beside(".lock", O_RDWR);
    if (lock >= 0 && !flock(lock, LOCK_EX) && !load())
        return &current;
    state_unlock(0);
    return 0;
}

static const char *number(char *buffer, unsigned value)
{
    if (value == NVML_NO_INSTANCE)
        return "-";
    sprintf(buffer, "%u", value);
    return buffer;
}

static void write_gpus(FILE *file)
{
    for (const struct gpu *g = current.gpu; g < current.gpu + current.gpus; g++)
        fprintf(file,
                "gpu minor=%u model=%s uuid=%s serial=%s bus=%04x:%02x:%02x.0 mig=%u pending=%u persistence=%u "
                "client=%u passthrough=%u lost=%u\n",
                g->minor, g->model->key, g->uuid, g->serial, g->domain, g->bus, g->device, g->mig, g->pending,
                g->persistence, g->client, g->passthrough, g->lost);
}

static void write_records(FILE *file)
{
    char gi[16], ci[16];
    for (const struct gpu_instance *i = current.gi; i < current.gi + current.gis; i++)
        fprintf(file, "gi gpu=%u id=%u profile=%u start=%u\n", i->gpu, i->id, i->profile, i->start);
    for (const struct compute_instance *i = current.ci; i < current.ci + current.cis; i++)
        fprintf(file, "ci gpu=%u gi=%u id=%u profile=%u start=%u\n", i->gpu, i->gi, i->id, i->profile, i->start);
    for (const struct process *p = current.process; p < current.process + current.processes; p++)
        fprintf(file, "process gpu=%u pid=%u gi=%s ci=%s memory=%u name=%s\n", p->gpu, p->pid, number(gi, p->gi),
                number(ci, p->ci), p->memory_mib, p->name);
    for (const struct fault *f = current.fault; f < current.fault + current.faults; f++)
        fprintf(file, "fault %s %d skip=%d count=%d gpu=%d\n", f->function, f->code, f->skip, f->count, f->gpu);
}

static void save(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.new", state_path());
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "libnvidia-ml (simulated): %s cannot be written\n", path);
        return;
    }
    fchmod(fileno(file), 0666);
    if (current.driver[0])
        fprintf(file, "driver %s %s\n", current.driver, current.flavour);
    write_gpus(file);
    write_records(file);
    if (fclose(file) || rename(path, state_path()))
        fprintf(stderr, "libnvidia-ml (simulated): %s cannot be replaced\n", state_path());
}

void state_unlock(int changed)
{
    if (changed)
        save();
    if (lock >= 0)
        close(lock);
    lock = -1;
    pthread_mutex_unlock(&mutex);
}

void state_log(const char *line)
{
    char text[512];
    int fd = open_beside(".log", O_WRONLY | O_APPEND);
    if (fd < 0)
        return;
    int size = snprintf(text, sizeof text, "%ld %d %s\n", (long)time(0), (int)getpid(), line);
    if (write(fd, text, size) != size)
        fprintf(stderr, "libnvidia-ml (simulated): the write log cannot be written\n");
    close(fd);
}
