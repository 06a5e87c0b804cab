/* The properties of a GPU that nvidia-smi shows, each by one function; `which` chooses among the like. */
#ifndef SIMHW_PROPERTIES_H
#define SIMHW_PROPERTIES_H

#include "smi.h"

typedef void getter_t(struct value *value, nvmlDevice_t gpu, int which);

struct property {
    getter_t *get;
    int which;
    const char *unit; /* shown after the number, with its blank; NULL: none */
};

/* Calls of the same form are told apart by their place in the table of NVML's functions. */
#define CALL(name) ((int)offsetof(struct nvml_api, name))

getter_t get_text, get_number, get_switch, get_yes; /* which: CALL(...) */
getter_t get_constant;                              /* which: a TEXT_* below */
enum { TEXT_NOT_SUPPORTED, TEXT_DEPRECATED, TEXT_NONE };

getter_t get_timestamp, get_driver, get_count, get_brand, get_architecture, get_pdi, get_board_id;
getter_t get_gsp_version, get_inforom, get_checksum, get_display_mode, get_display_attached;
getter_t get_addressing_mode, get_c2c, get_virtualization, get_recovery_action, get_compute_mode,
    get_compute_capability;
getter_t get_pci, get_replay_rollovers, get_throughput, get_bar1, get_protected_memory, get_memory;
getter_t get_gsp_mode, get_mig_mode, get_dram_encryption, get_egm;
enum { PCI_BUS_ID, PCI_DOMAIN, PCI_BUS, PCI_DEVICE, PCI_BASE_CLASS, PCI_SUB_CLASS, PCI_DEVICE_ID, PCI_SUB_SYSTEM_ID };
enum { INFOROM_OEM, INFOROM_ECC, INFOROM_POWER };
enum { MEMORY_TOTAL, MEMORY_RESERVED, MEMORY_USED, MEMORY_FREE };
enum { NOW, PENDING };

getter_t get_platform; /* -q says N/A where the board has no such thing; which: PLATFORM_* */
enum { PLATFORM_CHASSIS, PLATFORM_SLOT, PLATFORM_TRAY, PLATFORM_HOST, PLATFORM_PEER, PLATFORM_MODULE, PLATFORM_GUID };

getter_t get_temperature, get_margin, get_threshold, get_memory_temperature, get_milliwatts, get_power, get_power_range;
getter_t get_clock, get_max_clock, get_boost_clock, get_application_clock, get_default_clock, get_performance_state;
getter_t get_reasons, get_supported_reasons, get_reason, get_reason_time, get_power_management, get_power_state;
getter_t get_utilization, get_encoder, get_fbc, get_edpp;
enum { CLOCK_GRAPHICS, CLOCK_SM, CLOCK_MEMORY, CLOCK_VIDEO };
enum {
    UTILIZATION_GPU,
    UTILIZATION_MEMORY,
    UTILIZATION_ENCODER,
    UTILIZATION_DECODER,
    UTILIZATION_JPEG,
    UTILIZATION_OFA
};
enum { STATS_SESSIONS, STATS_FPS, STATS_LATENCY };
enum { POWER_MIN, POWER_MAX };
enum { SCOPE_GPU, SCOPE_MODULE, SCOPE_MEMORY }; /* of a power reading: POWER_READING(field, scope) */
#define POWER_READING(field, scope) ((field) | (scope) << 16)

getter_t get_ecc_mode, get_ecc_total, get_ecc_location, get_sram, get_repair, get_unrepairable, get_retired;
getter_t get_retired_pending, get_remapped, get_remapped_inactive, get_histogram;
#define ECC(uncorrected, aggregate, location) ((uncorrected) | (aggregate) << 1 | (location) << 2)
enum { ECC_L1, ECC_L2, ECC_DRAM, ECC_REGISTERS, ECC_TEXTURE, ECC_TEXTURE_SHARED, ECC_CBU, ECC_SRAM };
enum {
    SRAM_VOLATILE_CORRECTED,
    SRAM_VOLATILE_PARITY,
    SRAM_VOLATILE_SECDED,
    SRAM_VOLATILE_UNCORRECTED,
    SRAM_AGGREGATE_CORRECTED,
    SRAM_AGGREGATE_PARITY,
    SRAM_AGGREGATE_SECDED,
    SRAM_AGGREGATE_UNCORRECTED,
    SRAM_THRESHOLD,
    SRAM_L2,
    SRAM_SM,
    SRAM_MCU,
    SRAM_PCIE,
    SRAM_OTHER
};
enum { REPAIR_CHANNEL, REPAIR_TPC };
enum { REMAPPED_CORRECTABLE, REMAPPED_UNCORRECTABLE, REMAPPED_PENDING, REMAPPED_FAILURE };
enum { HISTOGRAM_MAX, HISTOGRAM_HIGH, HISTOGRAM_PARTIAL, HISTOGRAM_LOW, HISTOGRAM_NONE };
enum { RETIRED_SINGLE, RETIRED_DOUBLE };

getter_t get_fabric;
enum {
    FABRIC_STATE,
    FABRIC_STATUS,
    FABRIC_CLIQUE,
    FABRIC_CLUSTER,
    FABRIC_SUMMARY,
    FABRIC_BANDWIDTH,
    FABRIC_ROUTE_RECOVERY,
    FABRIC_ROUTE_UNHEALTHY,
    FABRIC_TIMEOUT,
    FABRIC_CONFIGURATION,
    FABRIC_PARTITION
};

#endif
