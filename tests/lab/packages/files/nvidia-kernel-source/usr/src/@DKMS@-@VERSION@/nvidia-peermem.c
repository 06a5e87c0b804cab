#include <linux/module.h>

#include "nv-version.h"

int nvidia_get_rm_ops(void *ops);

static int peerdirect_support;
module_param(peerdirect_support, int, 0444);

/* As the real one where the kernel has no peer memory interface: built, and refused at load. */
static int __init nv_mem_client_init(void)
{
    return nvidia_get_rm_ops(NULL) ? -EINVAL : 0;
}

static void __exit nv_mem_client_cleanup(void)
{
}

module_init(nv_mem_client_init);
module_exit(nv_mem_client_cleanup);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_INFO(supported, "external");
MODULE_VERSION(NV_VERSION_STRING);
MODULE_DESCRIPTION("simulated NVIDIA peer memory module");
