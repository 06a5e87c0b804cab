#include <linux/module.h>

#include "nv-version.h"

int nvidia_get_rm_ops(void *ops);
int nvKmsKapiGetFunctionsTable(void *table);

int nvKmsKapiGetFunctionsTable(void *table)
{
    return nvidia_get_rm_ops(table);
}
EXPORT_SYMBOL(nvKmsKapiGetFunctionsTable);

static int __init nvkms_init(void)
{
    return nvidia_get_rm_ops(NULL);
}

static void __exit nvkms_exit(void)
{
}

module_init(nvkms_init);
module_exit(nvkms_exit);
MODULE_LICENSE(NV_LICENSE);
MODULE_INFO(supported, "external");
MODULE_VERSION(NV_VERSION_STRING);
MODULE_DESCRIPTION("simulated NVIDIA mode setting module");
