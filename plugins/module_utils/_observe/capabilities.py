# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads which capability nodes of MIG devices are missing and could be made. Private to this collection.

Source: MIG user guide, device nodes and capabilities; nvidia-modprobe(1), option -f.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .._catalog.driver_files import PROGRAM_DIRECTORIES
from .._plan.cdi_host import CapabilityNode, Gpu, Node
from .files import HostRoot
from .libraries import find_files

PROGRAM = "nvidia-modprobe"
CAPABILITIES = "/proc/driver/nvidia/capabilities"
MAJOR = re.compile(r"^\s*(\d+)\s+nvidia-caps$", re.MULTILINE)
MODE = re.compile(r"^DeviceFileMode:\s*(\d+)$", re.MULTILINE)


def read_creatable(host: HostRoot, gpus: Iterable[Gpu], nodes: Mapping[str, Node]) -> dict[str, CapabilityNode]:
    """Container path -> what nvidia-modprobe would make, for every MIG device whose nodes are missing.

    Empty for a tree that is not the running machine, and where the program or the kernel's tables are missing.
    """
    if host.root != "/" or not any(host.is_executable(p) for p in find_files(host, PROGRAM_DIRECTORIES, PROGRAM)):
        return {}
    major = MAJOR.search(host.text("/proc/devices") or "")
    files = dict.fromkeys(f for g in gpus for m in g.mig_devices for f in _files(g, m.gpu_instance, m.compute_instance))
    found = [_read(host, f, int(major.group(1))) for f in files] if major else []
    return {row.node.path: row for row in found if row is not None and row.node.path not in nodes}


def _files(gpu: Gpu, instance: int, compute: int) -> tuple[str, str]:
    base = f"{CAPABILITIES}/gpu{gpu.minor}/mig/gi{instance}"
    return f"{base}/access", f"{base}/ci{compute}/access"


def _read(host: HostRoot, path: str, major: int) -> CapabilityNode | None:
    text = host.text(path) or ""
    minor, mode = re.search(r"^DeviceFileMinor:\s*(\d+)$", text, re.MULTILINE), MODE.search(text)
    if minor is None or mode is None:
        return None
    node = f"/dev/nvidia-caps/nvidia-cap{minor.group(1)}"
    return CapabilityNode(Node(node, node, major, int(minor.group(1)), int(mode.group(1)) & 0o777, 0), path)
