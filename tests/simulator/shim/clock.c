/*
 * A clock that is wrong: programs see the machine's time plus the seconds in /run/simhw/clock. Setting the clock changes
 * that file, never the machine's own clock, which all hosts share.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define OFFSET "/run/simhw/clock"
#define PLUGGED_IN "/run/simhw/osrelease"
#define LOOK_AGAIN 200000000L /* ns: one system call in so long, since some programs ask for the time all the time */

static int real_clock(clockid_t clock, struct timespec *now)
{
    REAL(clock_gettime);
    return real(clock, now);
}

static long read_offset(void)
{
    char text[32];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, OFFSET, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t size = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    text[size > 0 ? size : 0] = 0;
    return strtol(text, 0, 10);
}

static long offset(void)
{
    static long kept, looked;
    struct timespec now;
    int before = errno;
    real_clock(CLOCK_MONOTONIC_COARSE, &now);
    long at = now.tv_sec * 1000000000L + now.tv_nsec;
    if (!__atomic_load_n(&looked, __ATOMIC_RELAXED) || at - __atomic_load_n(&looked, __ATOMIC_RELAXED) > LOOK_AGAIN) {
        __atomic_store_n(&kept, read_offset(), __ATOMIC_RELAXED);
        __atomic_store_n(&looked, at, __ATOMIC_RELAXED);
    }
    errno = before;
    return __atomic_load_n(&kept, __ATOMIC_RELAXED);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = real_clock(clock, now);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI))
        now->tv_sec += offset();
    return result;
}

EXPORT int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact))
        return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

EXPORT time_t time(time_t *result)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now))
        return -1;
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}

EXPORT int timespec_get(struct timespec *now, int base)
{
    return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, now) ? base : 0;
}

/* Rounds to whole seconds, as far as the clock is off. */
static int set(const struct timespec *wanted)
{
    struct timespec now;
    char text[32];
    if (geteuid()) {
        errno = EPERM;
        return -1;
    }
    if (access(PLUGGED_IN, F_OK)) /* before the hardware is there */
        return 0;
    real_clock(CLOCK_REALTIME, &now);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, OFFSET, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    int size = snprintf(text, sizeof text, "%ld\n", (long)(wanted->tv_sec - now.tv_sec));
    int failed = syscall(SYS_write, fd, text, size) != size;
    syscall(SYS_close, fd);
    return failed ? -1 : 0;
}

EXPORT int clock_settime(clockid_t clock, const struct timespec *wanted)
{
    if (clock == CLOCK_REALTIME)
        return set(wanted);
    errno = EINVAL;
    return -1;
}

EXPORT int settimeofday(const struct timeval *wanted, const struct timezone *zone)
{
    (void)zone;
    struct timespec exact = {wanted ? wanted->tv_sec : 0, 0};
    return wanted ? set(&exact) : 0;
}
