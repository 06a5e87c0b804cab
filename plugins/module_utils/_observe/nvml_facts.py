# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks NVML about all GPUs of a host at once. Private to this collection."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .._catalog.gpus import NVIDIA
from .files import HostRoot
from .gpus import read_gpu_facts
from .nvml import Nvml, NvmlFailure, open_nvml
from .pci import read_pci
from .topology import read_links

# A loaded driver shows itself by one of these.
DRIVERS = ("/proc/driver/nvidia/version", "/dev/dxg", "/dev/nvhost-ctrl", "/dev/nvhost-ctrl-gpu")

NOT_ASKED = "not asked: the host has no NVIDIA GPU"


def may_have_nvml(host: HostRoot) -> bool:
    """Whether asking NVML makes sense: a GPU on the PCI bus, or a driver of one that is elsewhere (Tegra, WSL)."""
    return bool(read_pci(host, vendor=NVIDIA)) or any(host.exists(p) for p in DRIVERS)


def ask_nvml(host: HostRoot, subsets: Collection[str]) -> dict[str, Any]:
    """``failure``: why NVML told nothing, or not all; ``trouble``: of single GPUs. None where all is well."""
    found: dict[str, Any] = {"available": False, "failure": None, "rows": [], "cuda_version": None, "links": {}}
    if not may_have_nvml(host):
        return {**found, "failure": NOT_ASKED, "trouble": None}
    try:
        with open_nvml() as nvml:
            found["rows"] = read_gpu_facts(nvml)
            found["cuda_version"] = _cuda_version(nvml)
            found["available"] = True
            found["links"] = read_links(nvml) if "topology" in subsets else {}
    except NvmlFailure as failure:
        found["failure"] = str(failure)
    broken = [f"GPU {row['index']}: {row['error']}" for row in found["rows"] if row.get("error")]
    return {**found, "trouble": "; ".join(broken) or None}


def _cuda_version(nvml: Nvml) -> str | None:
    """The highest CUDA that the driver runs, ``12.8``; NVML says 12080."""
    number = nvml.ask("nvmlSystemGetCudaDriverVersion_v2")
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"
