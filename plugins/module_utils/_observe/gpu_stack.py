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
from .helpers import find_helper
from .kubelet_facts import read_kubelet_facts
from .lenient import LenientRoot
from .nvml_facts import ask_nvml, may_have_nvml
from .pci import read_adapters, read_pci
from .runtimes import has_toml_engine, read_cdi_facts, read_runtimes
from .topology import read_topology
from .vgpu import read_vgpu_present

SUBSETS = ("pci", "driver", "nvml", "mig", "topology", "runtimes", "cdi", "kubelet")
ASKS_NVML = frozenset({"nvml", "mig", "topology", "cdi"})


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


def read_facts(host: LenientRoot, run: Run, subsets: Collection[str]) -> dict[str, Any]:
    """The keys of gpu_info for the chosen subsets. An NVML that does not answer is told in ``driver.nvml``."""
    functions = read_pci(host)
    gpus = [f.address for f in functions if f.vendor == NVIDIA]
    nvml = ask_nvml(host, subsets) if ASKS_NVML & set(subsets) else None
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
        facts["kubelet"] = read_kubelet_facts(host, run)
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


def _rows(rows: list[dict[str, Any]], subsets: Collection[str]) -> list[dict[str, Any]]:
    """Without subset mig the rows have no key mig; without nvml only what identifies a GPU."""
    hidden = {"mig"} - set(subsets) | (set() if "nvml" in subsets else NVML_KEYS)
    return [{k: v for k, v in row.items() if k not in hidden} for row in rows]


def _sysfs(host: HostRoot, address: str) -> dict[str, Any]:
    """NUMA node (sysfs says -1 on a machine without) and class with all six digits."""
    folder = f"/sys/bus/pci/devices/{address}"
    node = host.line(f"{folder}/numa_node")
    return {
        "numa_node": int(node) if node and node.isdigit() else None,
        "pci_class": host.line(f"{folder}/class"),
    }
