#define _GNU_SOURCE
#include "api.h"

#include "text.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct nvml_api nvml;

static const struct {
    const char *symbol;
    size_t offset;
} functions[] = {
#define X(name, ...) {"nvml" #name, offsetof(struct nvml_api, name)},
    NVML_FUNCTIONS(X)
#undef X
        {"simhwDeviceReset", offsetof(struct nvml_api, Reset)}};

/* Stands for each function that this library does not have, whatever its arguments. */
static nvmlReturn_t not_found(void)
{
    return NVML_ERROR_FUNCTION_NOT_FOUND;
}

static const char *no_words(nvmlReturn_t code)
{
    (void)code;
    return "Unknown Error";
}

int nvml_open(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = library ? dlsym(library, functions[i].symbol) : 0;
        *(void **)((char *)&nvml + functions[i].offset) = function ? function : (void *)not_found;
    }
    if ((void *)nvml.ErrorString == (void *)not_found)
        nvml.ErrorString = no_words;
    return library ? 0 : -1;
}

int nvml_library_version(char *version, size_t size)
{
    Dl_info info;
    char path[PATH_MAX];
    if (!dladdr((void *)nvml.Init_v2, &info) || !realpath(info.dli_fname, path))
        return -1;
    const char *mark = strstr(path, ".so.");
    return mark && strchr(mark + 4, '.') ? copy_text(version, size, mark + 4) : -1;
}
