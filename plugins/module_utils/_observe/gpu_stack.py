# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gathers everything about a host's GPU stack in one look, for reports and predictions. Private to this collection."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .._catalog.gpus import NVIDIA
from .._plan.gpu_rows import gpu_rows, pci_facts
from .boot import now, read_boot_id
from .cdi_gpus import read_gpus
from .command import Run
from .driver_facts import read_driver_facts
from .files import HostRoot
from .gpus import read_gpu_facts
from .helpers import find_helper
from .kubelet import PROGRAMS, read_kubelet
from .nvml import Nvml, NvmlFailure, open_nvml
from .pci import read_pci
from .runtimes import read_cdi_facts, read_runtimes
from .topology import read_topology
from .vgpu import read_vgpu_present

SUBSETS = ("pci", "driver", "nvml", "mig", "topology", "runtimes", "cdi", "kubelet")
ASKS_NVML = frozenset({"nvml", "mig", "topology", "cdi"})

# subset -> Python package that it needs on the host
HELPERS = {"nvml": "pynvml", "mig": "pynvml", "topology": "pynvml", "runtimes": "tomlkit", "cdi": "yaml"}

PRODUCT = "/sys/class/dmi/id/product_name"


def missing_helpers(subsets: Collection[str]) -> list[str]:
    """The packages that these subsets need and this host lacks."""
    wanted = sorted({HELPERS[s] for s in subsets if s in HELPERS} | ({"pynvml"} if "cdi" in subsets else set()))
    return [name for name in wanted if find_helper(name) is None]


def read_facts(host: HostRoot, run: Run, subsets: Collection[str]) -> dict[str, Any]:
    """The keys of gpu_info for the chosen subsets. An NVML that does not answer is told in ``driver.nvml``."""
    functions = read_pci(host)
    gpus = [f.address for f in functions if f.vendor == NVIDIA]
    nvml = _ask_nvml(host, subsets) if ASKS_NVML & set(subsets) else None
    rows = nvml["rows"] if nvml else []
    facts: dict[str, Any] = {
        "observed_at": now(),
        "boot_id": read_boot_id(host),
        "machine": host.line(PRODUCT),
        "vgpu_present": read_vgpu_present(host, gpus),
        "gpus": _rows(gpu_rows(functions, rows, {a: _sysfs(host, a) for a in gpus}), subsets),
        "driver": {},
    }
    if "pci" in subsets:
        facts["pci"] = pci_facts(functions, rows if nvml and nvml["available"] else None)
    if "driver" in subsets:
        facts["driver"] = read_driver_facts(host, run)
    if nvml is not None:
        facts["driver"]["nvml"] = {"available": nvml["available"], "error": nvml["error"]}
        facts["driver"]["cuda_version"] = nvml["cuda_version"]
    if "topology" in subsets:
        facts["topology"] = nvml["topology"] if nvml else None
    if "runtimes" in subsets:
        facts["runtimes"] = read_runtimes(host, run, find_helper("tomlkit"))
    if "cdi" in subsets:
        view = read_gpus()
        facts["cdi"] = read_cdi_facts(host, find_helper("yaml"), None if view.error else view.gpus)
    if "kubelet" in subsets:
        facts["kubelet"] = _kubelet(host, run)
    return facts


def _kubelet(host: HostRoot, run: Run) -> dict[str, Any]:
    found = read_kubelet(host)
    return {
        "present": found.present,
        "running": found.running,
        "version": _kubelet_version(host, run),
        "root_directory": found.root,
        "cgroup_driver": found.cgroup_driver,
        "runtime_endpoint": found.endpoint or None,
        "engine": found.engine or None,
        "node_name": found.node_name or None,
        "device_plugin_sockets": list(found.sockets),
    }


def _kubelet_version(host: HostRoot, run: Run) -> str | None:
    """``Kubernetes v1.35.0``; None where there is no program to ask, or another host's tree is read."""
    program = next((p for p in PROGRAMS if host.root == "/" and host.is_executable(p)), None)
    status, out, _err = run([program, "--version"]) if program else (127, "", "")
    return out.split()[-1].lstrip("v") if status == 0 and out.split() else None


def _rows(rows: list[dict[str, Any]], subsets: Collection[str]) -> list[dict[str, Any]]:
    """Without subset mig the rows have no key mig; without nvml only what identifies a GPU."""
    hidden = {"mig"} - set(subsets) | ({"health", "processes", "fabric"} if "nvml" not in subsets else set())
    return [{k: v for k, v in row.items() if k not in hidden} for row in rows]


def _ask_nvml(host: HostRoot, subsets: Collection[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"available": False, "error": None, "rows": [], "cuda_version": None, "topology": None}
    try:
        with open_nvml() as nvml:
            found["rows"] = read_gpu_facts(nvml)
            found["cuda_version"] = _cuda_version(nvml)
            found["topology"] = _topology(host, nvml) if "topology" in subsets else None
            found["available"] = True
    except NvmlFailure as failure:
        found["error"] = str(failure)
    broken = [f"GPU {row['index']}: {row['error']}" for row in found["rows"] if row.get("error")]
    return {**found, "error": found["error"] or "; ".join(broken) or None}


def _cuda_version(nvml: Nvml) -> str | None:
    """The highest CUDA that the driver runs, ``12.8``; NVML says 12080."""
    number = nvml.ask("nvmlSystemGetCudaDriverVersion_v2")
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"


def _topology(host: HostRoot, nvml: Nvml) -> dict[str, Any]:
    try:
        return {**read_topology(host, nvml), "error": None}
    except NvmlFailure as failure:
        return {"gpus": [], "matrix": None, "affinity": None, "error": str(failure)}


def _sysfs(host: HostRoot, address: str) -> dict[str, Any]:
    """NUMA node (sysfs says -1 on a machine without) and class with all six digits."""
    folder = f"/sys/bus/pci/devices/{address}"
    node = host.line(f"{folder}/numa_node")
    return {
        "numa_node": int(node) if node and int(node) >= 0 else None,
        "pci_class": host.line(f"{folder}/class"),
    }
