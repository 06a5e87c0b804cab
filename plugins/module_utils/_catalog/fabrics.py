# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVLink fabrics: what a host with switched GPUs needs before CUDA runs. Private to this collection.

A new generation is one row in FABRICS, a new switch that is seen on PCI one row in SWITCHES.
"""

from __future__ import annotations

from dataclasses import dataclass

NVSWITCH, NVLINK5, RACK = "nvswitch", "nvlink5", "rack"

GUIDE = "docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide"
CONTAINER = "github.com/NVIDIA/gpu-driver-container 06a208c, ubuntu and rhel nvidia-driver scripts"
PCI_IDS = "PCI ID database 2026.08.22"
TRAYS = "github.com/leptonai/gpud (NVOS), github.com/Azure/AgentBaker#8839"


@dataclass(frozen=True)
class Fabric:
    """``systems`` are for people. The three services: what has to run on the host itself.

    ``modules`` have to be loaded before the fabric manager starts; ``kernel`` is the oldest that works, '' for any.
    """

    name: str
    systems: str
    fabric_manager: bool
    nvlsm: bool
    imex: bool
    modules: tuple[str, ...]
    kernel: str
    source: str
    as_of: str


FABRICS = (
    Fabric(NVSWITCH, "HGX and DGX with A100, H100, H200", True, False, False, (), "", GUIDE, "2026-08-17"),
    # Switches are reached through bridge functions of ConnectX-7; GPUs train only after the subnet manager ran.
    Fabric(
        NVLINK5,
        "HGX and DGX with B200, B300",
        True,
        True,
        False,
        ("ib_umad", "mlx5_ib"),
        "5.17",
        CONTAINER,
        "2026-08-17",
    ),
    # The switches are in trays of their own and run their own fabric manager.
    Fabric(RACK, "GB200 NVL72, GB300 NVL72", False, False, True, (), "", TRAYS, "2026-08-17"),
)


@dataclass(frozen=True)
class Switch:
    """An NVSwitch on the host's PCI bus (vendor 10de, class 0680)."""

    device: int
    generation: int
    systems: str
    source: str
    as_of: str


SWITCHES = (
    Switch(0x1AC2, 1, "HGX-2 and DGX-2 (V100)", f"{GUIDE}; the id is not in the PCI ID database", "2026-08-17"),
    Switch(0x1AF1, 2, "HGX and DGX A100, A800", PCI_IDS, "2026-08-22"),
    Switch(0x22A3, 3, "HGX and DGX H100, H200, H800, H20", PCI_IDS, "2026-08-22"),
)

# What the VPD of a ConnectX-7 function says that leads to NVLink 5 switches (gpu-driver-container).
SWITCH_MANAGEMENT = "SW_MNG"


def fabric_of(name: str) -> Fabric | None:
    """The row of a fabric, or None."""
    return next((f for f in FABRICS if f.name == name), None)


def switch_of(device: int) -> Switch | None:
    """The NVSwitch with exactly this PCI device id, or None."""
    return next((s for s in SWITCHES if s.device == device), None)
