/*
 * The kernel log of the host: what the simulator has written (kernel_log.py), not that of the machine, which nspawn would
 * let through. dmesg finds no /dev/kmsg to read and asks klogctl; the journal opens it for reading and writing, and gets
 * the pipe that the simulator writes to.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"
#include "kernel_log.h"

#define RECORDS "/run/simhw/kmsg"
#define PIPE "/run/simhw/kmsg.pipe"
#define CLEARED "/run/simhw/kmsg.cleared" /* number of the first record that dmesg still shows */

enum { READ_ALL = 3, READ_CLEAR = 4, CLEAR = 5, SIZE_UNREAD = 9, SIZE_BUFFER = 10 };

const char *kernel_log_shown(const char *path, int flags)
{
    if (!path || strcmp(path, "/dev/kmsg") || syscall(SYS_faccessat, AT_FDCWD, RECORDS, F_OK))
        return path;
    switch (flags & O_ACCMODE) {
    case O_RDWR:
        return PIPE;
    case O_RDONLY:
        return "/run/simhw/no-kmsg"; /* is not there */
    default:
        return path;
    }
}

static long first_shown(void)
{
    long number = 0;
    FILE *file = fopen(CLEARED, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%ld", &number) != 1)
        number = 0;
    fclose(file);
    return number;
}

static int clear(long next)
{
    FILE *file = fopen(CLEARED, "we");
    if (!file)
        return -1;
    fprintf(file, "%ld\n", next);
    return fclose(file);
}

/* The last `room` bytes of all records, as syslog(2) gives them; `*next` is the number after the last record. */
static char *all(size_t *size, long *next)
{
    char *text = 0, *line = 0;
    size_t length = 0;
    long shown = first_shown(), number;
    FILE *out = open_memstream(&text, size), *file = fopen(RECORDS, "re");
    *next = shown;
    while (out && file && getline(&line, &length, file) > 0) {
        int level;
        unsigned long long when;
        char *rest = strchr(line, ';');
        if (!rest || sscanf(line, "%d,%ld,%llu", &level, &number, &when) != 3)
            continue;
        *next = number + 1;
        if (number >= shown)
            fprintf(out, "<%d>[%5llu.%06llu] %s", level, when / 1000000, when % 1000000, rest + 1);
    }
    free(line);
    if (file)
        fclose(file);
    if (out)
        fclose(out);
    return text;
}

EXPORT int klogctl(int type, char *buffer, int room)
{
    REAL(klogctl);
    size_t size;
    long next;
    if (syscall(SYS_faccessat, AT_FDCWD, RECORDS, F_OK))
        return real(type, buffer, room);
    char *text = all(&size, &next);
    if (!text) {
        errno = ENOMEM;
        return -1;
    }
    int result = 0;
    if (type == READ_ALL || type == READ_CLEAR) {
        result = (int)size < room ? (int)size : room;
        memcpy(buffer, text + size - result, result);
    }
    if (type == SIZE_UNREAD || type == SIZE_BUFFER)
        result = (int)size + 1;
    if (type == CLEAR || type == READ_CLEAR)
        result = clear(next) ? -1 : result;
    free(text);
    return result;
}
