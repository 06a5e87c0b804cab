/* PCI and memory. */
#include "properties.h"

/* The classes are in a later structure than the rest, which older libraries lack. */
static nvmlReturn_t read_classes(nvmlDevice_t gpu, int which, unsigned *number)
{
    nvmlPciInfoExt_v1_t pci = {0};
    pci.version = STRUCT_VERSION(nvmlPciInfoExt_v1_t, 1);
    nvmlReturn_t code = nvml.DeviceGetPciInfoExt(gpu, &pci);
    *number = which == PCI_BASE_CLASS ? pci.baseClass : pci.subClass;
    return code;
}

void get_pci(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlPciInfo_t pci = {0};
    unsigned number = 0;
    nvmlReturn_t code = nvml.DeviceGetPciInfo_v3(gpu, &pci);
    nvmlReturn_t classes = read_classes(gpu, which, &number);
    if (which == PCI_BUS_ID)
        value_set(v, code, "%s", pci.busId);
    else if (which == PCI_BASE_CLASS || which == PCI_SUB_CLASS)
        value_set(v, classes, "0x%X", number);
    else if (which == PCI_DOMAIN)
        value_set(v, code, "0x%04X", pci.domain);
    else if (which == PCI_BUS || which == PCI_DEVICE)
        value_set(v, code, "0x%02X", which == PCI_BUS ? pci.bus : pci.device);
    else
        value_set(v, code, "0x%08X", which == PCI_DEVICE_ID ? pci.pciDeviceId : pci.pciSubSystemId);
}

void get_replay_rollovers(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlFieldValue_t field;
    (void)which;
    nvmlReturn_t code = field_of(gpu, 95, 0, &field);
    value_set(v, code, "%u", field.value.uiVal);
}

void get_throughput(struct value *v, nvmlDevice_t gpu, int which)
{
    unsigned kilobytes = 0;
    nvmlReturn_t code = nvml.DeviceGetPcieThroughput(gpu, which, &kilobytes);
    value_set(v, code, "%u", kilobytes);
}

void get_memory(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlMemory_v2_t memory = {STRUCT_VERSION(nvmlMemory_v2_t, 2), 0, 0, 0, 0};
    nvmlReturn_t code = nvml.DeviceGetMemoryInfo_v2(gpu, &memory);
    const u64 bytes[] = {memory.total, memory.reserved, memory.used, memory.free};
    value_set(v, code, "%llu", bytes[which] / MIB);
}

static void put_memory(struct value *v, nvmlReturn_t code, const nvmlMemory_t *memory, int which)
{
    u64 bytes = which == MEMORY_TOTAL ? memory->total : which == MEMORY_USED ? memory->used : memory->free;
    value_set(v, code, "%llu", bytes / MIB);
}

/* Total, free, used: the order of nvmlBAR1Memory_t too. */
void get_bar1(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlMemory_t memory = {0, 0, 0};
    nvmlReturn_t code = nvml.DeviceGetBAR1MemoryInfo(gpu, &memory);
    put_memory(v, code, &memory, which);
}

/* All zero outside of confidential computing, also where NVML does not know it. */
void get_protected_memory(struct value *v, nvmlDevice_t gpu, int which)
{
    nvmlMemory_t memory = {0, 0, 0};
    nvmlReturn_t code = nvml.DeviceGetConfComputeProtectedMemoryUsage(gpu, &memory);
    put_memory(v, code == NVML_ERROR_NOT_SUPPORTED ? NVML_SUCCESS : code, &memory, which);
}
