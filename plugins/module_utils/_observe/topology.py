# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads how GPUs and RDMA adapters are connected: NVML between GPUs, sysfs for the rest. Private to this collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from .._plan.pci_topology import PciPlace, link_kind, pci_place
from .files import HostRoot
from .nvml import ABSENT, INVALID_ARGUMENT, Nvml, NvmlFailure, sysfs_address

# NVML_TOPOLOGY_* -> the words of nvidia-smi topo -m
ANCESTORS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
MOST_LINKS = 18  # NVML_NVLINK_MAX_LINKS
DEVICE_TYPE_SWITCH = 2  # NVML_NVLINK_DEVICE_TYPE_SWITCH
SWITCH = "switch"
DEVICES = "/sys/bus/pci/devices"
UNASKED = (*ABSENT, INVALID_ARGUMENT)

# PCI addresses of two GPUs -> their kind of link
Pairs = Mapping[tuple[str, str], "str | None"]


def read_links(nvml: Nvml) -> dict[tuple[str, str], str | None]:
    """What NVML says of each pair of GPUs that it can open: ``NV18``, an ancestor's word, or None where it cannot say.

    Raises NvmlFailure.
    """
    handles = [h for h in nvml.gpus() if not isinstance(h, NvmlFailure)]
    gpus = {sysfs_address(nvml.call("nvmlDeviceGetPciInfo", h).busId): h for h in handles}
    ends = {a: Counter(_link_ends(nvml, h, gpus)) for a, h in gpus.items()}
    return {(a, b): _nvlink(ends, a, b) or _ancestor(nvml, gpus, a, b) for a in gpus for b in gpus if a != b}


def read_topology(
    host: HostRoot, gpus: Sequence[str], adapters: Mapping[str, str], links: Pairs, *, error: str | None
) -> dict[str, Any]:
    """``gpus``: PCI addresses; ``adapters``: PCI address -> name (mlx5_0); ``links``: of read_links.

    ``devices``: GPUs, then adapters; ``matrix``: one row and one column a device, in their order; None where nobody can
    say. ``affinity``: CPUs and NUMA node of each device. ``error``: why NVML told nothing.
    """
    names: dict[str, str | None] = {**dict.fromkeys(gpus), **adapters}
    affinity = {address: _affinity(host, address) for address in names}
    places = {a: pci_place(host.resolve(f"{DEVICES}/{a}"), affinity[a]["numa_node"]) for a in names}
    return {
        "devices": [{"pci_address": a, "kind": "gpu" if a in gpus else "nic", "name": n} for a, n in names.items()],
        "matrix": [[_cell(a, b, set(gpus), places, links) for b in names] for a in names],
        "affinity": [{"pci_address": a, **row} for a, row in affinity.items()],
        "error": error,
    }


def _cell(a: str, b: str, gpus: set[str], places: Mapping[str, PciPlace], links: Pairs) -> str | None:
    """Between two GPUs only NVML knows: sysfs does not show NVLink."""
    if a == b:
        return "X"
    return links.get((a, b)) if {a, b} <= gpus else link_kind(places[a], places[b])


def _link_ends(nvml: Nvml, gpu: Any, gpus: Collection[str]) -> Iterator[str]:
    """For each active NVLink the PCI address of the GPU at its other end, or SWITCH."""
    for link in range(MOST_LINKS):
        active = nvml.ask("nvmlDeviceGetNvLinkState", gpu, link, absent=UNASKED)
        if active is None:  # no NVLink, or no further one
            return
        remote = nvml.ask("nvmlDeviceGetNvLinkRemotePciInfo", gpu, link, absent=UNASKED) if active else None
        address = sysfs_address(remote.busId) if remote else ""
        if address in gpus:
            yield address
        elif active and _ends_in_switch(nvml, gpu, link, address):
            yield SWITCH


def _ends_in_switch(nvml: Nvml, gpu: Any, link: int, address: str) -> bool:
    """Virtual machines are told the kind of the other end, not its address; old libraries the address alone."""
    kind = nvml.ask("nvmlDeviceGetNvLinkRemoteDeviceType", gpu, link, absent=UNASKED)
    return kind == DEVICE_TYPE_SWITCH or (kind is None and bool(address))


def _nvlink(ends: Mapping[str, Counter[str]], a: str, b: str) -> str | None:
    """``NV18``: links from one to the other, or as many as both have to switches, which connect all with all."""
    count = ends[a][b] or min(ends[a][SWITCH], ends[b][SWITCH])
    return f"NV{count}" if count else None


def _ancestor(nvml: Nvml, gpus: Mapping[str, Any], a: str, b: str) -> str | None:
    return ANCESTORS.get(nvml.ask("nvmlDeviceGetTopologyCommonAncestor", gpus[a], gpus[b], absent=UNASKED))


def _affinity(host: HostRoot, address: str) -> dict[str, Any]:
    folder = f"{DEVICES}/{address}"
    node = host.line(f"{folder}/numa_node")
    return {
        "cpus": host.line(f"{folder}/local_cpulist"),
        "numa_node": int(node) if node and node.isdigit() else None,
    }
