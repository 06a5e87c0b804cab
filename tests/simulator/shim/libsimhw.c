/*
 * Preloaded into every libc program of a simulated host: shows the host's own kernel release and /proc/modules, and hands
 * the loading and removing of modules to /usr/lib/simhw/simhw; its clock and kernel log are in files beside this one. Everything else of the hardware is real files on real
 * mounts, because Go programs make system calls without libc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "internal.h"
#include "kernel_log.h"

#define MODULES "/proc/modules"
#define SHOWN "/run/simhw/proc/modules"
#define RELEASE "/run/simhw/osrelease"
#define PROGRAM "/usr/lib/simhw/simhw"

extern char **environ;

static int is_plugged_in(void)
{
    return syscall(SYS_faccessat, AT_FDCWD, RELEASE, F_OK) == 0;
}

static const char *shown(const char *path)
{
    return path && !strcmp(path, MODULES) && is_plugged_in() ? SHOWN : path;
}

static const char *to_open(const char *path, int flags)
{
    return kernel_log_shown(shown(path), flags);
}

EXPORT int uname(struct utsname *name)
{
    REAL(uname);
    int result = real(name);
    int fd = result ? -1 : (int)syscall(SYS_openat, AT_FDCWD, RELEASE, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return result;
    ssize_t size = syscall(SYS_read, fd, name->release, sizeof name->release - 1);
    syscall(SYS_close, fd);
    name->release[size > 0 ? size : 0] = 0;
    name->release[strcspn(name->release, "\n")] = 0;
    return result;
}

static mode_t mode_argument(int flags, va_list arguments)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name)                                     \
    EXPORT int name(const char *path, int flags, ...)  \
    {                                                  \
        REAL(name);                                    \
        va_list arguments;                             \
        va_start(arguments, flags);                    \
        mode_t mode = mode_argument(flags, arguments); \
        va_end(arguments);                             \
        return real(to_open(path, flags), flags, mode);         \
    }

#define OPENAT(name)                                          \
    EXPORT int name(int folder, const char *path, int flags, ...) \
    {                                                         \
        REAL(name);                                           \
        va_list arguments;                                    \
        va_start(arguments, flags);                           \
        mode_t mode = mode_argument(flags, arguments);        \
        va_end(arguments);                                    \
        return real(folder, to_open(path, flags), flags, mode); \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* What programs call that were compiled with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);

EXPORT int __open_2(const char *path, int flags)
{
    REAL(__open_2);
    return real(to_open(path, flags), flags);
}

EXPORT int __open64_2(const char *path, int flags)
{
    REAL(__open64_2);
    return real(to_open(path, flags), flags);
}

EXPORT int __openat_2(int folder, const char *path, int flags)
{
    REAL(__openat_2);
    return real(folder, to_open(path, flags), flags);
}

EXPORT int __openat64_2(int folder, const char *path, int flags)
{
    REAL(__openat64_2);
    return real(folder, to_open(path, flags), flags);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    REAL(fopen);
    return real(shown(path), mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
    REAL(fopen64);
    return real(shown(path), mode);
}

#define STAT(name, type)                               \
    EXPORT int name(const char *path, struct type *st) \
    {                                                  \
        REAL(name);                                    \
        return real(shown(path), st);                  \
    }

#define FSTATAT(name, type)                                                   \
    EXPORT int name(int folder, const char *path, struct type *st, int flags) \
    {                                                                         \
        REAL(name);                                                           \
        return real(folder, shown(path), st, flags);                          \
    }

STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)
FSTATAT(fstatat, stat)
FSTATAT(fstatat64, stat64)

EXPORT int statx(int folder, const char *path, int flags, unsigned mask, struct statx *st)
{
    REAL(statx);
    return real(folder, shown(path), flags, mask, st);
}

EXPORT int access(const char *path, int mode)
{
    REAL(access);
    return real(shown(path), mode);
}

EXPORT int faccessat(int folder, const char *path, int mode, int flags)
{
    REAL(faccessat);
    return real(folder, shown(path), mode, flags);
}

/* ls asks for security labels and lists. */
#define ATTRIBUTE(name)                                                                         \
    EXPORT ssize_t name(const char *path, const char *attribute, void *value, size_t size)      \
    {                                                                                           \
        REAL(name);                                                                             \
        return real(shown(path), attribute, value, size);                                       \
    }

#define ATTRIBUTES(name)                                             \
    EXPORT ssize_t name(const char *path, char *list, size_t size)   \
    {                                                                \
        REAL(name);                                                  \
        return real(shown(path), list, size);                        \
    }

ATTRIBUTE(getxattr)
ATTRIBUTE(lgetxattr)
ATTRIBUTES(listxattr)
ATTRIBUTES(llistxattr)

