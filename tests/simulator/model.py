# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the simulator knows of a GPU board."""

from __future__ import annotations

from dataclasses import dataclass, field

OLDEST_BRANCH = 450  # the first driver branch with MIG
VGA, DISPLAY_3D = 0x030000, 0x030200  # PCI classes


@dataclass(frozen=True)
class MigProfile:
    """One GPU instance profile. `starts` is in the order in which the driver takes them without an explicit start.

    `since` is the first driver branch that offers it. `capabilities`: NVML_GPU_INSTANCE_PROFILE_CAPS_*.
    """

    name: str
    enum: int
    id: int
    slices: int
    memory_mib: int
    count: int
    multiprocessors: int
    engines: tuple[int, int, int, int, int]  # copy, decoder, encoder, JPEG, OFA
    size: int
    starts: tuple[int, ...]
    since: int = OLDEST_BRANCH
    capabilities: int = 0


@dataclass(frozen=True)
class Model:
    """One board. Memory in MiB, power in watts, clocks in MHz; engine totals are decoder, encoder, JPEG, OFA.

    `estimated` names the fields that no source gave: they are like those of a neighbour.
    """

    key: str
    name: str
    device_id: int
    subsystem: int  # device id << 16 | vendor id
    pci_name: str
    architecture: int  # NVML_DEVICE_ARCH_*
    compute: tuple[int, int]
    brand: int  # NVML_BRAND_*
    memory_mib: int
    bar1_mib: int
    multiprocessors: int
    cores: int
    power: tuple[int, int, int]  # idle, minimum limit, maximum (= default) limit
    clocks: tuple[int, int]  # maximum SM, maximum memory
    bus_width: int
    pcie_generation: int
    vbios: str
    part_number: str
    mig_units: int  # 0: the board has no MIG
    mig_needs_reset: bool
    mig_engines: tuple[int, int, int, int]
    mig_slice_multiprocessors: int
    mig_revision1_multiprocessors: int  # compute instance profile 7 (one slice, more SM); 0: not offered
    source: str
    profiles: tuple[MigProfile, ...] = field(default=())
    temperatures: tuple[int, int, int, int] = (92, 89, 95, 85)  # shutdown, slowdown, memory, operating maximum
    nvlink: tuple[int, int, int] = (0, 0, 0)  # links, NVML_NVLINK_VERSION_*, MB/s of a link
    ecc: bool = True
    row_banks: int = 0  # banks that can remap rows; 0: the board retires pages
    hbm: bool = True  # has a memory temperature
    first_driver: str = "450.36.06"  # older drivers do not know the board
    last_branch: int = 0  # newer branches do not drive it any more; 0: ongoing
    pci_class: int = DISPLAY_3D
    fans: int = 0
    coherent: bool = False  # NVLink-C2C to the CPU
    estimated: tuple[str, ...] = ()
