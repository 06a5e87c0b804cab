#include <linux/module.h>

#include "nv-version.h"

int nvidia_get_rm_ops(void *ops);

static int uvm_disable_hmm;
module_param(uvm_disable_hmm, int, 0444);

static int __init uvm_init(void)
{
    return nvidia_get_rm_ops(NULL);
}

static void __exit uvm_exit(void)
{
}

module_init(uvm_init);
module_exit(uvm_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_INFO(supported, "external");
MODULE_VERSION(NV_VERSION_STRING);
MODULE_DESCRIPTION("simulated NVIDIA unified memory module");
