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
UNKNOWN_MIG: dict[str, Any] = {"capable": None, "enabled": None, "pending": None, "devices": []}


def gpu_rows(
    functions: Sequence[PciFunction], nvml: Sequence[Mapping[str, Any]], numa: Mapping[str, int | None]
) -> list[dict[str, Any]]:
    """One row a GPU: NVML's where it lists the GPU, else what PCI tells, with ``uuid``, ``minor`` and ``index`` null.

    ``numa``: PCI address -> NUMA node. NVML's rows come first, in its order.
    """
    by_address = {f.address: f for f in functions if _is_gpu(f)}
    rows = [_with_pci(row, by_address.get(row.get("pci_address", "")), numa) for row in nvml if "uuid" in row]
    seen = {row["pci_address"] for row in rows}
    return rows + [_from_pci(f, numa) for a, f in by_address.items() if a not in seen]


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


def _with_pci(row: Mapping[str, Any], function: PciFunction | None, numa: Mapping[str, int | None]) -> dict[str, Any]:
    pci_class = function.pci_class if function else None
    return {**row, "numa_node": numa.get(row["pci_address"]), "pci_class": pci_class and f"0x{pci_class}"}


def _from_pci(function: PciFunction, numa: Mapping[str, int | None]) -> dict[str, Any]:
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
        "numa_node": numa.get(function.address),
        "pci_class": f"0x{function.pci_class}",
    }
