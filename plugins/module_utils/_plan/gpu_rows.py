# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lays what PCI says of GPUs over what NVML says. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._catalog.fabrics import switch_of
from .._catalog.gpus import GPU_CLASSES, NVIDIA, NVSWITCH_CLASS, board_of, range_of
from .facts import PciFunction

Sysfs = Mapping[str, Mapping[str, Any]]
NOTHING_IN_SYSFS: dict[str, Any] = {"numa_node": None, "pci_class": None}
UNKNOWN_MIG: dict[str, Any] = {"capable": None, "enabled": None, "pending": None, "devices": []}


def gpu_rows(
    functions: Sequence[PciFunction], nvml: Sequence[Mapping[str, Any]], sysfs: Sysfs, *, error: str | None = None
) -> list[dict[str, Any]]:
    """One row a GPU: NVML's where it identifies the GPU, else what PCI tells, with ``uuid``, ``minor`` and ``index``
    null and the reason in ``error``. NVML's rows come first, in its order.

    ``nvml``: rows of read_gpu_facts. ``sysfs``: PCI address -> ``numa_node`` and ``pci_class`` (0x030200). ``error``:
    why NVML does not list a GPU that it has no row for; None where it was not asked.
    """
    rows = [_with_pci(row, sysfs) for row in nvml if "uuid" in row]
    seen = {row["pci_address"] for row in rows}
    rest = [f for f in functions if _is_gpu(f) and f.address not in seen]
    broken = [row for row in nvml if "uuid" not in row]
    return rows + [_from_pci(f, sysfs, _why(f, rest, broken) or error) for f in rest]


def _why(function: PciFunction, rest: Sequence[PciFunction], broken: Sequence[Mapping[str, Any]]) -> str:
    """What NVML said of a GPU that it cannot identify. A row without address belongs to one of ``rest``."""
    own = next((str(row["error"]) for row in broken if row.get("pci_address") == function.address), "")
    stray = [row for row in broken if not row.get("pci_address")]
    placed = {row.get("pci_address") for row in broken}
    nameless = [f for f in rest if f.address not in placed]
    if own or not stray:
        return own
    if len(nameless) == 1:
        return str(stray[0]["error"])
    told = "; ".join(f"index {row['index']}: {row['error']}" for row in stray)
    return f"it is one of {len(nameless)} GPUs that NVML does not identify ({told})"


def pci_facts(
    functions: Sequence[PciFunction],
    nvml: Sequence[Mapping[str, Any]] | None,
    adapters: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """NVSwitches, network adapters (``adapters``), and GPUs that PCI has and NVML lacks (None where NVML was not
    asked).
    """
    known = None if nvml is None else {row.get("pci_address") for row in nvml}
    return {
        "nvswitches": [_switch(f) for f in functions if f.vendor == NVIDIA and f.pci_class == NVSWITCH_CLASS],
        "nics": list(adapters),
        "missing_in_nvml": None
        if known is None
        else [f.address for f in functions if _is_gpu(f) and f.address not in known],
    }


def fabric_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The NVLink fabric of a host: of each of ``state``, ``clique`` and ``cluster_uuid`` the value that all its GPUs
    share, None where they differ. None where no GPU has a fabric.
    """
    found = [row["fabric"] for row in rows if row.get("fabric")]
    if not found:
        return None
    return {key: found[0][key] if all(f[key] == found[0][key] for f in found) else None for key in found[0]}


def _is_gpu(function: PciFunction) -> bool:
    return function.vendor == NVIDIA and function.pci_class in GPU_CLASSES


def _switch(function: PciFunction) -> dict[str, Any]:
    known = switch_of(int(function.device, 16))
    return {
        "pci_address": function.address,
        "pci_id": function.id,
        "generation": known.generation if known else None,
        "driver": function.driver,
    }


def _with_pci(row: Mapping[str, Any], sysfs: Sysfs) -> dict[str, Any]:
    return {**row, **sysfs.get(row["pci_address"], NOTHING_IN_SYSFS)}


def _from_pci(function: PciFunction, sysfs: Sysfs, error: str | None) -> dict[str, Any]:
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
        "processes": None,
        "fabric": None,
        "error": error,
        "unknown": {},
        **sysfs.get(function.address, NOTHING_IN_SYSFS),
    }
