# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes with the driver on some hosts: fabric manager, IMEX, GPUDirect, licences. Private to this collection.

A new component is one row in COMPONENTS; its packages are rows of components.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from .components import FABRIC_MANAGER, GDRCOPY, GDS, GRIDD, IMEX, NSCQ, NVLSM, NVSDM, PEERMEM

GUIDE = "docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide"

# PCI functions of this vendor are the network adapters that GPUDirect RDMA is for.
MELLANOX = "15b3"


@dataclass(frozen=True)
class Component:
    """One component: the kernel module that it is, or the unit that runs it; None where it has none.

    ``config``: files that the unit reads when it starts.
    """

    name: str
    module: str | None
    unit: str | None
    config: tuple[str, ...]
    source: str
    as_of: str


FABRIC_MANAGER_CONFIG = "/usr/share/nvidia/nvswitch/fabricmanager.cfg"
IMEX_NODES = "/etc/nvidia-imex/nodes_config.cfg"
GRIDD_CONFIG = "/etc/nvidia/gridd.conf"
GRIDD_TOKEN = "/etc/nvidia/ClientConfigToken/client_configuration_token_gpu_fleet.tok"

# In the order in which their units start.
COMPONENTS = (
    Component(FABRIC_MANAGER, None, "nvidia-fabricmanager.service", (FABRIC_MANAGER_CONFIG,), GUIDE, "2026-11-30"),
    Component(
        IMEX,
        None,
        "nvidia-imex.service",
        (IMEX_NODES,),
        "docs.nvidia.com/multi-node-nvlink-systems/imex-guide",
        "2026-11-30",
    ),
    Component(
        GRIDD,
        None,
        "nvidia-gridd.service",
        (GRIDD_CONFIG, GRIDD_TOKEN),
        "docs.nvidia.com, Virtual GPU Client Licensing User Guide",
        "2026-11-30",
    ),
    Component(
        PEERMEM, "nvidia_peermem", None, (), "github.com/NVIDIA/open-gpu-kernel-modules nvidia-peermem.c", "2026-11-30"
    ),
    Component(GDS, "nvidia_fs", None, (), "github.com/NVIDIA/gds-nvidia-fs 2.28.4", "2026-04-24"),
    Component(GDRCOPY, "gdrdrv", None, (), "github.com/NVIDIA/gdrcopy 2.6", "2026-06-15"),
)
NAMES = tuple(c.name for c in COMPONENTS)

# What a component brings beside itself: libraries for those who ask the switches, the subnet manager of NVLink 5.
WITH = {FABRIC_MANAGER: (NSCQ,)}
WITH_NVLINK5 = {FABRIC_MANAGER: (NVSDM, NVLSM)}


# Installed already, these say that somebody wants the component: it has to follow the driver's version.
INSTALLED_BY = {GDS: ("nvidia-fs", "nvidia-fs-dkms"), GDRCOPY: ("gdrdrv-dkms", "gdrcopy-kmod")}


# Self-hosted (Grace) GPUs (nvidia-installer 590.48.01, detect-self-hosted.h): their memory is coherent with the CPU's,
# as NUMA nodes unless the driver manages it.
COHERENT_GPUS = ((0x2340, 0x237F), (0x2940, 0x297F), (0x31A1, 0x31A1), (0x31C0, 0x31FF))


def component_of(name: str) -> Component:
    """The row of a component. Raises KeyError."""
    return {c.name: c for c in COMPONENTS}[name]


def is_coherent(device: int) -> bool:
    """Whether the GPU's memory is coherent with the CPU's."""
    return any(first <= device <= last for first, last in COHERENT_GPUS)
