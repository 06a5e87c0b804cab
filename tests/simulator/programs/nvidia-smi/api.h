/* NVML as its clients see it: layouts of nvml.h, and functions that are looked up when the library has been opened. */
#ifndef SIMHW_API_H
#define SIMHW_API_H

#include <stddef.h>
#include <stdint.h>

typedef int nvmlReturn_t;
typedef void *nvmlDevice_t, *nvmlGpuInstance_t, *nvmlComputeInstance_t;
typedef unsigned long long u64;

enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_LIBRARY_NOT_FOUND = 12,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
    NVML_ERROR_IN_USE = 19,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_DEPRECATED = 26,
    NVML_ERROR_UNKNOWN = 999
};

#define NVML_NO_INSTANCE 0xFFFFFFFFu
#define NVML_VALUE_NOT_AVAILABLE (~0ull)
#define NVML_GPU_INSTANCE_PROFILE_COUNT 0x12
#define NVML_COMPUTE_INSTANCE_PROFILE_COUNT 0x9
#define NVML_NVLINK_MAX_LINKS 18
#define STRUCT_VERSION(type, number) ((unsigned)(sizeof(type) | ((number) << 24)))

enum { NVML_ARCH_VOLTA = 5, NVML_ARCH_AMPERE = 7, NVML_ARCH_ADA = 8 };
enum { NVML_NVLINK_REMOTE_GPU = 0, NVML_NVLINK_REMOTE_SWITCH = 2 };

