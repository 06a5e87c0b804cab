/* What changes a GPU: reset, persistence, ECC, compute, power and MIG mode. */
#include "smi.h"

#include "nodes.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAEMON "/var/run/nvidia-persistenced/nvidia-persistenced.pid"

static int end_early(nvmlReturn_t code)
{
    puts("Terminating early due to previous errors.");
    return exit_code(code);
}

static int end_well(void)
{
    puts("All done.");
    return 0;
}

static void go_on(void)
{
    puts("Treating as warning and moving on.");
}

/* A mode by its number or its name, in any case; -1: neither. */
static int parse_mode(const char *text, const char *const *names, unsigned count)
{
    char *end;
    long number = parse_number(text, &end);
    if (*text && !*end && number >= 0 && number < (long)count)
        return number;
    for (unsigned i = 0; i < count; i++)
        if (names[i] && !strcasecmp(text, names[i]))
            return i;
    return -1;
}

static int parse_switch(const char *text)
{
    static const char *const names[] = {"DISABLED", "ENABLED"};
    return parse_mode(text, names, 2);
}

static int bad_value(void)
{
    return complain("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.");
}

static void warn_of_persistence(nvmlDevice_t gpu, const char *bus)
{
    unsigned on = 0;
    if (!nvml.DeviceGetPersistenceMode(gpu, &on) && !on)
        printf("\nWarning: persistence mode is disabled on device %s. See the Known Issues section of the "
               "nvidia-smi(1) man page for more information. Run with [--help | -h] switch to get more information on "
               "how to enable persistence mode.\n",
               bus);
}

static void explain_use(unsigned failed)
{
    printf(
        "\n%u %s currently being used by one or more other processes (e.g., Fabric Manager, CUDA application, graphics "
        "application such as an X server, or a monitoring application such as another instance of nvidia-smi). Please "
        "first kill all processes using %s and all compute applications running in the system.\n",
        failed, failed == 1 ? "device is" : "devices are", failed == 1 ? "this device" : "these devices");
}

int smi_reset(const struct request *request, const struct selection *gpus)
{
    nvmlReturn_t worst = NVML_SUCCESS;
    unsigned failed = 0, used = 0;
    char bus[32];
    if (request->value && strcmp(request->value, "bus"))
        return bad_value();
    for (unsigned i = 0; i < gpus->count; i++) {
        bus_of(gpus->gpu[i], bus);
        nvmlReturn_t code = nvml.Reset(gpus->gpu[i]);
        if (!code) {
            printf("GPU %s was successfully reset.\n", bus);
            continue;
        }
        const char *words = code == NVML_ERROR_NOT_SUPPORTED ? "Not Supported" : reason(code);
        printf("%s  GPU %s: %s\n", failed++ ? "" : "The following GPUs could not be reset:\n", bus, words);
        used += code == NVML_ERROR_IN_USE;
        worst = code == NVML_ERROR_NO_PERMISSION ? code : NVML_ERROR_UNKNOWN;
    }
    if (used)
        explain_use(used);
    return failed ? exit_code(worst) : end_well();
}

/* The legacy mode is the driver's own, without the daemon. */
static void say_persistence(unsigned mode, const char *bus)
{
    char daemon[NODE_PATH];
    node_rooted(daemon, DAEMON);
    int legacy = mode && since(R580) && access(daemon, F_OK);
    printf("%s %spersistence mode for GPU %s.\n", mode ? "Enabled" : "Disabled", legacy ? "Legacy " : "", bus);
}

int smi_persistence(const struct request *request, const struct selection *gpus)
{
    char bus[32];
    int mode = parse_switch(request->value);
    if (mode < 0)
        return bad_value();
    for (unsigned i = 0; i < gpus->count; i++) {
        unsigned now = 2;
        bus_of(gpus->gpu[i], bus);
        if (!nvml.DeviceGetPersistenceMode(gpus->gpu[i], &now) && now == (unsigned)mode) {
            printf("Persistence mode is already %s for GPU %s.\n", mode ? "Enabled" : "Disabled", bus);
            continue;
        }
        nvmlReturn_t code = nvml.DeviceSetPersistenceMode(gpus->gpu[i], mode);
        if (code) {
            printf("Unable to set persistence mode for GPU %s: %s\n", bus, nvml.ErrorString(code));
            return end_early(code);
        }
        say_persistence(mode, bus);
    }
    return end_well();
}

int smi_ecc(const struct request *request, const struct selection *gpus)
{
    char bus[32];
    int mode = parse_switch(request->value), changed = 0;
    if (mode < 0)
        return bad_value();
    for (unsigned i = 0; i < gpus->count; i++) {
        unsigned now = 2, pending = 2;
        bus_of(gpus->gpu[i], bus);
        if (!nvml.DeviceGetEccMode(gpus->gpu[i], &now, &pending) && pending == (unsigned)mode) {
            printf("ECC support is already %s for GPU %s.\n", mode ? "Enabled" : "Disabled", bus);
            continue;
        }
        nvmlReturn_t code = nvml.DeviceSetEccMode(gpus->gpu[i], mode);
        if (code == NVML_ERROR_NOT_SUPPORTED) {
            printf("Changing ECC support is not supported for GPU: %s.\n", bus);
            go_on();
        } else if (code) {
            printf("Unable to set ECC support for GPU %s: %s\n", bus, nvml.ErrorString(code));
            return end_early(code);
        } else {
            printf("%s ECC support for GPU %s.\n", mode ? "Enabled" : "Disabled", bus);
            changed = 1;
        }
    }
    end_well();
    if (changed)
        puts("Reboot required.");
    return 0;
}

