#include "smi.h"

#include "text.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

#define DEPRECATED_TEXT "Requested functionality has been deprecated"

void value_set(struct value *value, nvmlReturn_t code, const char *format, ...)
{
    va_list arguments;
    value->code = code;
    va_start(arguments, format);
    vsnprintf(value->text, sizeof value->text, format, arguments);
    va_end(arguments);
}

const char *value_text(const struct value *value)
{
    return value->code ? reason(value->code) : value->text;
}

/* A library without the function, or with another version of its structure, counts as one that does not support it. */
const char *reason(nvmlReturn_t code)
{
    switch (code) {
    case NVML_ERROR_NOT_SUPPORTED:
    case NVML_ERROR_FUNCTION_NOT_FOUND:
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
        return "N/A";
    case NVML_ERROR_DEPRECATED:
        return DEPRECATED_TEXT;
    default:
        return nvml.ErrorString(code);
    }
}

int exit_code(nvmlReturn_t code)
{
    return code < EXIT_OTHER ? code : EXIT_OTHER;
}

const char *smi_version(void)
{
    static char version[80];
    if (!version[0] && nvml.SystemGetDriverVersion(version, sizeof version))
        if (nvml_library_version(version, sizeof version))
            version[0] = 0;
    return version;
}

int smi_cuda(void)
{
    int cuda = 0;
    return nvml.SystemGetCudaDriverVersion_v2(&cuda) ? 0 : cuda;
}

int since(unsigned branch)
{
    char *end;
    long major = parse_number(smi_version(), &end), minor = *end == '.' ? parse_number(end + 1, 0) : 0;
    if (branch == R595_AND_580_173)
        return major >= R595 || (major == R580 && minor >= 173);
    return major >= (long)branch;
}

void print_timestamp(FILE *file, const char *after)
{
    char date[64];
    time_t now = time(0);
    strftime(date, sizeof date, "%a %b %e %H:%M:%S %Y", localtime(&now));
    fprintf(file, "%s%s", date, after);
}
