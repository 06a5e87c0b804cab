# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a CDI spec is made of, as it was observed on a host. Private to this collection.

``host_path`` is where the host has a thing, ``path`` where a container sees it; they differ by the driver or device
root.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class File:
    """A file of the driver."""

    path: str
    host_path: str


@dataclass(frozen=True)
class Library:
    """A library of the driver.

    ``soname`` is None for a file that is no ELF object; without a SONAME it is the file's name.

    ``links`` are the names of the symbolic links beside it on the host.
    """

    path: str
    host_path: str
    soname: str | None
    links: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Node:
    """A character device; ``mode`` has the permission bits only."""

    path: str
    host_path: str
    major: int
    minor: int
    mode: int
    gid: int


@dataclass(frozen=True)
class CapabilityNode:
    """A node of /dev/nvidia-caps that nvidia-modprobe would make of the driver's ``capability`` file."""

    node: Node
    capability: str


@dataclass(frozen=True)
class MigDevice:
    """A MIG device as NVML lists it; ``profile`` for example 1g.10gb+me or 1c.3g.40gb."""

    index: int
    uuid: str
    gpu_instance: int
    compute_instance: int
    profile: str


@dataclass(frozen=True)
class Gpu:
    """A GPU as NVML lists it.

    ``pci_address`` in the form of sysfs (0000:41:00.0), None where NVML has no PCI information.
    ``coherent``: whether the GPU's memory is addressed coherently with the CPU's (ATS), None where NVML cannot say.
    """

    index: int
    minor: int
    uuid: str
    name: str
    pci_address: str | None
    mig_enabled: bool = False
    mig_devices: tuple[MigDevice, ...] = ()
    coherent: bool | None = None


@dataclass(frozen=True)
class DriverFiles:
    """The user-space driver below the driver root. Every tuple is in the order of discovery."""

    version: str | None = None
    library_directories: tuple[str, ...] = ()
    libraries: tuple[Library, ...] = ()
    graphics_libraries: tuple[File, ...] = ()
    xorg_modules: tuple[File, ...] = ()
    programs: tuple[File, ...] = ()
    graphics_programs: tuple[File, ...] = ()
    firmware: tuple[File, ...] = ()
    sockets: tuple[File, ...] = ()
    configs: tuple[File, ...] = ()
    vulkan_configs: tuple[File, ...] = ()


@dataclass(frozen=True)
class WslFiles:
    """The driver that Windows lends to WSL 2.

    libdxcore.so, the files of the driver store that CUDA needs, and the rest of it.
    """

    store: str | None
    dxcore: tuple[File, ...] = ()
    required: tuple[File, ...] = ()
    further: tuple[File, ...] = ()


@dataclass(frozen=True)
class TegraFiles:
    """What the CSV files of a Tegra system name and the host has.

    ``linked``: the files behind the links that are named; ``links``: text::path of each link on the way to them.
    """

    nodes: tuple[Node, ...] = ()
    directories: tuple[File, ...] = ()
    libraries: tuple[Library, ...] = ()
    linked: tuple[File, ...] = ()
    links: tuple[str, ...] = ()
    release: File | None = None


@dataclass(frozen=True)
class CdiHost:
    """Everything that a spec of any mode may need.

    ``creatable``: capability nodes that are missing and can be made, by container path.
    ``nodes``: container path -> device node. ``drm``: PCI address -> names below its drm directory. ``by_path``:
    link path -> link text. ``mig_minors``: lines of /proc/driver/nvidia-caps/mig-minors, None where the file is
    absent. ``majors``: container path -> major that the kernel gives such nodes. ``nvml_error``: why NVML could not
    be asked, None where it answered or was not needed.
    """

    mode: str
    gpus: tuple[Gpu, ...] = ()
    nvml_error: str | None = None
    nvml_absent: bool = False
    lost: tuple[str, ...] = ()
    driver: DriverFiles = field(default_factory=DriverFiles)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    creatable: Mapping[str, CapabilityNode] = field(default_factory=dict)
    drm: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by_path: Mapping[str, str] = field(default_factory=dict)
    mig_minors: Mapping[str, int] | None = None
    majors: Mapping[str, int] = field(default_factory=dict)
    hook_path: str = ""
    hook_found: bool = True
    storage_mounts: tuple[File, ...] = ()
    wsl: WslFiles | None = None
    tegra: TegraFiles | None = None
    cuda_version: str | None = None
