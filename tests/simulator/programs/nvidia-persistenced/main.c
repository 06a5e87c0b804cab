/*
 * Stand-in for nvidia-persistenced: persistence mode is on while it runs. It stays root, where the real one keeps a
 * capability, and holds a lock that stands for its open device files: a GPU reset and the removal of the module fail.
 */
#include "call.h"

#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#define FOLDER "/var/run/nvidia-persistenced"
#define PID_FILE FOLDER "/nvidia-persistenced.pid"

struct settings {
    const char *user;
    unsigned persistence;
};

static struct settings read_options(int count, char **words)
{
    static const struct option options[] = {{"user", required_argument, 0, 'u'},
                                            {"persistence-mode", no_argument, 0, 'p'},
                                            {"no-persistence-mode", no_argument, 0, 'n'},
                                            {"verbose", no_argument, 0, 'V'},
                                            {"uvm-persistence-mode", no_argument, 0, 'V'},
                                            {0, 0, 0, 0}};
    struct settings settings = {0, 1};
    for (int option; (option = getopt_long(count, words, "u:V", options, 0)) != -1;) {
        if (option == 'u')
            settings.user = optarg;
        if (option == 'n')
            settings.persistence = 0;
        if (option == '?')
            exit(1);
    }
    return settings;
}

static int set_all(unsigned mode)
{
    struct state *state = state_lock();
    int found = 0;
    if (!state)
        return 0;
    nodes_make(state);
    for (struct gpu *g = state->gpu; state->driver[0] && g < state->gpu + state->gpus; g++) {
        if (!gpu_is_visible(g))
            continue;
        g->persistence = mode;
        syslog(LOG_NOTICE, "device %04x:%02x:%02x.0 - persistence mode %s.", g->domain, g->bus, g->device,
               mode ? "enabled" : "disabled");
        found++;
    }
    state_unlock(found);
    return found;
}

static int fail(const char *reason)
{
    syslog(LOG_ERR, "%s", reason);
    syslog(LOG_NOTICE, "Shutdown (%d)", (int)getpid());
    fputs("nvidia-persistenced failed to initialize. Check syslog for more details.\n", stderr);
    return 1;
}

/* Keeps the device files open as a client does, and the lock that a reset looks at. */
static int hold(void)
{
    char path[4096];
    int nodes[MAX_GPUS + 1];
    struct state *state = state_lock();
    if (state) {
        nodes_hold(state, nodes);
        state_unlock(0);
    }
    snprintf(path, sizeof path, "%s.holders", state_path());
    int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
    return fd < 0 ? -1 : flock(fd, LOCK_SH);
}

static int write_pid_file(void)
{
    mkdir(FOLDER, 0755);
    FILE *file = fopen(PID_FILE, "w");
    if (!file)
        return -1;
    fprintf(file, "%d\n", (int)getpid());
    return fclose(file);
}

int main(int count, char **words)
{
    struct settings settings = read_options(count, words);
    sigset_t signals;
    int signal;
    openlog("nvidia-persistenced", 0, LOG_DAEMON);
    syslog(LOG_NOTICE, "Started (%d)", (int)getpid());
    if (settings.user && !getpwnam(settings.user))
        return fail("Failed to find the user given with --user.");
    if (!set_all(settings.persistence))
        return fail("Failed to query NVIDIA devices. Please ensure that the NVIDIA device files (/dev/nvidia*) exist, "
                    "and that user 0 has read and write permissions for those files.");
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, 0);
    if (daemon(0, 0) || hold() || write_pid_file())
        return fail("Failed to become a daemon.");
    sigwait(&signals, &signal);
    set_all(0);
    unlink(PID_FILE);
    syslog(LOG_NOTICE, "Shutdown (%d)", (int)getpid());
    return 0;
}
