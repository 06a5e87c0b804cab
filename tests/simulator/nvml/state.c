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
    state_print(&current, file);
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