int smi_clear_ecc(const struct request *request, const struct selection *gpus)
{
    static const char *const names[] = {"VOLATILE", "AGGREGATE"};
    char bus[32];
    int counter = parse_mode(request->value, names, COUNT(names));
    if (counter < 0)
        return bad_value();
    for (unsigned i = 0; i < gpus->count; i++) {
        bus_of(gpus->gpu[i], bus);
        nvmlReturn_t code = nvml.DeviceClearEccErrorCounts(gpus->gpu[i], counter);
        if (code) {
            printf("Unable to reset %s ECC errors for GPU %s: %s\n", counter ? "aggregate" : "volatile", bus,
                   nvml.ErrorString(code));
            return end_early(code);
        }
        printf("Reset %s ECC errors to zero for GPU %s.\n", counter ? "aggregate" : "volatile", bus);
    }
    return end_well();
}

int smi_compute_mode(const struct request *request, const struct selection *gpus)
{
    static const char *const names[] = {"DEFAULT", "EXCLUSIVE_THREAD", "PROHIBITED", "EXCLUSIVE_PROCESS"};
    char bus[32];
    int mode = parse_mode(request->value, names, COUNT(names));
    if (mode < 0)
        return bad_value();
    for (unsigned i = 0; i < gpus->count; i++) {
        unsigned now = 99;
        bus_of(gpus->gpu[i], bus);
        if (!nvml.DeviceGetComputeMode(gpus->gpu[i], &now) && now == (unsigned)mode) {
            printf("Compute mode is already set to %s for GPU %s.\n", names[mode], bus);
            continue;
        }
        nvmlReturn_t code = nvml.DeviceSetComputeMode(gpus->gpu[i], mode);
        if (code == NVML_ERROR_NOT_SUPPORTED) {
            printf("Setting compute mode to %s is not supported for GPU: %s.\n", names[mode], bus);
            go_on();
        } else if (code) {
            printf("Unable to set the compute mode for GPU %s: %s\n", bus, nvml.ErrorString(code));
            return end_early(code);
        } else
            printf("Set compute mode to %s for GPU %s.\n", names[mode], bus);
    }
    return end_well();
}

/* 0: go on with the next GPU, else the exit code with its text printed. */
static int limit_power(nvmlDevice_t gpu, unsigned milliwatts)
{
    unsigned low = 0, high = 0, before = 0;
    char bus[32];
    bus_of(gpu, bus);
    nvmlReturn_t code = nvml.DeviceGetPowerManagementLimitConstraints(gpu, &low, &high);
    if (!code && (milliwatts < low || milliwatts > high)) {
        printf("Provided power limit %.2f W is not a valid power limit which should be between %.2f W and %.2f W for "
               "GPU %s\n",
               milliwatts / 1e3, low / 1e3, high / 1e3, bus);
        return end_early(NVML_ERROR_INVALID_ARGUMENT);
    }
    nvml.DeviceGetPowerManagementLimit(gpu, &before);
    code = code ? code : nvml.DeviceSetPowerManagementLimit(gpu, milliwatts);
    if (code == NVML_ERROR_NOT_SUPPORTED) {
        printf("Changing power management limit is not supported in current scope for GPU: %s.\n", bus);
        go_on();
    } else if (code) {
        printf("Failed to set power management limit for GPU %s: %s\n", bus, nvml.ErrorString(code));
        return end_early(code);
    } else {
        printf("Power limit for GPU %s was set to %.2f W from %.2f W.\n", bus, milliwatts / 1e3, before / 1e3);
        warn_of_persistence(gpu, bus);
    }
    return 0;
}

int smi_power_limit(const struct request *request, const struct selection *gpus)
{
    char *end;
    double watts = strtod(request->value, &end);
    if (*end || end == request->value || watts < 0)
        return bad_value();
    for (unsigned i = 0; i < gpus->count; i++) {
        int failed = limit_power(gpus->gpu[i], watts * 1000 + 0.5);
        if (failed)
            return failed;
    }
    return end_well();
}

/* The mode is set, and takes effect later. */
static void explain_pending(unsigned mode, const char *bus, nvmlReturn_t status)
{
    printf("Warning: MIG mode is in pending %s state for GPU %s:%s\n", mode ? "enable" : "disable", bus,
           nvml.ErrorString(status));
    if (status == NVML_ERROR_IN_USE)
        printf(
            "%s is currently being used by one or more other processes (e.g. CUDA application or a monitoring "
            "application "
            "such as another instance of nvidia-smi). Please first kill all processes using the device and retry the "
            "command or reboot the system to make MIG mode effective.\n",
            bus);
    else
        printf("Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU %s\n", bus);
}

int smi_mig_mode(const struct request *request, const struct selection *gpus)
{
    char bus[32];
    int mode = parse_switch(request->value), warnings = 0;
    if (mode < 0)
        return bad_value();
    for (unsigned i = 0; i < gpus->count; i++) {
        nvmlReturn_t status = NVML_SUCCESS, code = nvml.DeviceSetMigMode(gpus->gpu[i], mode, &status);
        bus_of(gpus->gpu[i], bus);
        if (code)
            printf("Unable to %s MIG Mode for GPU %s: %s\n", mode ? "enable" : "disable", bus, nvml.ErrorString(code));
        if (code && code != NVML_ERROR_NOT_SUPPORTED)
            return end_early(code);
        warnings += code || status;
        if (code)
            go_on();
        else if (status)
            explain_pending(mode, bus, status);
        else {
            printf("%s MIG Mode for GPU %s\n", mode ? "Enabled" : "Disabled", bus);
            warn_of_persistence(gpus->gpu[i], bus);
        }
    }
    end_well();
    return warnings && request->strict ? EXIT_OTHER : 0;
}
