# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of a GPU that the state file may set. What it does not set follows from the model and the load.

The C library gets the names from here: a new value is one row, and one place in nvml/ that reads it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    """`lasting`: it outlives a GPU reset and the driver, as what the InfoROM or the surroundings hold does."""

    key: str
    meaning: str
    lasting: bool = True


VALUES = (
    Value("temperature", "GPU temperature in degrees Celsius"),
    Value("memory_temperature", "temperature of the HBM in degrees Celsius"),
    Value("power", "power draw in milliwatts"),
    Value("utilization", "busy share of the GPU in percent"),
    Value("memory_utilization", "busy share of the memory interface in percent"),
    Value("clock_graphics", "graphics and SM clock in MHz"),
    Value("clock_memory", "memory clock in MHz"),
    Value("fan", "fan speed in percent, on boards with fans"),
    Value("event_reasons", "clocks event (throttle) reasons, nvmlClocksEventReason* as a mask"),
    Value("pcie_generation", "current PCIe generation"),
    Value("pcie_width", "current PCIe width in lanes"),
    Value("pcie_replay", "PCIe replays", lasting=False),
    Value("ecc", "ECC mode now"),
    Value("ecc_pending", "ECC mode after the next reset"),
    Value("sram_exceeded", "1: too many uncorrectable SRAM errors"),
    Value("remapped_correctable", "rows remapped for correctable errors"),
    Value("remapped_uncorrectable", "rows remapped for uncorrectable errors"),
    Value("remap_pending", "1: a row waits for the next reset to be remapped", lasting=False),
    Value("remap_failed", "1: a row could not be remapped"),
    Value("banks_high", "banks with high availability of spare rows"),
    Value("banks_partial", "banks with partial availability"),
    Value("banks_low", "banks with low availability"),
    Value("banks_none", "banks without spare rows"),
    Value("retired_pending", "1: a page waits for the next reset to be retired", lasting=False),
    Value("recovery_action", "NVML_GPU_RECOVERY_ACTION_*", lasting=False),
    Value("inforom_corrupted", "1: the InfoROM fails its check"),
    Value("power_limit", "power limit that was set, in milliwatts", lasting=False),
    Value("compute_mode", "NVML_COMPUTEMODE_*", lasting=False),
    Value("clock_low", "lower bound of locked graphics clocks in MHz", lasting=False),
    Value("clock_high", "upper bound of locked graphics clocks in MHz", lasting=False),
    Value("memory_clock_low", "lower bound of locked memory clocks in MHz", lasting=False),
    Value("memory_clock_high", "upper bound of locked memory clocks in MHz", lasting=False),
)
KEYS = tuple(value.key for value in VALUES)
LOST_WITH_RESET = frozenset(value.key for value in VALUES if not value.lasting)
# Set by what surrounds the board: healing it sets them back, and nothing else does.
SURROUNDINGS = frozenset(KEYS[: KEYS.index("pcie_replay")])
