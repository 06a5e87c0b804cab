# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads how GPUs are connected, through NVML. Private to this collection."""

from __future__ import annotations

from typing import Any

from .files import HostRoot
from .nvml import ABSENT, INVALID_ARGUMENT, Nvml, NvmlFailure, sysfs_address

# NVML_TOPOLOGY_* -> the words of nvidia-smi topo -m
ANCESTORS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
MOST_LINKS = 18
NO_NUMA_NODE = -1


def read_topology(host: HostRoot, nvml: Nvml) -> dict[str, Any]:
    """``matrix``: link kind for each pair of GPUs by index (``X`` on the diagonal, None where NVML cannot say);
    ``affinity``: CPUs and NUMA node of each GPU, from sysfs. Network adapters are not looked at.
    """
    handles = {i: h for i, h in enumerate(nvml.gpus()) if not isinstance(h, NvmlFailure)}
    addresses = {i: sysfs_address(nvml.call("nvmlDeviceGetPciInfo", h).busId) for i, h in handles.items()}
    links = {i: _remote_links(nvml, h) for i, h in handles.items()}
    return {
        "gpus": list(addresses.values()),
        "matrix": [[_kind(nvml, handles, addresses, links, (a, b)) for b in handles] for a in handles],
        "affinity": [{"pci_address": a, **_affinity(host, a)} for a in addresses.values()],
    }


def _kind(
    nvml: Nvml,
    handles: dict[int, Any],
    addresses: dict[int, str],
    links: dict[int, list[str]],
    pair: tuple[int, int],
) -> str | None:
    a, b = pair
    if a == b:
        return "X"
    direct = links[a].count(addresses[b])
    if direct:
        return f"NV{direct}"
    ancestor = nvml.ask(
        "nvmlDeviceGetTopologyCommonAncestor", handles[a], handles[b], absent=(*ABSENT, INVALID_ARGUMENT)
    )
    return ANCESTORS.get(ancestor)


def _remote_links(nvml: Nvml, gpu: Any) -> list[str]:
    """PCI address at the other end of each active NVLink; that of a switch where one is between."""
    found = []
    for link in range(MOST_LINKS):
        if nvml.ask("nvmlDeviceGetNvLinkState", gpu, link, absent=(*ABSENT, INVALID_ARGUMENT)):
            remote = nvml.ask("nvmlDeviceGetNvLinkRemotePciInfo", gpu, link, absent=(*ABSENT, INVALID_ARGUMENT))
            found += [sysfs_address(remote.busId)] if remote is not None else []
    return found


def _affinity(host: HostRoot, address: str) -> dict[str, Any]:
    folder = f"/sys/bus/pci/devices/{address}"
    node = host.line(f"{folder}/numa_node")
    return {
        "cpus": host.line(f"{folder}/local_cpulist"),
        "numa_node": int(node) if node and int(node) != NO_NUMA_NODE else None,
    }
