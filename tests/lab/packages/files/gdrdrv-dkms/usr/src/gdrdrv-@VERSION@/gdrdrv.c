/* The simulated gdrdrv.ko: compiles against the driver as the real one does, and does nothing. */
#include <linux/module.h>
#include <linux/types.h>

#include "nv-p2p.h"

static int dbg_enabled;
module_param(dbg_enabled, int, 0444);

static int __init gdrdrv_init(void)
{
    return nvidia_p2p_put_pages(0, 0, 0, NULL) == -ENODEV ? 0 : -EINVAL;
}

static void __exit gdrdrv_cleanup(void)
{
}

module_init(gdrdrv_init);
module_exit(gdrdrv_cleanup);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION("@VERSION@");
MODULE_DESCRIPTION("simulated GDRCopy module");
