/* libefivar asks whether the folder of EFI variables is an efivarfs. On a simulated host it is a folder of files. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/vfs.h>

#include "internal.h"

#define VARIABLES "/sys/firmware/efi/efivars"
#define EFIVARFS_MAGIC 0xde5e81e4

#define STATFS(name)                                                 \
    EXPORT int name(const char *path, struct name *found)            \
    {                                                                \
        REAL(name);                                                  \
        int result = real(path, found);                              \
        if (!result && !strncmp(path, VARIABLES, strlen(VARIABLES))) \
            found->f_type = EFIVARFS_MAGIC;                          \
        return result;                                               \
    }

STATFS(statfs)
STATFS(statfs64)
