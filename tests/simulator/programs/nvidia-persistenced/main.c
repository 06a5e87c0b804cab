/*
 * Stand-in for nvidia-persistenced: persistence mode is on while it runs. It stays root, where the real one becomes
 * --user, and holds a lock that stands for its open device files: a GPU reset and the removal of the module fail.
 * Nobody answers on its socket, which is there because containers get it.
 */
#define _GNU_SOURCE
#include "call.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#define FOLDER "/var/run/nvidia-persistenced"
#define PID_FILE FOLDER "/nvidia-persistenced.pid"
#define SOCKET FOLDER "/socket"
#define LIBRARY "libnvidia-cfg.so.1"
#define PATH 4096

struct settings {
    unsigned persistence, verbose;
    uid_t uid;
    gid_t gid;
    const char *library_folder;
};

/* What the daemon has made and takes away again; -1 or 0: not yet. */
struct runtime {
    int folder, pid_file, socket;
};

/* Below GPU_FLEET_SIM_ROOT when it is set. */
static const char *rooted(char *path, const char *name)
{
    const char *root = getenv("GPU_FLEET_SIM_ROOT");
    snprintf(path, PATH, "%s%s", root ? root : "", name);
    return path;
}

static void give_up(int status, const char *text, const char *word, const char *reason)
{
    fprintf(stderr, "\nERROR: ");
    fprintf(stderr, text, word, reason);
    fprintf(stderr, "\n\n");
    exit(status);
}

static void set_user(struct settings *settings, const char *name, int has_group)
{
    struct passwd *user = getpwnam(name);
    if (!user)
        give_up(1, "Failed to find user ID of user '%s': %s", name, strerror(errno));
    settings->uid = user->pw_uid;
    if (!has_group)
        settings->gid = user->pw_gid;
}

static void set_group(struct settings *settings, const char *name)
{
    struct group *group = getgrnam(name);
    if (!group)
        give_up(1, "Failed to find group ID of group '%s': %s", name, strerror(errno));
    settings->gid = group->gr_gid;
}

static void print_help(void)
{
    puts("\nnvidia-persistenced (simulated): keeps the driver's state while no client is there.\n\n"
         "nvidia-persistenced [options]\n\n"
         "  -v, --version\n"
         "  -h, --help\n"
         "  -V, --verbose                  notices of each device in the log\n"
         "  -u, --user=USERNAME            owner of /var/run/nvidia-persistenced\n"
         "  -g, --group=GROUPNAME          its group; by default the user's\n"
         "  --[no-]persistence-mode        of all devices at the start; by default on\n"
         "  --[no-]uvm-persistence-mode    accepted, changes nothing here\n"
         "  --nvidia-cfg-path=PATH         folder of libnvidia-cfg.so.1\n");
}

enum { MODE_ON = 256, MODE_OFF, UVM_MODE, LIBRARY_FOLDER };

static const struct option options[] = {{"version", no_argument, 0, 'v'},
                                        {"help", no_argument, 0, 'h'},
                                        {"verbose", no_argument, 0, 'V'},
                                        {"user", required_argument, 0, 'u'},
                                        {"group", required_argument, 0, 'g'},
                                        {"persistence-mode", no_argument, 0, MODE_ON},
                                        {"no-persistence-mode", no_argument, 0, MODE_OFF},
                                        {"uvm-persistence-mode", no_argument, 0, UVM_MODE},
                                        {"no-uvm-persistence-mode", no_argument, 0, UVM_MODE},
                                        {"nvidia-cfg-path", required_argument, 0, LIBRARY_FOLDER},
                                        {0, 0, 0, 0}};

/* A wrong command line ends with status 0, as the real one does. */
static struct settings read_options(int count, char **words)
{
    struct settings settings = {1, 0, getuid(), getgid(), 0};
    int has_group = 0;
    opterr = 0;
    for (int option; (option = getopt_long(count, words, "vhVu:g:", options, 0)) != -1;)
        switch (option) {
        case 'v':
            puts("\nnvidia-persistenced (simulated)\n");
            exit(0);
        case 'h':
            print_help();
            exit(0);
        case 'V':
            settings.verbose = 1;
            break;
        case 'u':
            set_user(&settings, optarg, has_group);
            break;
        case 'g':
            set_group(&settings, optarg);
            has_group = 1;
            break;
        case MODE_ON:
        case MODE_OFF:
            settings.persistence = option == MODE_ON;
            break;
        case UVM_MODE:
            break;
        case LIBRARY_FOLDER:
            settings.library_folder = optarg;
            break;
        default:
            give_up(0, "Invalid commandline, please run `%s --help` for usage information.", words[0], "");
        }
    return settings;
}

static int open_library(const struct settings *settings)
{
    char path[PATH];
    const char *folder = settings->library_folder;
    snprintf(path, sizeof path, "%s%s%s", folder ? folder : "", folder ? "/" : "", LIBRARY);
    if (dlopen(path, RTLD_NOW))
        return 0;
    syslog(LOG_ERR, "Failed to open %s: %s", LIBRARY, dlerror());
    return -1;
}

static void say_of(const struct gpu *gpu, int level, const char *text)
{
    syslog(level, "device %04x:%02x:%02x.0 - %s", gpu->domain, gpu->bus, gpu->device, text);
}

