# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lays what PCI says of GPUs over what NVML says. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._catalog.gpus import GPU_CLASSES, NVIDIA, NVSWITCH_CLASS, board_of, range_of
from .facts import PciFunction

NETWORK_CLASSES = ("0200", "0207")
Sysfs = Mapping[str, Mapping[str, Any]]
NOTHING_IN_SYSFS: dict[str, Any] = {"numa_node": None, "pci_class": None}
UNKNOWN_MIG: dict[str, Any] = {"capable": None, "enabled": None, "pending": None, "devices": []}


def gpu_rows(functions: Sequence[PciFunction], nvml: Sequence[Mapping[str, Any]], sysfs: Sysfs) -> list[dict[str, Any]]:
    """One row a GPU: NVML's where it lists the GPU, else what PCI tells, with ``uuid``, ``minor`` and ``index`` null.

    ``sysfs``: PCI address -> ``numa_node`` and ``pci_class`` (0x030200). NVML's rows come first, in its order.
    """
    by_address = {f.address: f for f in functions if _is_gpu(f)}
    rows = [_with_pci(row, sysfs) for row in nvml if "uuid" in row]
    seen = {row["pci_address"] for row in rows}
    return rows + [_from_pci(f, sysfs) for a, f in by_address.items() if a not in seen]


def pci_facts(functions: Sequence[PciFunction], nvml: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    """NVSwitches, network adapters, and GPUs that PCI has and NVML lacks (None where NVML was not asked)."""
    known = None if nvml is None else {row.get("pci_address") for row in nvml}
    return {
        "nvswitches": [_function(f) for f in functions if f.vendor == NVIDIA and f.pci_class == NVSWITCH_CLASS],
        "nics": [_function(f) for f in functions if f.pci_class in NETWORK_CLASSES],
        "missing_in_nvml": None
        if known is None
        else [f.address for f in functions if _is_gpu(f) and f.address not in known],
    }


def _is_gpu(function: PciFunction) -> bool:
    return function.vendor == NVIDIA and function.pci_class in GPU_CLASSES


def _function(function: PciFunction) -> dict[str, Any]:
    return {"pci_address": function.address, "pci_id": function.id, "driver": function.driver}


def _with_pci(row: Mapping[str, Any], sysfs: Sysfs) -> dict[str, Any]:
    return {**row, **sysfs.get(row["pci_address"], NOTHING_IN_SYSFS)}


def _from_pci(function: PciFunction, sysfs: Sysfs) -> dict[str, Any]:
    device = int(function.device, 16)
    board, known = board_of(device), range_of(device)
    return {
        "index": None,
        "minor": None,
        "uuid": None,
        "name": board.name if board else None,
        "pci_address": function.address,
        "pci_id": function.id,
        "architecture": known.architecture.lower() if known else None,
        "compute_capability": None,
        "memory_mib": None,
        "mig": {**UNKNOWN_MIG, "capable": board.mig if board else None},
        "health": None,
        "processes": [],
        "fabric": None,
        "error": None,
        **sysfs.get(function.address, NOTHING_IN_SYSFS),
    }
