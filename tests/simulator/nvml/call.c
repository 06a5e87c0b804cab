#include "call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int fault_matches(const struct fault *fault, const char *function, const struct gpu *gpu)
{
    if (strcmp(fault->function, function) || !fault->count)
        return 0;
    return fault->gpu < 0 || (gpu && gpu->minor == (unsigned)fault->gpu);
}

/* The first matching fault counts: calls to skip first, then calls to fail (-1: all). *delay is what it waits in ms. */
static nvmlReturn_t take_fault(struct call *call, const char *function, int *delay)
{
    for (struct fault *f = call->state->fault; f < call->state->fault + call->state->faults; f++) {
        if (!fault_matches(f, function, call->gpu))
            continue;
        if (f->skip > 0) {
            f->skip--;
            call->changed = 1;
            return NVML_SUCCESS;
        }
        if (f->count > 0) {
            f->count--;
            call->changed = 1;
        }
        *delay = f->delay;
        return f->code;
    }
    return NVML_SUCCESS;
}

static int refuse(struct call *call, nvmlReturn_t code)
{
    call_end(call, code);
    return 0;
}

/* A slow or hanging call holds nobody else up: the state is free meanwhile, and read anew. */
static int pause_call(struct call *call, int milliseconds)
{
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000l};
    state_unlock(call->changed);
    call->changed = 0;
    nanosleep(&pause, 0);
    call->state = state_lock();
    return call->state != 0;
}

static int open_state(struct call *call)
{
    memset(call, 0, sizeof *call);
    call->code = NVML_ERROR_UNKNOWN;
    call->state = state_lock();
    return call->state != 0;
}

int call_begin(struct call *call, const char *function)
{
    if (!open_state(call))
        return 0;
    int delay = 0;
    nvmlReturn_t code = take_fault(call, function, &delay);
    if (delay && !pause_call(call, delay))
        return 0;
    if (code)
        return refuse(call, code);
    if (!session_is_open())
        return refuse(call, NVML_ERROR_UNINITIALIZED);
    return 1;
}

static int resolve(struct call *call, const void *pointer, unsigned kinds)
{
    const struct handle *h = call->handle = handle_check(pointer);
    call->gpu = 0;
    call->gi = 0;
    call->ci = 0;
    if (!h || !(h->kind & kinds))
        return -1;
    call->gpu = gpu_by_minor(call->state, h->gpu);
    if (!call->gpu)
        return -1;
    if (h->kind != HANDLE_GPU && !(call->gi = gi_find(call->state, h->gpu, h->gi)))
        return -1;
    if (h->kind & (HANDLE_MIG | HANDLE_CI) && !(call->ci = ci_find(call->state, h->gpu, h->gi, h->ci)))
        return -1;
    return 0;
}

int call_on(struct call *call, const char *function, const void *handle, unsigned kinds)
{
    if (!open_state(call))
        return 0;
    int delay = 0, bad = resolve(call, handle, kinds);
    nvmlReturn_t code = take_fault(call, function, &delay);
    if (delay) {
        if (!pause_call(call, delay))
            return 0;
        bad = resolve(call, handle, kinds);
    }
    if (!session_is_open())
        return refuse(call, NVML_ERROR_UNINITIALIZED);
    if (code || bad)
        return refuse(call, code ? code : NVML_ERROR_INVALID_ARGUMENT);
    if (call->gpu->lost)
        return refuse(call, NVML_ERROR_GPU_IS_LOST);
    return 1;
}

nvmlReturn_t call_end(struct call *call, nvmlReturn_t code)
{
    state_unlock(call->changed);
    return call->code = code;
}

void call_log(const char *format, ...)
{
    char line[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    state_log(line);
}

void call_change(struct call *call)
{
    state_sort(call->state);
    capabilities_sync(call->state);
    call->changed = 1;
}
