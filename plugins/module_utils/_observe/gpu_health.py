# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a GPU's health through NVML: memory, temperature, power, clocks, PCIe. Private to this collection."""

from __future__ import annotations

from typing import Any

from .nvml import Nvml
from .nvml_reader import NvmlReader

TEMPERATURE_GPU = 0
CORRECTED, UNCORRECTED = 0, 1
VOLATILE, AGGREGATE = 0, 1

# nvmlClocksEventReason* bits (nvml.h)
THROTTLE_REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake",
    0x100: "display_clocks",
}


def read_health(nvml: Nvml, gpu: Any) -> dict[str, Any]:
    """What the GPU says of itself. A value that it does not give is None, and ``unknown`` names the reason by key."""
    reader = NvmlReader(nvml, gpu)
    mode = reader.ask("ecc", "nvmlDeviceGetEccMode")
    rows = reader.ask("remapped_rows", "nvmlDeviceGetRemappedRows")
    power = reader.ask("power_w", "nvmlDeviceGetPowerUsage")
    limit = reader.ask("power_limit_w", "nvmlDeviceGetEnforcedPowerLimit")
    reasons = reader.ask("throttle_reasons", "nvmlDeviceGetCurrentClocksEventReasons")
    return {
        "ecc": None if mode is None else _ecc(reader, mode),
        "remapped_rows": None if rows is None else _remapped(rows),
        "temperature_c": reader.ask("temperature_c", "nvmlDeviceGetTemperature", TEMPERATURE_GPU),
        "power_w": None if power is None else power / 1000,
        "power_limit_w": None if limit is None else limit / 1000,
        "throttle_reasons": None if reasons is None else [n for bit, n in THROTTLE_REASONS.items() if reasons & bit],
        "link": {
            "generation": reader.ask("link.generation", "nvmlDeviceGetCurrPcieLinkGeneration"),
            "generation_max": reader.ask("link.generation_max", "nvmlDeviceGetMaxPcieLinkGeneration"),
            "width": reader.ask("link.width", "nvmlDeviceGetCurrPcieLinkWidth"),
            "width_max": reader.ask("link.width_max", "nvmlDeviceGetMaxPcieLinkWidth"),
        },
        "unknown": reader.unknown,
    }


def _ecc(reader: NvmlReader, mode: tuple[int, int]) -> dict[str, Any]:
    kinds = {"corrected": CORRECTED, "uncorrected": UNCORRECTED}
    counters = {"volatile": VOLATILE, "aggregate": AGGREGATE}
    errors = {
        f"{kind}_{counter}": reader.ask(f"ecc.{kind}_{counter}", "nvmlDeviceGetTotalEccErrors", k, c)
        for kind, k in kinds.items()
        for counter, c in counters.items()
    }
    return {"enabled": bool(mode[0]), "pending": bool(mode[1]), **errors}


def _remapped(rows: tuple[int, int, int, int]) -> dict[str, Any]:
    correctable, uncorrectable, pending, failed = rows
    return {
        "correctable": correctable,
        "uncorrectable": uncorrectable,
        "pending": bool(pending),
        "failed": bool(failed),
    }
