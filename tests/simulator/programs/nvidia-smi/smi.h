/* Stand-in for nvidia-smi: what its verbs share. Output goes to standard output, failures too, as with the real one. */
#ifndef SIMHW_SMI_H
#define SIMHW_SMI_H

#include "api.h"

#include <stdio.h>

#define MIB (1024ull * 1024)
#define SMI_GPUS 64
#define SMI_INSTANCES 16
#define SMI_PROCESSES 256
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Exit codes of the manual page that are not NVML's number of the failure. */
enum { EXIT_ARGUMENT = 2, EXIT_NOT_AVAILABLE = 3, EXIT_NO_DEVICES = 6, EXIT_OTHER = 255 };

/* Branches whose text differs. The loaded driver decides, as nvidia-smi comes with it. */
enum { R580 = 580, R590 = 590, R595 = 595, R610 = 610, R595_AND_580_173 = 1 };

int since(unsigned branch);            /* R595_AND_580_173: 595 and later, and what went back into 580.173 */
const char *smi_version(void);         /* "570.172.08"; "" as long as neither driver nor library tells one */
int smi_cuda(void);                    /* 12080; 0: NVML cannot say */
int exit_code(nvmlReturn_t code);      /* a program has 255 at most: NVML_ERROR_UNKNOWN becomes that */
const char *reason(nvmlReturn_t code); /* the words for a failure; N/A for what is not supported */
void print_timestamp(FILE *file, const char *after); /* Tue Jul 14 09:00:26 2026 */

/* What one property of a GPU is: its text, or the code with which NVML refused it. */
struct value {
    nvmlReturn_t code;
    char text[192];
};

void value_set(struct value *value, nvmlReturn_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *value_text(const struct value *value);

struct selection {
    unsigned count;
    nvmlDevice_t gpu[SMI_GPUS];
    unsigned index[SMI_GPUS];
};

/* ids: index, bus id, UUID or serial number with commas; NULL: all. Returns the exit code, with its text printed. */
int smi_select(struct selection *selection, const char *ids);

void bus_of(nvmlDevice_t gpu, char *text);               /* 32 bytes */
int print_gpu(const struct selection *gpus, unsigned i); /* its line in -L; the exit code where NVML refuses it */
int has_mig(nvmlDevice_t gpu);
unsigned architecture_of(nvmlDevice_t gpu);
nvmlReturn_t field_of(nvmlDevice_t gpu, unsigned id, unsigned scope, nvmlFieldValue_t *field);
int each_mig(nvmlDevice_t gpu, void (*show)(nvmlDevice_t mig, unsigned index, void *context), void *context);

struct process {
    nvmlProcessInfo_t info;
    const char *type; /* C, G, C+G or M+C */
    char name[256];
};

unsigned processes_of(nvmlDevice_t gpu, struct process *processes); /* SMI_PROCESSES at most, by pid */

/* Verbs: exit codes. */
struct request {
    int verb, xml, strict; /* strict: --error-on-warning */
    const char *ids, *value, *format, *display, *file;
    long loop_ms;
};

int smi_list(const struct request *request, const struct selection *gpus);
int smi_table(const struct request *request, const struct selection *gpus);
int smi_log(const struct request *request, const struct selection *gpus);
int smi_query_gpu(const struct request *request, const struct selection *gpus);
int smi_query_compute_apps(const struct request *request, const struct selection *gpus);
int smi_query_accounted_apps(const struct request *request, const struct selection *gpus);
int smi_query_retired_pages(const struct request *request, const struct selection *gpus);
int smi_query_remapped_rows(const struct request *request, const struct selection *gpus);
int smi_reset(const struct request *request, const struct selection *gpus);
int smi_persistence(const struct request *request, const struct selection *gpus);
int smi_ecc(const struct request *request, const struct selection *gpus);
int smi_clear_ecc(const struct request *request, const struct selection *gpus);
int smi_compute_mode(const struct request *request, const struct selection *gpus);
int smi_power_limit(const struct request *request, const struct selection *gpus);
int smi_mig_mode(const struct request *request, const struct selection *gpus);

/* Verbs that are a word of their own; words[0] is that word. */
int smi_start(void); /* opens NVML; the exit code, with its text printed */
int smi_mig(int count, char **words);
int smi_topo(int count, char **words);
int smi_nvlink(int count, char **words);

int smi_help(void);
int smi_mig_help(void);
int smi_version_of_all(void);
int print_query_help(const char *option);
int complain(const char *text); /* one line, and the exit code of a bad argument */

/* Command lines: one row an option, short and long form with the same meaning. */
enum { WITHOUT_VALUE, WITH_VALUE, PERHAPS_VALUE };

struct option_row {
    const char *brief, *full; /* with their dashes; NULL where there is none */
    int key, value;
};

struct command_line {
    int count, next;
    char **words;
};

/* `missing`: verbs and options of the real program, each between blanks. 0, or the exit code, said on stderr. */
int refuse_missing(const char *missing, int count, char **words);

/* The key of the next option; 0 at the end; -1 with the complaint printed. */
int next_option(const struct option_row *rows, unsigned count, struct command_line *line, const char **value);

#endif