typedef struct {
    char busIdLegacy[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;

typedef struct {
    unsigned version, domain, bus, device, pciDeviceId, pciSubSystemId, baseClass, subClass;
    char busId[32];
} nvmlPciInfoExt_v1_t;

typedef struct {
    u64 total, free, used;
} nvmlMemory_t;

typedef struct {
    unsigned version;
    u64 total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct {
    unsigned pid;
    u64 usedGpuMemory;
    unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

typedef struct {
    unsigned gpu, memory;
} nvmlUtilization_t;

typedef struct {
    unsigned gpuUtilization, memoryUtilization;
    u64 maxMemoryUsage, time, startTime;
    unsigned isRunning, reserved[5];
} nvmlAccountingStats_t;

typedef struct {
    unsigned version;
    u64 aggregateUncParity, aggregateUncSecDed, aggregateCor, volatileUncParity, volatileUncSecDed, volatileCor;
    u64 bucketL2, bucketSm, bucketPcie, bucketMcu, bucketOther;
    unsigned thresholdExceeded;
} nvmlEccSramErrorStatus_t;

typedef struct {
    unsigned max, high, partial, low, none;
} nvmlRowRemapperHistogram_t;

typedef struct {
    unsigned version, channelRepairPending, tpcRepairPending;
} nvmlRepairStatus_t;

typedef struct {
    unsigned version;
    int value;
} nvmlVersionedNumber_t; /* margin temperature, addressing mode, encryption state, capabilities: all of this form */

typedef struct {
    unsigned version;
    u64 value;
} nvmlPdi_t;

typedef struct {
    unsigned version;
    char ibGuid[16], chassisSerialNumber[16];
    unsigned char slotNumber, trayIndex, hostId, peerType, moduleId;
} nvmlPlatformInfo_v2_t;

typedef struct {
    unsigned version;
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned cliqueId;
    unsigned char state;
    unsigned healthMask;
    unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;

typedef struct {
    unsigned version;
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned cliqueId;
    unsigned char state;
    unsigned healthMask;
} nvmlGpuFabricInfo_v2_t;

typedef struct {
    unsigned fieldId, scopeId;
    int64_t timestamp, latencyUsec;
    unsigned valueType;
    nvmlReturn_t nvmlReturn;
    union {
        double dVal;
        unsigned uiVal;
        u64 ullVal;
        int64_t sllVal;
        int siVal;
    } value;
} nvmlFieldValue_t;

typedef struct {
    u64 timeStamp;
    union {
        double dVal;
        unsigned uiVal;
        u64 ullVal;
    } value;
} nvmlSample_t;

typedef struct {
    unsigned start, size;
} nvmlPlacement_t;

typedef struct {
    unsigned version, id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount;
    unsigned copyEngineCount, decoderCount, encoderCount, jpegCount, ofaCount;
    u64 memorySizeMB;
    char name[96];
} nvmlGpuInstanceProfileInfo_v2_t;

typedef struct {
    nvmlDevice_t device;
    unsigned id, profileId;
    nvmlPlacement_t placement;
} nvmlGpuInstanceInfo_t;

typedef struct {
    unsigned version;
    unsigned id, sliceCount, instanceCount, multiprocessorCount;
    unsigned sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount, sharedJpegCount, sharedOfaCount;
    char name[96];
} nvmlComputeInstanceProfileInfo_v2_t;

typedef struct {
    nvmlDevice_t device;
    nvmlGpuInstance_t gpuInstance;
    unsigned id, profileId;
    nvmlPlacement_t placement;
} nvmlComputeInstanceInfo_t;

typedef struct {
    unsigned multiprocessorCount;
    unsigned sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount, sharedJpegCount, sharedOfaCount;
    unsigned gpuInstanceSliceCount, computeInstanceSliceCount;
    u64 memorySizeMB;
} nvmlDeviceAttributes_t;

typedef nvmlReturn_t nvmlNumberGetter_t(nvmlDevice_t device, unsigned *value);
typedef nvmlReturn_t nvmlTextGetter_t(nvmlDevice_t device, char *text, unsigned length);
typedef nvmlReturn_t nvmlPairGetter_t(nvmlDevice_t device, unsigned *first, unsigned *second);
typedef nvmlReturn_t nvmlProcessGetter_t(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos);
typedef nvmlReturn_t nvmlVersionedGetter_t(nvmlDevice_t device, nvmlVersionedNumber_t *value);

/*
 * Name without "nvml", and the type of the function. Versioned names where NVML has them, as the linker would take them
 * from nvml.h.
 */
#define NVML_FUNCTIONS(X)                                                                                              \
    X(Init_v2, nvmlReturn_t(void))                                                                                     \
    X(Shutdown, nvmlReturn_t(void))                                                                                    \
    X(ErrorString, const char *(nvmlReturn_t code))                                                                    \
    X(SystemGetDriverVersion, nvmlReturn_t(char *version, unsigned length))                                            \
    X(SystemGetCudaDriverVersion_v2, nvmlReturn_t(int *version))                                                       \
    X(SystemGetProcessName, nvmlReturn_t(unsigned pid, char *name, unsigned length))                                   \
    X(DeviceGetCount_v2, nvmlReturn_t(unsigned *count))                                                                \
    X(DeviceGetHandleByIndex_v2, nvmlReturn_t(unsigned index, nvmlDevice_t *device))                                   \
    X(DeviceGetHandleByPciBusId_v2, nvmlReturn_t(const char *bus, nvmlDevice_t *device))                               \
    X(DeviceGetHandleByUUID, nvmlReturn_t(const char *uuid, nvmlDevice_t *device))                                     \
    X(DeviceGetHandleBySerial, nvmlReturn_t(const char *serial, nvmlDevice_t *device))                                 \
    X(DeviceGetName, nvmlTextGetter_t)                                                                                 \
    X(DeviceGetUUID, nvmlTextGetter_t)                                                                                 \
    X(DeviceGetSerial, nvmlTextGetter_t)                                                                               \
    X(DeviceGetVbiosVersion, nvmlTextGetter_t)                                                                         \
    X(DeviceGetBoardPartNumber, nvmlTextGetter_t)                                                                      \
    X(DeviceGetInforomImageVersion, nvmlTextGetter_t)                                                                  \
    X(DeviceGetGspFirmwareVersion, nvmlReturn_t(nvmlDevice_t device, char *version))                                   \
    X(DeviceGetInforomVersion, nvmlReturn_t(nvmlDevice_t device, unsigned object, char *version, unsigned length))     \
    X(DeviceGetIndex, nvmlNumberGetter_t)                                                                              \
    X(DeviceGetMinorNumber, nvmlNumberGetter_t)                                                                        \
    X(DeviceGetArchitecture, nvmlNumberGetter_t)                                                                       \
    X(DeviceGetBrand, nvmlNumberGetter_t)                                                                              \
    X(DeviceGetBoardId, nvmlNumberGetter_t)                                                                            \
    X(DeviceGetMultiGpuBoard, nvmlNumberGetter_t)                                                                      \
    X(DeviceGetPersistenceMode, nvmlNumberGetter_t)                                                                    \
    X(DeviceGetModuleId, nvmlNumberGetter_t)                                                                           \
    X(DeviceGetDisplayMode, nvmlNumberGetter_t)                                                                        \
    X(DeviceGetDisplayActive, nvmlNumberGetter_t)                                                                      \
    X(DeviceGetComputeMode, nvmlNumberGetter_t)                                                                        \
    X(DeviceGetNumaNodeId, nvmlNumberGetter_t)                                                                         \
    X(DeviceGetCurrPcieLinkGeneration, nvmlNumberGetter_t)                                                             \
    X(DeviceGetMaxPcieLinkGeneration, nvmlNumberGetter_t)                                                              \
    X(DeviceGetGpuMaxPcieLinkGeneration, nvmlNumberGetter_t)                                                           \
    X(DeviceGetCurrPcieLinkWidth, nvmlNumberGetter_t)                                                                  \
    X(DeviceGetMaxPcieLinkWidth, nvmlNumberGetter_t)                                                                   \
    X(DeviceGetPcieReplayCounter, nvmlNumberGetter_t)                                                                  \
    X(DeviceGetAccountingMode, nvmlNumberGetter_t)                                                                     \
    X(DeviceGetAccountingBufferSize, nvmlNumberGetter_t)                                                               \
    X(DeviceGetFanSpeed, nvmlNumberGetter_t)                                                                           \
    X(DeviceGetPerformanceState, nvmlNumberGetter_t)                                                                   \
    X(DeviceGetPowerUsage, nvmlNumberGetter_t)                                                                         \
    X(DeviceGetPowerState, nvmlNumberGetter_t)                                                                         \
    X(DeviceGetPowerManagementMode, nvmlNumberGetter_t)                                                                \
    X(DeviceGetPowerManagementLimit, nvmlNumberGetter_t)                                                               \
    X(DeviceGetPowerManagementDefaultLimit, nvmlNumberGetter_t)                                                        \
    X(DeviceGetEnforcedPowerLimit, nvmlNumberGetter_t)                                                                 \
    X(DeviceGetInforomConfigurationChecksum, nvmlNumberGetter_t)                                                       \
    X(DeviceGetVirtualizationMode, nvmlNumberGetter_t)                                                                 \
    X(DeviceGetRetiredPagesPendingStatus, nvmlNumberGetter_t)                                                          \
    X(DeviceGetMaxMigDeviceCount, nvmlNumberGetter_t)                                                                  \
    X(DeviceGetGpuInstanceId, nvmlNumberGetter_t)                                                                      \
    X(DeviceGetComputeInstanceId, nvmlNumberGetter_t)                                                                  \
    X(DeviceGetEccMode, nvmlPairGetter_t)                                                                              \
    X(DeviceGetMigMode, nvmlPairGetter_t)                                                                              \
    X(DeviceGetGspFirmwareMode, nvmlPairGetter_t)                                                                      \
    X(DeviceGetPowerManagementLimitConstraints, nvmlPairGetter_t)                                                      \
    X(DeviceGetEncoderUtilization, nvmlPairGetter_t)                                                                   \
    X(DeviceGetDecoderUtilization, nvmlPairGetter_t)                                                                   \
    X(DeviceGetJpgUtilization, nvmlPairGetter_t)                                                                       \
    X(DeviceGetOfaUtilization, nvmlPairGetter_t)                                                                       \
    X(DeviceGetMarginTemperature, nvmlVersionedGetter_t)                                                               \
    X(DeviceGetAddressingMode, nvmlVersionedGetter_t)                                                                  \
    X(DeviceGetCapabilities, nvmlVersionedGetter_t)                                                                    \
    X(DeviceGetDramEncryptionMode,                                                                                     \
      nvmlReturn_t(nvmlDevice_t device, nvmlVersionedNumber_t *now, nvmlVersionedNumber_t *pending))                   \
    X(DeviceGetPdi, nvmlReturn_t(nvmlDevice_t device, nvmlPdi_t *pdi))                                                 \
    X(DeviceGetC2cModeInfoV, nvmlReturn_t(nvmlDevice_t device, unsigned *enabled))                                     \
    X(DeviceGetPlatformInfo, nvmlReturn_t(nvmlDevice_t device, nvmlPlatformInfo_v2_t *info))                           \
    X(DeviceGetPciInfo_v3, nvmlReturn_t(nvmlDevice_t device, nvmlPciInfo_t *pci))                                      \
    X(DeviceGetPciInfoExt, nvmlReturn_t(nvmlDevice_t device, nvmlPciInfoExt_v1_t *pci))                                \
    X(DeviceGetPcieThroughput, nvmlReturn_t(nvmlDevice_t device, unsigned counter, unsigned *kilobytes))               \
    X(DeviceGetCudaComputeCapability, nvmlReturn_t(nvmlDevice_t device, int *major, int *minor))                       \
    X(DeviceGetMemoryInfo_v2, nvmlReturn_t(nvmlDevice_t device, nvmlMemory_v2_t *memory))                              \
    X(DeviceGetBAR1MemoryInfo, nvmlReturn_t(nvmlDevice_t device, nvmlMemory_t *memory))                                \
    X(DeviceGetConfComputeProtectedMemoryUsage, nvmlReturn_t(nvmlDevice_t device, nvmlMemory_t *memory))               \
    X(DeviceGetUtilizationRates, nvmlReturn_t(nvmlDevice_t device, nvmlUtilization_t *rates))                          \
    X(DeviceGetEncoderStats, nvmlReturn_t(nvmlDevice_t device, unsigned *sessions, unsigned *fps, unsigned *latency))  \
    X(DeviceGetFBCStats, nvmlReturn_t(nvmlDevice_t device, unsigned *stats))                                           \
    X(DeviceGetTemperature, nvmlReturn_t(nvmlDevice_t device, unsigned sensor, unsigned *celsius))                     \
    X(DeviceGetTemperatureThreshold, nvmlReturn_t(nvmlDevice_t device, unsigned threshold, unsigned *celsius))         \
    X(DeviceGetClockInfo, nvmlReturn_t(nvmlDevice_t device, unsigned type, unsigned *mhz))                             \
    X(DeviceGetMaxClockInfo, nvmlReturn_t(nvmlDevice_t device, unsigned type, unsigned *mhz))                          \
    X(DeviceGetMaxCustomerBoostClock, nvmlReturn_t(nvmlDevice_t device, unsigned type, unsigned *mhz))                 \
    X(DeviceGetApplicationsClock, nvmlReturn_t(nvmlDevice_t device, unsigned type, unsigned *mhz))                     \
    X(DeviceGetDefaultApplicationsClock, nvmlReturn_t(nvmlDevice_t device, unsigned type, unsigned *mhz))              \
    X(DeviceGetSupportedMemoryClocks, nvmlReturn_t(nvmlDevice_t device, unsigned *count, unsigned *mhz))               \
    X(DeviceGetSupportedGraphicsClocks,                                                                                \
      nvmlReturn_t(nvmlDevice_t device, unsigned memory, unsigned *count, unsigned *mhz))                              \
    X(DeviceGetCurrentClocksEventReasons, nvmlReturn_t(nvmlDevice_t device, u64 *reasons))                             \
    X(DeviceGetSupportedClocksEventReasons, nvmlReturn_t(nvmlDevice_t device, u64 *reasons))                           \
    X(DeviceGetTotalEccErrors, nvmlReturn_t(nvmlDevice_t device, unsigned type, unsigned counter, u64 *errors))        \
    X(DeviceGetMemoryErrorCounter,                                                                                     \
      nvmlReturn_t(nvmlDevice_t device, unsigned type, unsigned counter, unsigned location, u64 *errors))              \
    X(DeviceGetSramEccErrorStatus, nvmlReturn_t(nvmlDevice_t device, nvmlEccSramErrorStatus_t *status))                \
    X(DeviceGetRepairStatus, nvmlReturn_t(nvmlDevice_t device, nvmlRepairStatus_t *status))                            \
    X(DeviceGetUnrepairableMemoryFlag_v1, nvmlVersionedGetter_t)                                                       \
    X(DeviceGetRemappedRows, nvmlReturn_t(nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected,             \
                                          unsigned *pending, unsigned *failed))                                        \
    X(DeviceGetRowRemapperHistogram, nvmlReturn_t(nvmlDevice_t device, nvmlRowRemapperHistogram_t *histogram))         \
    X(DeviceGetRetiredPages, nvmlReturn_t(nvmlDevice_t device, unsigned cause, unsigned *count, u64 *addresses))       \
    X(DeviceGetRetiredPages_v2,                                                                                        \
      nvmlReturn_t(nvmlDevice_t device, unsigned cause, unsigned *count, u64 *addresses, u64 *timestamps))             \
    X(DeviceGetFieldValues, nvmlReturn_t(nvmlDevice_t device, int count, nvmlFieldValue_t *fields))                    \
    X(DeviceGetSamples, nvmlReturn_t(nvmlDevice_t device, unsigned type, u64 last, unsigned *value_type,               \
                                     unsigned *count, nvmlSample_t *samples))                                          \
    X(DeviceGetGpuFabricInfoV, nvmlReturn_t(nvmlDevice_t device, void *info))                                          \
    X(DeviceGetComputeRunningProcesses_v3, nvmlProcessGetter_t)                                                        \
    X(DeviceGetGraphicsRunningProcesses_v3, nvmlProcessGetter_t)                                                       \
    X(DeviceGetMPSComputeRunningProcesses_v3, nvmlProcessGetter_t)                                                     \
    X(DeviceGetAccountingPids, nvmlReturn_t(nvmlDevice_t device, unsigned *count, unsigned *pids))                     \
    X(DeviceGetAccountingStats, nvmlReturn_t(nvmlDevice_t device, unsigned pid, nvmlAccountingStats_t *stats))         \
    X(DeviceGetNvLinkState, nvmlReturn_t(nvmlDevice_t device, unsigned link, unsigned *active))                        \
    X(DeviceGetNvLinkRemotePciInfo_v2, nvmlReturn_t(nvmlDevice_t device, unsigned link, nvmlPciInfo_t *pci))           \
    X(DeviceGetNvLinkRemoteDeviceType, nvmlReturn_t(nvmlDevice_t device, unsigned link, unsigned *type))               \
    X(DeviceGetNvLinkVersion, nvmlReturn_t(nvmlDevice_t device, unsigned link, unsigned *version))                     \
    X(DeviceGetNvLinkCapability, nvmlReturn_t(nvmlDevice_t device, unsigned link, unsigned capability, unsigned *has)) \
    X(DeviceGetNvLinkErrorCounter, nvmlReturn_t(nvmlDevice_t device, unsigned link, unsigned counter, u64 *value))     \
    X(DeviceGetP2PStatus, nvmlReturn_t(nvmlDevice_t one, nvmlDevice_t other, unsigned capability, unsigned *status))   \
    X(DeviceGetTopologyCommonAncestor, nvmlReturn_t(nvmlDevice_t one, nvmlDevice_t other, unsigned *level))            \
    X(DeviceGetCpuAffinity, nvmlReturn_t(nvmlDevice_t device, unsigned words, unsigned long *set))                     \
    X(DeviceGetMemoryAffinity, nvmlReturn_t(nvmlDevice_t device, unsigned words, unsigned long *set, unsigned scope))  \
    X(DeviceSetPersistenceMode, nvmlReturn_t(nvmlDevice_t device, unsigned mode))                                      \
    X(DeviceSetEccMode, nvmlReturn_t(nvmlDevice_t device, unsigned mode))                                              \
    X(DeviceClearEccErrorCounts, nvmlReturn_t(nvmlDevice_t device, unsigned counter))                                  \
    X(DeviceSetComputeMode, nvmlReturn_t(nvmlDevice_t device, unsigned mode))                                          \
    X(DeviceSetPowerManagementLimit, nvmlReturn_t(nvmlDevice_t device, unsigned milliwatts))                           \
    X(DeviceSetMigMode, nvmlReturn_t(nvmlDevice_t device, unsigned mode, nvmlReturn_t *status))                        \
    X(DeviceGetMigDeviceHandleByIndex, nvmlReturn_t(nvmlDevice_t device, unsigned index, nvmlDevice_t *mig))           \
    X(DeviceGetAttributes_v2, nvmlReturn_t(nvmlDevice_t mig, nvmlDeviceAttributes_t *attributes))                      \
    X(DeviceGetGpuInstanceProfileInfoV,                                                                                \
      nvmlReturn_t(nvmlDevice_t device, unsigned profile, nvmlGpuInstanceProfileInfo_v2_t *info))                      \
    X(DeviceGetGpuInstancePossiblePlacements_v2,                                                                       \
      nvmlReturn_t(nvmlDevice_t device, unsigned id, nvmlPlacement_t *placements, unsigned *count))                    \
    X(DeviceGetGpuInstanceRemainingCapacity, nvmlReturn_t(nvmlDevice_t device, unsigned id, unsigned *count))          \
    X(DeviceCreateGpuInstance, nvmlReturn_t(nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *gi))                  \
    X(DeviceCreateGpuInstanceWithPlacement,                                                                            \
      nvmlReturn_t(nvmlDevice_t device, unsigned id, const nvmlPlacement_t *placement, nvmlGpuInstance_t *gi))         \
    X(DeviceGetGpuInstances, nvmlReturn_t(nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *gis, unsigned *count))  \
    X(GpuInstanceDestroy, nvmlReturn_t(nvmlGpuInstance_t gi))                                                          \
    X(GpuInstanceGetInfo, nvmlReturn_t(nvmlGpuInstance_t gi, nvmlGpuInstanceInfo_t *info))                             \
    X(GpuInstanceGetComputeInstanceProfileInfoV, nvmlReturn_t(nvmlGpuInstance_t gi, unsigned profile, unsigned engine, \
                                                              nvmlComputeInstanceProfileInfo_v2_t *info))              \
    X(GpuInstanceGetComputeInstancePossiblePlacements,                                                                 \
      nvmlReturn_t(nvmlGpuInstance_t gi, unsigned id, nvmlPlacement_t *placements, unsigned *count))                   \
    X(GpuInstanceGetComputeInstanceRemainingCapacity,                                                                  \
      nvmlReturn_t(nvmlGpuInstance_t gi, unsigned id, unsigned *count))                                                \
    X(GpuInstanceCreateComputeInstance, nvmlReturn_t(nvmlGpuInstance_t gi, unsigned id, nvmlComputeInstance_t *ci))    \
    X(GpuInstanceCreateComputeInstanceWithPlacement,                                                                   \
      nvmlReturn_t(nvmlGpuInstance_t gi, unsigned id, const nvmlPlacement_t *placement, nvmlComputeInstance_t *ci))    \
    X(GpuInstanceGetComputeInstances,                                                                                  \
      nvmlReturn_t(nvmlGpuInstance_t gi, unsigned id, nvmlComputeInstance_t *cis, unsigned *count))                    \
    X(ComputeInstanceDestroy, nvmlReturn_t(nvmlComputeInstance_t ci))                                                  \
    X(ComputeInstanceGetInfo_v2, nvmlReturn_t(nvmlComputeInstance_t ci, nvmlComputeInstanceInfo_t *info))

struct nvml_api {
#define X(name, ...) __typeof__(__VA_ARGS__) *name;
    NVML_FUNCTIONS(X)
#undef X
    nvmlReturn_t (*Reset)(nvmlDevice_t device); /* no NVML call: nvidia-smi has a private way, simhwDeviceReset here */
};

extern struct nvml_api nvml;

int nvml_open(void);                                  /* 0, or -1: there is no library */
int nvml_library_version(char *version, size_t size); /* from the library's file name; -1 when it has none there */

#endif
