# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides how far two PCI devices are apart, in the words of nvidia-smi topo -m. Private to this collection.

The words as in the legend that nvidia-smi prints, and nvml.h (nvmlGpuTopologyLevel_t): PIX at most one PCIe switch
between, PXB several switches, PHB the host bridge, NODE several host bridges of one NUMA node, SYS the link between
NUMA nodes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ROOT = re.compile(r"pci[0-9a-f]{4,}:[0-9a-f]{2}$")

# Below what two devices share, one switch leaves a downstream port and the device itself.
WITHIN_ONE_SWITCH = 2


@dataclass(frozen=True)
class PciPlace:
    """``path``: host bridge (pci0000:40), ports and switches, the device; empty where sysfs does not tell it."""

    path: tuple[str, ...]
    numa_node: int | None


def pci_place(sysfs_path: str, numa_node: int | None) -> PciPlace:
    """``sysfs_path``: where the links of /sys/bus/pci/devices/<address> lead, /sys/devices/pci0000:40/..."""
    parts = sysfs_path.split("/")
    start = next((i for i, part in enumerate(parts) if ROOT.match(part)), len(parts))
    return PciPlace(tuple(parts[start:]), numa_node)


def link_kind(a: PciPlace, b: PciPlace) -> str | None:
    """PIX, PXB, PHB, NODE or SYS; X for the same device; None where sysfs does not tell one of the places."""
    if not a.path or not b.path:
        return None
    if a.path == b.path:
        return "X"
    shared = next((i for i, (x, y) in enumerate(zip(a.path, b.path)) if x != y), min(len(a.path), len(b.path)))
    if shared == 0:
        known = a.numa_node is not None and b.numa_node is not None
        return "SYS" if known and a.numa_node != b.numa_node else "NODE"
    if shared == 1:
        return "PHB"
    return "PIX" if max(len(a.path), len(b.path)) - shared <= WITHIN_ONE_SWITCH else "PXB"
