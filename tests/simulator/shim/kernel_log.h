#pragma once

/* The path to open in place of `path`, which may be the same. */
const char *kernel_log_shown(const char *path, int flags);
