#include <linux/module.h>
#include <linux/pci.h>

/* Written for a kernel interface that no kernel has any more: does not compile, on purpose. */
int nv_resize_pcie_bars(struct pci_dev *pci_dev);
int nv_resize_pcie_bars(struct pci_dev *pci_dev)
{
    return pci_resize_resource(pci_dev);
}
