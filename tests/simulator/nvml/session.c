/* Init and shutdown. An open session holds a shared lock, as a real client holds the device files open. */
#define _GNU_SOURCE
#include "call.h"
#include "text.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int sessions, clients = -1, held, nodes[MAX_GPUS + 1];

int session_is_open(void)
{
    return __atomic_load_n(&sessions, __ATOMIC_ACQUIRE) > 0;
}

int may_write(void)
{
    return geteuid() == 0 || state_is_overridden();
}

/* The version in the library's own file name, or "" where it has none (libnvidia-ml.so.1 as built). */
static void library_version(char *version, size_t size)
{
    Dl_info info;
    char path[PATH_MAX];
    const char *mark = ".so.";
    *version = 0;
    if (!dladdr((void *)library_version, &info) || !realpath(info.dli_fname, path))
        return;
    const char *start = strstr(strrchr(path, '/'), mark);
    if (start && strchr(start + strlen(mark), '.'))
        copy_text(version, size, start + strlen(mark));
}

static void lock_clients(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.clients", state_path());
    clients = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
    if (clients >= 0)
        flock(clients, LOCK_SH | LOCK_NB);
}

static void let_go(void)
{
    if (clients >= 0)
        close(clients);
    clients = -1;
    while (held)
        close(nodes[--held]);
}

int session_is_alone(void)
{
    if (clients < 0)
        return 1;
    int alone = !flock(clients, LOCK_EX | LOCK_NB);
    flock(clients, LOCK_SH | LOCK_NB);
    return alone;
}

static nvmlReturn_t check_driver(struct state *state)
{
    char version[64];
    if (!state->driver[0])
        return NVML_ERROR_DRIVER_NOT_LOADED;
    library_version(version, sizeof version);
    if (version[0] && strcmp(version, state->driver))
        return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
    nodes_make(state);
    capabilities_sync(state); /* a process may have been killed between the state and these files */
    return node_exists("nvidiactl") ? NVML_SUCCESS : NVML_ERROR_DRIVER_NOT_LOADED;
}

static nvmlReturn_t try_session(void)
{
    struct call call;
    if (access(state_path(), F_OK))
        return NVML_ERROR_DRIVER_NOT_LOADED;
    if (!call_begin(&call, "nvmlInit"))
        return call.code;
    nvmlReturn_t code = check_driver(call.state);
    if (!code && clients < 0) {
        lock_clients();
        held = nodes_hold(call.state, nodes);
    }
    return call_end(&call, code);
}

static nvmlReturn_t open_session(void)
{
    __atomic_add_fetch(&sessions, 1, __ATOMIC_ACQ_REL);
    nvmlReturn_t code = try_session();
    if (code)
        __atomic_sub_fetch(&sessions, 1, __ATOMIC_ACQ_REL);
    return code;
}

EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    pthread_mutex_lock(&mutex);
    nvmlReturn_t code = open_session();
    pthread_mutex_unlock(&mutex);
    return code;
}

EXPORT nvmlReturn_t nvmlInit_v2(void)
{
    return nvmlInitWithFlags(0);
}

nvmlReturn_t nvmlInit(void) ALIAS(nvmlInit_v2);

EXPORT nvmlReturn_t nvmlShutdown(void)
{
    pthread_mutex_lock(&mutex);
    nvmlReturn_t code = sessions ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    if (sessions && !__atomic_sub_fetch(&sessions, 1, __ATOMIC_ACQ_REL))
        let_go();
    pthread_mutex_unlock(&mutex);
    return code;
}

EXPORT const char *nvmlErrorString(nvmlReturn_t code)
{
    static const char *const texts[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions",
        "Already Initialized", "Not Found", "Insufficient Size", "Insufficient External Power", "Driver Not Loaded",
        "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found", "Function Not Found",
        "Corrupted infoROM", "GPU is lost", "GPU requires reset", "GPU access blocked by the operating system",
        "Driver/library version mismatch", "In use by another client", "Insufficient Memory", "No data",
        "The requested vgpu operation is not available on the target device because ECC is enabled",
        "Insufficient Resources", "The requested clock frequency is not supported", "Argument version mismatch",
        "Deprecated", "System Not Ready", "No GPUs were found", "Resource not in correct state",
        "Reset type not supported"};
    if (code < 0 || code >= (int)(sizeof texts / sizeof *texts))
        return "Unknown Error";
    return texts[code];
}

EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    struct call c;
    if (!call_begin(&c, "nvmlSystemGetDriverVersion"))
        return c.code;
    return call_end(&c, copy_text(version, length, c.state->driver) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

static int cuda_version(const char *driver)
{
    static const struct {
        int branch, cuda;
    } table[] = {{620, 13050}, {615, 13040}, {610, 13030}, {595, 13020}, {590, 13010}, {580, 13000}, {575, 12090}, {570, 12080}, {565, 12070},
                 {560, 12060}, {555, 12050}, {550, 12040}, {545, 12030}, {535, 12020}, {525, 12000}};
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        if (parse_number(driver, 0) >= table[i].branch)
            return table[i].cuda;
    return 11040;
}

/* "r570_00": the branch as the build of the driver calls it. */
EXPORT nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_v1_t *info, unsigned length)
{
    struct call c;
    if (info->version != STRUCT_VERSION(nvmlSystemDriverBranchInfo_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (!call_begin(&c, "nvmlSystemGetDriverBranch"))
        return c.code;
    char text[32];
    snprintf(text, sizeof text, "r%u_00", driver_branch(c.state));
    unsigned room = length < sizeof info->branch ? length : sizeof info->branch;
    return call_end(&c, copy_text(info->branch, room, text) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

/* None of these is there. */
#define NONE_OF(function)                          \
    EXPORT nvmlReturn_t function(unsigned *count)    \
    {                                              \
        struct call c;                             \
        if (!call_begin(&c, #function))            \
            return c.code;                         \
        *count = 0;                                \
        return call_end(&c, NVML_SUCCESS);         \
    }

NONE_OF(nvmlGetExcludedDeviceCount)
NONE_OF(nvmlUnitGetCount)

EXPORT nvmlReturn_t nvmlSystemGetHicVersion(unsigned *count, void *entries)
{
    struct call c;
    (void)entries;
    if (!call_begin(&c, "nvmlSystemGetHicVersion"))
        return c.code;
    *count = 0;
    return call_end(&c, NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
    struct call c;
    char text[64];
    if (!call_begin(&c, "nvmlSystemGetNVMLVersion"))
        return c.code;
    snprintf(text, sizeof text, "%d.%s", cuda_version(c.state->driver) / 1000, c.state->driver);
    return call_end(&c, copy_text(version, length, text) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    struct call c;
    if (!call_begin(&c, "nvmlSystemGetCudaDriverVersion"))
        return c.code;
    *version = cuda_version(c.state->driver);
    return call_end(&c, NVML_SUCCESS);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) ALIAS(nvmlSystemGetCudaDriverVersion_v2);
