#include <linux/module.h>

#include "nv-version.h"

int nvKmsKapiGetFunctionsTable(void *table);

static bool modeset = NV_BRANCH >= 595;
module_param(modeset, bool, 0400);
static bool fbdev = true;
module_param(fbdev, bool, 0400);

static int __init nv_linux_drm_init(void)
{
    return nvKmsKapiGetFunctionsTable(NULL);
}

static void __exit nv_linux_drm_exit(void)
{
}

module_init(nv_linux_drm_init);
module_exit(nv_linux_drm_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_INFO(supported, "external");
MODULE_VERSION(NV_VERSION_STRING);
MODULE_DESCRIPTION("simulated NVIDIA DRM module");
