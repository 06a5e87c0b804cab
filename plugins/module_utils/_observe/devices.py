# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads device nodes and the kernel's tables that say what they are. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from fnmatch import fnmatchcase

from .._catalog.device_majors import NAMES_OF_NODES
from .._plan.cdi_host import Node
from .files import HostRoot
from .texts.capability import read_minors
from .texts.proc_devices import read_proc_devices

# Directories below /dev, and the names in them that belong to GPUs, their fabric or their storage and network paths.
PLACES = (
    ("/dev", ("nvidia*", "gdrdrv", "dxg")),
    ("/dev/nvidia-caps", ("*",)),
    ("/dev/nvidia-caps-imex-channels", ("*",)),
    ("/dev/dri", ("*",)),
    ("/dev/infiniband", ("*",)),
)
BY_PATH = "/dev/dri/by-path"
MIG_MINORS = "/proc/driver/nvidia-caps/mig-minors"


def join(root: str, path: str) -> str:
    """``path`` below ``root``, both absolute, without double slashes."""
    return posixpath.normpath(f"{root}/{path}")


def read_node(host: HostRoot, path: str, *, dev_root: str = "/") -> Node | None:
    """The character device that containers see as ``path``, or None. A symbolic link is none."""
    host_path = join(dev_root, path)
    found = None if host.link(host_path) is not None else host.device(host_path)
    if found is None:
        return None
    return Node(path, host_path, found.major, found.minor, found.mode, found.gid)


def read_nodes(host: HostRoot, *, dev_root: str = "/") -> dict[str, Node]:
    """Container path -> device node, for all GPU-related character devices."""
    nodes = {}
    for directory, patterns in PLACES:
        for name in host.names(join(dev_root, directory)):
            if any(fnmatchcase(name, p) for p in patterns):
                node = read_node(host, f"{directory}/{name}", dev_root=dev_root)
                if node is not None:
                    nodes[node.path] = node
    return nodes


def read_drm_names(host: HostRoot, pci_address: str) -> tuple[str, ...]:
    """Names such as card1 and renderD128 that the kernel gives the device at ``pci_address`` (0000:41:00.0)."""
    return tuple(host.names(f"/sys/bus/pci/devices/{pci_address}/drm"))


def read_by_path_links(host: HostRoot, *, dev_root: str = "/") -> dict[str, str]:
    """Container path of every link in /dev/dri/by-path -> its text, unchanged."""
    directory = join(dev_root, BY_PATH)
    links = {name: host.link(f"{directory}/{name}") for name in host.names(directory)}
    return {f"{BY_PATH}/{name}": text for name, text in links.items() if text is not None}


def read_mig_minors(host: HostRoot) -> dict[str, int] | None:
    """Capability (config, monitor, gpu0/gi1/access, gpu0/gi1/ci0/access) -> minor of its node.

    None without the file.
    """
    text = host.text(MIG_MINORS)
    return None if text is None else dict(read_minors(text)["minors"])


def read_kernel_majors(host: HostRoot, paths: Iterable[str]) -> dict[str, int]:
    """Path of a node -> major that the kernel gives such nodes now; without those of which it says nothing.

    A module that is loaded again may get another major, and nodes of before then lead nowhere.
    """
    rows = read_proc_devices(host.text("/proc/devices") or "")["character"]
    majors = {row["name"]: row["major"] for row in reversed(rows)}
    found = {path: [majors[n] for n in _kernel_names(path) if n in majors] for path in paths}
    return {path: numbers[0] for path, numbers in found.items() if numbers}


def _kernel_names(path: str) -> tuple[str, ...]:
    for pattern, names in NAMES_OF_NODES:
        if posixpath.dirname(path) == posixpath.dirname(pattern) and fnmatchcase(path, pattern):
            return names
    return ()
