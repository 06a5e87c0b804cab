/* What the files of the shim share. */
#pragma once

#define EXPORT __attribute__((visibility("default")))
#define REAL(name)                                     \
    static __typeof__(name) *real;                     \
    if (!real)                                         \
        real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
