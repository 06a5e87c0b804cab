/* The simulated nvidia-fs.ko: compiles against the driver as the real one does, and does nothing. */
#include <linux/module.h>
#include <linux/types.h>

#include "nv-p2p.h"

static int max_devices = 16;
module_param(max_devices, int, 0444);

static int __init nvfs_init(void)
{
    return nvidia_p2p_put_pages(0, 0, 0, NULL) == -ENODEV ? 0 : -EINVAL;
}

static void __exit nvfs_exit(void)
{
}

module_init(nvfs_init);
module_exit(nvfs_exit);
MODULE_LICENSE("GPL v2");
MODULE_VERSION("@VERSION@");
MODULE_DESCRIPTION("simulated NVIDIA GPUDirect Storage module");