/* The number of GPUs, or -1: the driver cannot be asked. A GPU that is lost cannot be opened. */
static int set_all(unsigned mode)
{
    struct gpu *gpu;
    int found = 0, changed = 0;
    struct state *state = state_lock();
    if (!state)
        return -1;
    nodes_make(state);
    int answers = state->driver[0] && node_exists("nvidiactl");
    for (; answers && (gpu = gpu_by_index(state, found)); found++) {
        if (gpu->lost && mode) {
            say_of(gpu, LOG_ERR, "failed to open.");
            continue;
        }
        gpu->persistence = mode;
        changed = 1;
        say_of(gpu, LOG_INFO, mode ? "persistence mode enabled." : "persistence mode disabled.");
    }
    state_unlock(changed);
    return answers ? found : -1;
}

static int register_all(const struct settings *settings)
{
    int found = set_all(settings->persistence);
    if (found > 0)
        return 0;
    if (found < 0)
        syslog(LOG_ERR,
               "Failed to query NVIDIA devices. Please ensure that the NVIDIA device files (/dev/nvidia*) exist, and "
               "that user %u has read and write permissions for those files.",
               (unsigned)settings->uid);
    else
        syslog(LOG_ERR, "Unable to find any NVIDIA devices");
    return -1;
}

/* Keeps the device files open as a client does, and the lock that a reset looks at. */
static int hold(void)
{
    char path[PATH];
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

static int fail_with(const char *what)
{
    syslog(LOG_ERR, "%s: %s", what, strerror(errno));
    return -1;
}

static int make_folder(const struct settings *settings, struct runtime *runtime)
{
    char path[PATH];
    rooted(path, FOLDER);
    runtime->folder = !mkdir(path, 0755);
    if (chown(path, settings->uid, settings->gid))
        return fail_with("Failed to change ownership of " FOLDER);
    return 0;
}

/* The lock on it keeps a second daemon away. */
static int make_pid_file(struct runtime *runtime)
{
    char path[PATH];
    int fd = open(rooted(path, PID_FILE), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail_with("Failed to open PID file");
    if (lockf(fd, F_TLOCK, 0)) {
        close(fd);
        return fail_with("Failed to lock PID file");
    }
    runtime->pid_file = fd;
    if (ftruncate(fd, 0) || dprintf(fd, "%d\n", (int)getpid()) < 0)
        return fail_with("Failed to update PID file");
    return 0;
}

/* Bound in its folder: an address has room for 107 letters. */
static int make_socket(struct runtime *runtime)
{
    char path[PATH];
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    unlink(rooted(path, SOCKET));
    runtime->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (runtime->socket < 0)
        return fail_with("Failed to create socket");
    if (chdir(rooted(path, FOLDER)) || bind(runtime->socket, (struct sockaddr *)&address, sizeof address) ||
        listen(runtime->socket, 8) || chdir("/"))
        return fail_with("Failed to create RPC service");
    return 0;
}

/* With the files that it has made itself. */
static void shut_down(const struct runtime *runtime)
{
    char path[PATH];
    if (runtime->socket >= 0)
        unlink(rooted(path, SOCKET));
    if (runtime->pid_file >= 0) {
        set_all(0);
        unlink(rooted(path, PID_FILE));
    }
    if (runtime->folder)
        rmdir(rooted(path, FOLDER));
    syslog(LOG_NOTICE, "Shutdown (%d)", (int)getpid());
}

static int start(const struct settings *settings, struct runtime *runtime)
{
    if (make_folder(settings, runtime) || make_pid_file(runtime))
        return -1;
    syslog(LOG_NOTICE, "Started (%d)", (int)getpid());
    return open_library(settings) || register_all(settings) || hold() || make_socket(runtime) ? -1 : 0;
}

/* The child: `ready` is where the parent waits for the word that all went well. */
static int serve(const struct settings *settings, int ready)
{
    struct runtime runtime = {0, -1, -1};
    sigset_t signals;
    int signal, null = open("/dev/null", O_RDWR);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, 0);
    setsid();
    umask(0);
    for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    openlog("nvidia-persistenced", 0, LOG_DAEMON);
    setlogmask(LOG_UPTO(settings->verbose ? LOG_DEBUG : LOG_NOTICE));
    int failed = start(settings, &runtime) || write(ready, "", 1) != 1;
    close(ready);
    if (!failed)
        sigwait(&signals, &signal);
    shut_down(&runtime);
    return failed;
}

int main(int count, char **words)
{
    struct settings settings = read_options(count, words);
    char word;
    int ends[2];
    if (pipe(ends))
        give_up(1, "Failed to create init pipe: %s%s", strerror(errno), "");
    pid_t pid = fork();
    if (pid < 0)
        give_up(1, "Failed to fork() daemon: %s%s", strerror(errno), "");
    if (!pid) {
        close(ends[0]);
        return serve(&settings, ends[1]);
    }
    close(ends[1]);
    if (read(ends[0], &word, 1) == 1)
        return 0;
    fputs("nvidia-persistenced failed to initialize. Check syslog for more details.\n", stderr);
    return 1;
}
