/* Readings that several verbs need. */
#include "smi.h"

#include <stdlib.h>
#include <string.h>

void bus_of(nvmlDevice_t gpu, char *text)
{
    nvmlPciInfo_t pci;
    nvmlReturn_t code = nvml.DeviceGetPciInfo_v3(gpu, &pci);
    snprintf(text, 32, "%s", code ? reason(code) : pci.busId);
}

int has_mig(nvmlDevice_t gpu)
{
    unsigned now = 0, pending = 0;
    return !nvml.DeviceGetMigMode(gpu, &now, &pending) && now;
}

unsigned architecture_of(nvmlDevice_t gpu)
{
    unsigned architecture = 0;
    return nvml.DeviceGetArchitecture(gpu, &architecture) ? 0 : architecture;
}

nvmlReturn_t field_of(nvmlDevice_t gpu, unsigned id, unsigned scope, nvmlFieldValue_t *field)
{
    memset(field, 0, sizeof *field);
    field->fieldId = id;
    field->scopeId = scope;
    nvmlReturn_t code = nvml.DeviceGetFieldValues(gpu, 1, field);
    return code ? code : field->nvmlReturn;
}

int each_mig(nvmlDevice_t gpu, void (*show)(nvmlDevice_t mig, unsigned index, void *context), void *context)
{
    unsigned count = 0, found = 0;
    nvmlDevice_t mig;
    nvml.DeviceGetMaxMigDeviceCount(gpu, &count);
    for (unsigned i = 0; has_mig(gpu) && i < count; i++) {
        if (nvml.DeviceGetMigDeviceHandleByIndex(gpu, i, &mig))
            continue;
        show(mig, i, context);
        found++;
    }
    return found;
}

struct collection {
    struct process *process;
    unsigned count;
};

static void collect(struct collection *all, nvmlDevice_t gpu, nvmlProcessGetter_t *list, const char *type)
{
    nvmlProcessInfo_t infos[SMI_PROCESSES];
    unsigned count = SMI_PROCESSES, known;
    if (list(gpu, &count, infos))
        return;
    for (unsigned i = 0; i < count; i++) {
        for (known = 0; known < all->count && all->process[known].info.pid != infos[i].pid;)
            known++;
        if (known < all->count)
            all->process[known].type = "C+G";
        else if (all->count < SMI_PROCESSES)
            all->process[all->count++] = (struct process){infos[i], type, ""};
    }
}

static int by_pid(const void *left, const void *right)
{
    unsigned a = ((const struct process *)left)->info.pid, b = ((const struct process *)right)->info.pid;
    return a < b ? -1 : a > b;
}

unsigned processes_of(nvmlDevice_t gpu, struct process *processes)
{
    struct collection all = {processes, 0};
    collect(&all, gpu, nvml.DeviceGetComputeRunningProcesses_v3, "C");
    collect(&all, gpu, nvml.DeviceGetMPSComputeRunningProcesses_v3, "M+C");
    collect(&all, gpu, nvml.DeviceGetGraphicsRunningProcesses_v3, "G");
    qsort(processes, all.count, sizeof *processes, by_pid);
    for (struct process *p = processes; p < processes + all.count; p++) {
        nvmlReturn_t code = nvml.SystemGetProcessName(p->info.pid, p->name, sizeof p->name);
        if (code)
            snprintf(p->name, sizeof p->name, "[%s]", reason(code));
    }
    return all.count;
}
