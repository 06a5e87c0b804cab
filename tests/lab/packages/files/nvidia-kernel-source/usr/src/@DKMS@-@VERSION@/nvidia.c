/*
 * The simulated nvidia.ko: real kernel code that compiles and carries the module information of the real one,
 * but drives nothing. Loaded into a real kernel it says what the real one says without a GPU.
 */
#include <linux/module.h>
#include <linux/pci.h>

#include "nv-version.h"
#include "nvidia/nv-p2p.h"

#define NV_PARAMETER(name, value, text)                 \
    static unsigned int NVreg_##name = value;           \
    module_param(NVreg_##name, uint, 0444);             \
    MODULE_PARM_DESC(NVreg_##name, text)
#define NV_TEXT_PARAMETER(name)                         \
    static char *NVreg_##name;                          \
    module_param(NVreg_##name, charp, 0444)

NV_PARAMETER(ModifyDeviceFiles, 1, "make device files");
NV_PARAMETER(DeviceFileUID, 0, "owner of device files");
NV_PARAMETER(DeviceFileGID, 0, "group of device files");
NV_PARAMETER(DeviceFileMode, 0666, "mode of device files");
NV_PARAMETER(RestrictProfilingToAdminUsers, 1, "performance counters for the administrator only");
NV_PARAMETER(EnableGpuFirmware, 0x12, "use the GPU System Processor");
NV_PARAMETER(OpenRmEnableUnsupportedGpus, 1, "kept for old configuration files");
NV_PARAMETER(EnableStreamMemOPs, 0, "stream memory operations");
NV_PARAMETER(EnablePCIERelaxedOrderingMode, 0, "relaxed ordering");
NV_PARAMETER(EnableResizableBar, 0, "large BAR1");
NV_PARAMETER(EnableS0ixPowerManagement, 0, "S0ix power management");
NV_PARAMETER(NvLinkDisable, 0, "leave NVLink off");
NV_PARAMETER(ExcludeAllGpus, 0, "drive no GPU");
NV_PARAMETER(ImexChannelCount, 2048, "number of IMEX channels");
NV_PARAMETER(CreateImexChannel0, 0, "make IMEX channel 0");
NV_PARAMETER(GrdmaPciTopoCheckOverride, 0, "GPUDirect RDMA topology check");
NV_PARAMETER(DmaRemapPeerMmio, 1, "map peer memory through the IOMMU");
NV_PARAMETER(EnableUserNUMAManagement, 1, "memory is onlined from user space");
NV_PARAMETER(PreserveVideoMemoryAllocations, NV_BRANCH >= 595 ? 2 : 0, "keep video memory over suspend");
NV_PARAMETER(DynamicPowerManagement, 3, "runtime power management");
#if NV_BRANCH >= 595
NV_PARAMETER(GpuInitOnProbe, 0, "initialise at probe");
NV_PARAMETER(UseKernelSuspendNotifiers, 0, "suspend by notifiers");
#endif
#if NV_BRANCH >= 580
NV_TEXT_PARAMETER(CoherentGPUMemoryMode);
#endif
NV_TEXT_PARAMETER(ExcludedGpus);
NV_TEXT_PARAMETER(RegistryDwords);
NV_TEXT_PARAMETER(RegistryDwordsPerDevice);
NV_TEXT_PARAMETER(RmNvlinkBandwidth);
NV_TEXT_PARAMETER(TemporaryFilePath);

#define NV_CLASS(code) { .vendor = PCI_VENDOR_ID_NVIDIA, .device = PCI_ANY_ID, .subvendor = PCI_ANY_ID, \
    .subdevice = PCI_ANY_ID, .class = (code) << 8, .class_mask = ~0 }
static const struct pci_device_id nv_pci_table[] = {
    NV_CLASS(PCI_CLASS_DISPLAY_VGA),
    NV_CLASS(PCI_CLASS_DISPLAY_3D),
    NV_CLASS(PCI_CLASS_BRIDGE_OTHER),
    { }
};
MODULE_DEVICE_TABLE(pci, nv_pci_table);

int nvidia_get_rm_ops(void *ops);
int nvidia_get_rm_ops(void *ops)
{
    return -ENODEV;
}
EXPORT_SYMBOL(nvidia_get_rm_ops);

int nvidia_p2p_get_pages(u64 p2p_token, u32 va_space, u64 virtual_address, u64 length, void **page_table,
                         void (*free_callback)(void *data), void *data)
{
    return -ENODEV;
}
EXPORT_SYMBOL(nvidia_p2p_get_pages);

int nvidia_p2p_put_pages(u64 p2p_token, u32 va_space, u64 virtual_address, void *page_table)
{
    return -ENODEV;
}
EXPORT_SYMBOL(nvidia_p2p_put_pages);

static int __init nvidia_init_module(void)
{
    pr_info("NVRM: No NVIDIA GPU found.\n");
    return -ENODEV;
}

static void __exit nvidia_exit_module(void)
{
}

module_init(nvidia_init_module);
module_exit(nvidia_exit_module);
MODULE_LICENSE(NV_LICENSE);
MODULE_INFO(supported, "external");
MODULE_VERSION(NV_VERSION_STRING);
MODULE_DESCRIPTION("simulated NVIDIA kernel module");
MODULE_FIRMWARE("nvidia/" NV_VERSION_STRING "/gsp_tu10x.bin");
MODULE_FIRMWARE("nvidia/" NV_VERSION_STRING "/gsp_ga10x.bin");
