# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads which capability nodes of MIG devices are missing and could be made. Private to this collection.

Source: MIG user guide, device nodes and capabilities; nvidia-modprobe(1), option -f.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .._catalog.driver_files import PROGRAM_DIRECTORIES
from .._plan.cdi_host import CapabilityNode, Gpu, Node
from .files import HostRoot
from .libraries import find_files
from .texts.capability import read_capability
from .texts.proc_devices import read_proc_devices

PROGRAM = "nvidia-modprobe"
CAPABILITIES = "/proc/driver/nvidia/capabilities"


def read_creatable(host: HostRoot, gpus: Iterable[Gpu], nodes: Mapping[str, Node]) -> dict[str, CapabilityNode]:
    """Container path -> what nvidia-modprobe would make, for every MIG device whose nodes are missing.

    Empty for a tree that is not the running machine, and where the program or the kernel's tables are missing.
    """
    if host.root != "/" or not any(host.is_executable(p) for p in find_files(host, PROGRAM_DIRECTORIES, PROGRAM)):
        return {}
    major = read_proc_devices(host.text("/proc/devices") or "")["majors"]["nvidia-caps"]
    files = dict.fromkeys(f for g in gpus for m in g.mig_devices for f in _files(g, m.gpu_instance, m.compute_instance))
    found = [_read(host, f, major) for f in files] if major is not None else []
    return {row.node.path: row for row in found if row is not None and row.node.path not in nodes}


def _files(gpu: Gpu, instance: int, compute: int) -> tuple[str, str]:
    base = f"{CAPABILITIES}/gpu{gpu.minor}/mig/gi{instance}"
    return f"{base}/access", f"{base}/ci{compute}/access"


def _read(host: HostRoot, path: str, major: int) -> CapabilityNode | None:
    found = read_capability(host.text(path) or "")
    if found["minor"] is None or found["mode"] is None:
        return None
    node = f"/dev/nvidia-caps/nvidia-cap{found['minor']}"
    return CapabilityNode(Node(node, node, major, found["minor"], int(found["mode"], 8) & 0o777, 0), path)
