/* nvidia-smi -q as text and as XML: rows of one table, written by one writer. */
#ifndef SIMHW_LOG_H
#define SIMHW_LOG_H

#include "properties.h"

/* What -d chooses; a row below another belongs to it. */
enum {
    D_MEMORY = 1 << 0,
    D_UTILIZATION = 1 << 1,
    D_ECC = 1 << 2,
    D_TEMPERATURE = 1 << 3,
    D_POWER = 1 << 4,
    D_CLOCK = 1 << 5,
    D_COMPUTE = 1 << 6,
    D_PIDS = 1 << 7,
    D_PERFORMANCE = 1 << 8,
    D_SUPPORTED_CLOCKS = 1 << 9,
    D_PAGE_RETIREMENT = 1 << 10,
    D_ACCOUNTING = 1 << 11,
    D_ENCODER_STATS = 1 << 12,
    D_SUPPORTED_GPU_TARGET_TEMP = 1 << 13,
    D_VOLTAGE = 1 << 14,
    D_FBC_STATS = 1 << 15,
    D_ROW_REMAPPER = 1 << 16,
    D_GSP_FIRMWARE_VERSION = 1 << 17,
    D_POWER_SMOOTHING = 1 << 18,
    D_POWER_PROFILES = 1 << 19,
    D_RESET_STATUS = 1 << 20,
    D_ALONE = 1 << 30 /* text only when chosen; XML has it always */
};

enum condition { ALWAYS, LIMIT_MARGINS, LIMIT_DEGREES, SRAM_DETAILS, SRAM_TOTALS, BITS }; /* by architecture */

struct writer {
    int xml, depth;
    const char *open[12]; /* tags of the open sections */
};

struct row {
    int depth;
    const char *label, *tag;  /* NULL: not in this form of output */
    struct property property; /* without a getter: the head of a section */
    unsigned first, until;    /* branches, as for since() */
    unsigned display;
    enum condition condition;
    int bare; /* XML without the 0x of the text */
    void (*emit)(struct writer *writer, nvmlDevice_t gpu, int depth);
};

extern const struct row log_rows[];
extern const unsigned log_row_count;

void write_section(struct writer *writer, int depth, const char *label, const char *tag);
void write_leaf(struct writer *writer, int depth, const char *label, const char *tag, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void write_end(struct writer *writer, int depth); /* closes what is open below that depth */
void write_process_line(int depth, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Parts that are no rows. */
void emit_mig_devices(struct writer *writer, nvmlDevice_t gpu, int depth);
void emit_processes(struct writer *writer, nvmlDevice_t gpu, int depth);
void emit_accounted(struct writer *writer, nvmlDevice_t gpu, int depth);
void emit_retired_pages(struct writer *writer, nvmlDevice_t gpu, int depth);
void emit_supported_clocks(struct writer *writer, nvmlDevice_t gpu, int depth);
void emit_power_samples(struct writer *writer, nvmlDevice_t gpu, int depth);
void emit_utilization_samples(struct writer *writer, nvmlDevice_t gpu, int depth);
void emit_clock_samples(struct writer *writer, nvmlDevice_t gpu, int depth);

#endif
