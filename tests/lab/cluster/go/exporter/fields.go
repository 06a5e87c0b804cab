// Copyright: gpu.fleet contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// fields are those of dcgm-exporter's default-counters.csv; each reads its value in the unit that DCGM has.
var fields = map[string]func(device) float64{
	"DCGM_FI_DEV_SM_CLOCK":  func(d device) float64 { return clock(d, nvml.CLOCK_SM) },
	"DCGM_FI_DEV_MEM_CLOCK": func(d device) float64 { return clock(d, nvml.CLOCK_MEM) },
	"DCGM_FI_DEV_GPU_TEMP": func(d device) float64 {
		value, ret := d.gpu.GetTemperature(nvml.TEMPERATURE_GPU)
		return number(float64(value), ret)
	},
	"DCGM_FI_DEV_MEMORY_TEMP": zero,
	"DCGM_FI_DEV_POWER_USAGE": func(d device) float64 {
		milliwatts, ret := d.gpu.GetPowerUsage()
		return number(float64(milliwatts)/1000, ret)
	},
	"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": func(d device) float64 {
		millijoules, ret := d.gpu.GetTotalEnergyConsumption()
		return number(float64(millijoules), ret)
	},
	"DCGM_FI_DEV_PCIE_REPLAY_COUNTER": func(d device) float64 {
		value, ret := d.gpu.GetPcieReplayCounter()
		return number(float64(value), ret)
	},
	"DCGM_FI_DEV_GPU_UTIL":      func(d device) float64 { return float64(utilization(d).Gpu) },
	"DCGM_FI_DEV_MEM_COPY_UTIL": func(d device) float64 { return float64(utilization(d).Memory) },
	"DCGM_FI_DEV_ENC_UTIL": func(d device) float64 {
		value, _, ret := d.gpu.GetEncoderUtilization()
		return number(float64(value), ret)
	},
	"DCGM_FI_DEV_DEC_UTIL": func(d device) float64 {
		value, _, ret := d.gpu.GetDecoderUtilization()
		return number(float64(value), ret)
	},
	"DCGM_FI_DEV_XID_ERRORS":  zero,
	"DCGM_FI_DEV_FB_FREE":     func(d device) float64 { return mebibytes(d.memory().Free) },
	"DCGM_FI_DEV_FB_USED":     func(d device) float64 { return mebibytes(d.memory().Used) },
	"DCGM_FI_DEV_FB_RESERVED": func(d device) float64 { return mebibytes(d.memory().Reserved) },
	"DCGM_FI_DEV_FB_TOTAL":    func(d device) float64 { return mebibytes(d.memory().Total) },
	"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": func(d device) float64 {
		_, uncorrectable, _, _, ret := d.gpu.GetRemappedRows()
		return number(float64(uncorrectable), ret)
	},
	"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": func(d device) float64 {
		correctable, _, _, _, ret := d.gpu.GetRemappedRows()
		return number(float64(correctable), ret)
	},
	"DCGM_FI_DEV_ROW_REMAP_FAILURE": func(d device) float64 {
		_, _, _, failed, ret := d.gpu.GetRemappedRows()
		if failed {
			return number(1, ret)
		}
		return 0
	},
	"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL": zero,
	"DCGM_FI_DEV_VGPU_LICENSE_STATUS":    zero,
	"DCGM_FI_PROF_GR_ENGINE_ACTIVE":      zero,
	"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE":    zero,
	"DCGM_FI_PROF_DRAM_ACTIVE":           zero,
	"DCGM_FI_PROF_PCIE_TX_BYTES":         zero,
	"DCGM_FI_PROF_PCIE_RX_BYTES":         zero,
}

// labels are fields of type label: their text goes on every series.
var labels = map[string]func(device) string{
	"DCGM_FI_DRIVER_VERSION": func(device) string { return driverVersion() },
	"DCGM_FI_NVML_VERSION":   func(device) string { return nvmlVersion() },
	"DCGM_FI_DEV_SERIAL":     func(d device) string { return text(d.gpu.GetSerial()) },
	"DCGM_FI_DEV_BRAND":      func(device) string { return "NVIDIA" },
	"DCGM_FI_DEV_VBIOS_VERSION": func(d device) string {
		return text(d.gpu.GetVbiosVersion())
	},
}

// others exist in DCGM, and have no series here.
var others = names(
	"DCGM_FI_DEV_THERMAL_VIOLATION", "DCGM_FI_DEV_POWER_VIOLATION", "DCGM_FI_DEV_SYNC_BOOST_VIOLATION",
	"DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", "DCGM_FI_DEV_LOW_UTIL_VIOLATION", "DCGM_FI_DEV_RELIABILITY_VIOLATION",
	"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL",
	"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "DCGM_FI_DEV_RETIRED_SBE", "DCGM_FI_DEV_RETIRED_DBE", "DCGM_FI_DEV_RETIRED_PENDING",
	"DCGM_FI_DEV_ROW_REMAP_PENDING", "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
	"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
	"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_PROF_SM_ACTIVE",
	"DCGM_FI_PROF_SM_OCCUPANCY", "DCGM_FI_PROF_PIPE_FP64_ACTIVE", "DCGM_FI_PROF_PIPE_FP32_ACTIVE",
	"DCGM_FI_PROF_PIPE_FP16_ACTIVE", "DCGM_EXP_CLOCK_EVENTS_COUNT", "DCGM_EXP_XID_ERRORS_COUNT",
	"DCGM_EXP_GPU_HEALTH_STATUS", "DCGM_EXP_P2P_STATUS",
)

func names(list ...string) map[string]bool {
	found := map[string]bool{}
	for _, name := range list {
		found[name] = true
	}
	return found
}

func zero(device) float64 { return 0 }

func clock(d device, kind nvml.ClockType) float64 {
	value, ret := d.gpu.GetClockInfo(kind)
	return number(float64(value), ret)
}

func utilization(d device) nvml.Utilization {
	value, ret := d.gpu.GetUtilizationRates()
	if ret != nvml.SUCCESS {
		return nvml.Utilization{}
	}
	return value
}

func number(value float64, ret nvml.Return) float64 {
	if ret != nvml.SUCCESS {
		return 0
	}
	return value
}

func text(value string, ret nvml.Return) string {
	if ret != nvml.SUCCESS {
		return ""
	}
	return value
}

func mebibytes(bytes uint64) float64 { return float64(bytes >> 20) }
