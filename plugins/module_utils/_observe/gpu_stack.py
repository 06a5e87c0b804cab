# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gathers everything about a host's GPU stack in one look, for reports and predictions. Private to this collection."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .._catalog.gpus import NVIDIA
from .._plan.cdi_host import Gpu
from .._plan.gpu_rows import fabric_of, gpu_rows, pci_facts
from .boot import now, read_boot_id
from .cdi_gpus import read_gpus
from .cdi_specs import spec_paths
from .command import Run
from .driver_facts import read_driver_facts
from .files import HostRoot
from .gpus import read_gpu_facts
from .helpers import find_helper
from .kubelet import PROGRAMS, read_kubelet
from .lenient import LenientRoot
from .nvml import Nvml, NvmlFailure, open_nvml
from .pci import read_adapters, read_pci
from .runtimes import has_toml_engine, read_cdi_facts, read_runtimes
from .topology import read_links, read_topology
from .vgpu import read_vgpu_present

SUBSETS = ("pci", "driver", "nvml", "mig", "topology", "runtimes", "cdi", "kubelet")
ASKS_NVML = frozenset({"nvml", "mig", "topology", "cdi"})


# A loaded driver shows itself by one of these.
DRIVERS = ("/proc/driver/nvidia/version", "/dev/dxg", "/dev/nvhost-ctrl", "/dev/nvhost-ctrl-gpu")

NOT_ASKED = "not asked: the host has no NVIDIA GPU"
# Keys of a GPU that only subset nvml has.
NVML_KEYS = {"health", "processes", "fabric"}

NOT_LISTED = "NVML does not list this GPU"
PRODUCT = "/sys/class/dmi/id/product_name"


def missing_helpers(host: HostRoot, subsets: Collection[str]) -> list[str]:
    """The packages that these subsets need on this host, and that it lacks. Without GPU and engine none is needed."""
    wanted = {"pynvml"} if ASKS_NVML & set(subsets) and may_have_nvml(host) else set()
    wanted |= {"tomlkit"} if "runtimes" in subsets and has_toml_engine(host) else set()
    wanted |= {"yaml"} if "cdi" in subsets and spec_paths(host) else set()
    return [name for name in sorted(wanted) if find_helper(name) is None]


def may_have_nvml(host: HostRoot) -> bool:
    """Whether asking NVML makes sense: a GPU on the PCI bus, or a driver of one that is elsewhere (Tegra, WSL)."""
    return bool(read_pci(host, vendor=NVIDIA)) or any(host.exists(p) for p in DRIVERS)


def read_facts(host: LenientRoot, run: Run, subsets: Collection[str]) -> dict[str, Any]:
    """The keys of gpu_info for the chosen subsets. An NVML that does not answer is told in ``driver.nvml``."""
    functions = read_pci(host)
    gpus = [f.address for f in functions if f.vendor == NVIDIA]
    nvml = _ask_nvml(host, subsets) if ASKS_NVML & set(subsets) else None
    why = (nvml["failure"] or NOT_LISTED) if nvml else None
    rows = gpu_rows(functions, nvml["rows"] if nvml else [], {a: _sysfs(host, a) for a in gpus}, error=why)
    facts: dict[str, Any] = {
        "observed_at": now(),
        "boot_id": read_boot_id(host),
        "machine": host.line(PRODUCT),
        "vgpu_present": read_vgpu_present(host, gpus),
        "gpus": _rows(rows, subsets),
        "driver": _driver(host, run, nvml, subsets),
    }
    if "pci" in subsets:
        facts["pci"] = pci_facts(functions, nvml["rows"] if nvml and nvml["available"] else None, read_adapters(host))
    if "topology" in subsets:
        facts["topology"] = _topology(host, rows, nvml)
    if "runtimes" in subsets:
        facts["runtimes"] = read_runtimes(host, run, find_helper("tomlkit"))
    if "cdi" in subsets:
        facts["cdi"] = read_cdi_facts(host, run, find_helper("yaml"), _cdi_gpus(host))
    if "kubelet" in subsets:
        facts["kubelet"] = _kubelet(host, run)
    return {**facts, "unreadable": dict(sorted(host.unreadable.items()))}


def _cdi_gpus(host: HostRoot) -> tuple[Gpu, ...] | None:
    view = read_gpus() if may_have_nvml(host) else None
    return None if view is None or view.error else view.gpus


def _driver(host: HostRoot, run: Run, nvml: dict[str, Any] | None, subsets: Collection[str]) -> dict[str, Any]:
    found = read_driver_facts(host, run) if "driver" in subsets else {}
    if nvml is not None:
        answer = {"available": nvml["available"], "error": nvml["failure"] or nvml["trouble"]}
        found |= {"nvml": answer, "cuda_version": nvml["cuda_version"]}
    return found


def _topology(host: HostRoot, rows: list[dict[str, Any]], nvml: dict[str, Any] | None) -> dict[str, Any]:
    """Every GPU and RDMA adapter of the host; where NVML does not answer, the links between GPUs are unknown."""
    asked = nvml or {"links": {}, "failure": None}
    rdma = {a["pci_address"]: a["rdma"][0] for a in read_adapters(host) if a["rdma"]}
    found = read_topology(host, [r["pci_address"] for r in rows], rdma, asked["links"], error=asked["failure"])
    return {**found, "fabric": fabric_of(rows)}


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
        "registered_devices": None if found.registered is None else dict(found.registered),
    }


def _kubelet_version(host: HostRoot, run: Run) -> str | None:
    """``Kubernetes v1.35.0``; None where there is no program to ask, or another host's tree is read."""
    program = next((p for p in PROGRAMS if host.root == "/" and host.is_executable(p)), None)
    status, out, _err = run([program, "--version"]) if program else (127, "", "")
    return out.split()[-1].lstrip("v") if status == 0 and out.split() else None


def _rows(rows: list[dict[str, Any]], subsets: Collection[str]) -> list[dict[str, Any]]:
    """Without subset mig the rows have no key mig; without nvml only what identifies a GPU."""
    hidden = {"mig"} - set(subsets) | (set() if "nvml" in subsets else NVML_KEYS)
    return [{k: v for k, v in row.items() if k not in hidden} for row in rows]


def _ask_nvml(host: HostRoot, subsets: Collection[str]) -> dict[str, Any]:
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


def _sysfs(host: HostRoot, address: str) -> dict[str, Any]:
    """NUMA node (sysfs says -1 on a machine without) and class with all six digits."""
    folder = f"/sys/bus/pci/devices/{address}"
    node = host.line(f"{folder}/numa_node")
    return {
        "numa_node": int(node) if node and node.isdigit() else None,
        "pci_class": host.line(f"{folder}/class"),
    }