/* Runs the program with `input` as standard input; its exit code is an errno value. */
static int hand_over(char *const *arguments, const char *input, size_t size)
{
    posix_spawn_file_actions_t actions;
    int status, error;
    pid_t pid;
    int fd = memfd_create("modinfo", MFD_CLOEXEC);
    if (fd < 0)
        return EIO;
    if (write(fd, input, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) < 0) {
        close(fd);
        return EIO;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    error = posix_spawn(&pid, PROGRAM, &actions, 0, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(fd);
    if (error)
        return EIO;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return EIO;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static int answer(int error)
{
    errno = error;
    return error ? -1 : 0;
}

/* The .modinfo section of a module, or NULL when the image is no module for this machine. */
static const char *module_information(const char *image, size_t size, size_t *length)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    if (head->e_shoff > size || head->e_shnum * sizeof(Elf64_Shdr) > size - head->e_shoff || head->e_shstrndx >= head->e_shnum)
        return 0;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + head->e_shoff);
    const Elf64_Shdr *names = &sections[head->e_shstrndx];
    for (int i = 0; i < head->e_shnum; i++) {
        size_t name = names->sh_offset + sections[i].sh_name;
        if (name + sizeof ".modinfo" > size || strcmp(image + name, ".modinfo"))
            continue;
        *length = sections[i].sh_size;
        return sections[i].sh_offset + *length <= size ? image + sections[i].sh_offset : 0;
    }
    return 0;
}

/* The signature at the end of a module's file (struct module_signature of Linux), or NULL when it has none. */
static const unsigned char *module_signature(const char *image, size_t size, size_t *length)
{
    static const char mark[] = "~Module signature appended~\n";
    const size_t tail = sizeof mark - 1 + 12; /* 8 bytes, then the length, big-endian */
    if (size < tail || memcmp(image + size - sizeof mark + 1, mark, sizeof mark - 1))
        return 0;
    const unsigned char *number = (const unsigned char *)image + size - sizeof mark + 1 - 4;
    *length = (size_t)number[0] << 24 | number[1] << 16 | number[2] << 8 | number[3];
    return *length <= size - tail ? (const unsigned char *)image + size - tail - *length : 0;
}

/* The module information, and the signature as one more `key=value` of it. */
static int hand_over_module(char *const *arguments, const char *image, size_t size)
{
    size_t length, signed_length = 0, filled = 0;
    char *text = 0;
    const char *information = module_information(image, size, &length);
    if (!information)
        return ENOEXEC;
    const unsigned char *signature = module_signature(image, size, &signed_length);
    FILE *out = open_memstream(&text, &filled);
    if (!out)
        return ENOMEM;
    fwrite(information, 1, length, out);
    fputc(0, out);
    for (size_t i = 0; signature && i < signed_length; i++)
        fprintf(out, "%s%02x", i ? "" : "signature=", signature[i]);
    int result = fclose(out) ? ENOMEM : hand_over(arguments, text, filled);
    free(text);
    return result;
}

static int load(const char *image, size_t size, const char *options, int flags)
{
    char number[16];
    snprintf(number, sizeof number, "%d", flags);
    char *arguments[] = {PROGRAM, "insmod", number, (char *)(options ? options : ""), 0};
    return answer(geteuid() ? EPERM : hand_over_module(arguments, image, size));
}

static int load_file(int fd, const char *options, int flags)
{
    struct stat st;
    if (fstat(fd, &st))
        return -1;
    char *image = mmap(0, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image == MAP_FAILED)
        return -1;
    int result = load(image, st.st_size, options, flags), error = errno;
    munmap(image, st.st_size);
    errno = error;
    return result;
}

static int unload(const char *name)
{
    char *arguments[] = {PROGRAM, "rmmod", (char *)name, 0};
    return answer(geteuid() ? EPERM : hand_over(arguments, "", 0));
}

typedef long system_call(long number, ...);

static long real_syscall(long number, const long *a)
{
    static system_call *real;
    if (!real)
        real = (system_call *)dlsym(RTLD_NEXT, "syscall");
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* kmod calls finit_module and the like through syscall(). */
EXPORT long syscall(long number, ...)
{
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number != SYS_init_module && number != SYS_finit_module && number != SYS_delete_module)
        return real_syscall(number, a);
    if (!is_plugged_in())
        return real_syscall(number, a);
    if (number == SYS_finit_module)
        return load_file((int)a[0], (const char *)a[1], (int)a[2]);
    if (number == SYS_init_module)
        return load((const char *)a[0], (size_t)a[1], (const char *)a[2], 0);
    return unload((const char *)a[0]);
}

int init_module(void *image, unsigned long size, const char *options);
int finit_module(int fd, const char *options, int flags);
int delete_module(const char *name, unsigned flags);

EXPORT int init_module(void *image, unsigned long size, const char *options)
{
    return syscall(SYS_init_module, image, size, options);
}

EXPORT int finit_module(int fd, const char *options, int flags)
{
    return syscall(SYS_finit_module, fd, options, flags);
}

EXPORT int delete_module(const char *name, unsigned flags)
{
    return syscall(SYS_delete_module, name, flags);
}
