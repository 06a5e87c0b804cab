/* What differs from release to release and between the flavours. */
#define NV_VERSION_STRING "@VERSION@"
#define NV_BRANCH @BRANCH@
#define NV_LICENSE "@LICENSE@"
