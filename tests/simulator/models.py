# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU models of the simulator: one row per board. build.py turns the rows into the C table of the simulated NVML."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class MigProfile:
    """One GPU instance profile. `starts` is in the order in which the driver takes them without an explicit start."""

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


@dataclass(frozen=True)
class Model:
    """One board. Memory in MiB, power in watts, clocks in MHz; engine totals are decoder, encoder, JPEG, OFA."""

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
    numa_node: int
    mig_units: int  # 0: the board has no MIG
    mig_needs_reset: bool
    mig_engines: tuple[int, int, int, int]
    mig_slice_multiprocessors: int
    mig_revision1_multiprocessors: int  # compute instance profile 7 (one slice, more SM); 0: not offered
    source: str
    profiles: tuple[MigProfile, ...] = field(default=())


def _starts_1g() -> tuple[int, ...]:
    return (6, 4, 5, 0, 1, 2, 3)


A100_40 = Model(
    key="A100-40",
    name="NVIDIA A100-SXM4-40GB",
    device_id=0x20B0,
    subsystem=0x134F10DE,
    pci_name="GA100 [A100 SXM4 40GB]",
    architecture=7,
    compute=(8, 0),
    brand=14,
    memory_mib=40537,
    bar1_mib=65536,
    multiprocessors=108,
    cores=6912,
    power=(56, 100, 400),
    clocks=(1410, 1215),
    bus_width=5120,
    pcie_generation=4,
    vbios="92.00.45.00.03",
    part_number="692-2G506-0200-002",
    numa_node=0,
    mig_units=8,
    mig_needs_reset=True,
    mig_engines=(5, 0, 1, 1),
    mig_slice_multiprocessors=14,
    mig_revision1_multiprocessors=0,
    source="MIG User Guide, A100 tables and -lgipp example, read 2026-11-30",
    profiles=(
        MigProfile("1g.5gb", 0, 19, 1, 4864, 7, 14, (1, 0, 0, 0, 0), 1, _starts_1g()),
        MigProfile("1g.5gb+me", 7, 20, 1, 4864, 1, 14, (1, 1, 0, 1, 1), 1, _starts_1g()),
        MigProfile("1g.10gb", 9, 15, 1, 9856, 4, 14, (1, 1, 0, 0, 0), 2, (6, 4, 0, 2)),
        MigProfile("2g.10gb", 1, 14, 2, 9856, 3, 28, (2, 1, 0, 0, 0), 2, (4, 0, 2)),
        MigProfile("3g.20gb", 2, 9, 3, 19968, 2, 42, (3, 2, 0, 0, 0), 4, (4, 0)),
        MigProfile("4g.20gb", 3, 5, 4, 19968, 1, 56, (4, 2, 0, 0, 0), 4, (0,)),
        MigProfile("7g.40gb", 4, 0, 7, 40192, 1, 98, (7, 5, 0, 1, 1), 8, (0,)),
    ),
)

H100_80 = Model(
    key="H100-80",
    name="NVIDIA H100 80GB HBM3",
    device_id=0x2330,
    subsystem=0x16C110DE,
    pci_name="GH100 [H100 SXM5 80GB]",
    architecture=9,
    compute=(9, 0),
    brand=14,
    memory_mib=81559,
    bar1_mib=131072,
    multiprocessors=132,
    cores=16896,
    power=(71, 200, 700),
    clocks=(1980, 2619),
    bus_width=5120,
    pcie_generation=5,
    vbios="96.00.99.00.01",
    part_number="692-2G520-0200-000",
    numa_node=0,
    mig_units=8,
    mig_needs_reset=False,
    mig_engines=(7, 0, 7, 1),
    mig_slice_multiprocessors=16,
    mig_revision1_multiprocessors=26,
    source="MIG User Guide, H100 tables; public -lgip and -lgipp outputs, read 2026-11-30",
    profiles=(
        MigProfile("1g.10gb", 0, 19, 1, 9984, 7, 16, (1, 1, 0, 1, 0), 1, _starts_1g()),
        MigProfile("1g.10gb+me", 7, 20, 1, 9984, 1, 16, (1, 1, 0, 1, 1), 1, _starts_1g()),
        MigProfile("1g.20gb", 9, 15, 1, 20096, 4, 26, (1, 1, 0, 1, 0), 2, (6, 4, 0, 2)),
        MigProfile("2g.20gb", 1, 14, 2, 20096, 3, 32, (2, 2, 0, 2, 0), 2, (4, 0, 2)),
        MigProfile("3g.40gb", 2, 9, 3, 40448, 2, 60, (3, 3, 0, 3, 0), 4, (4, 0)),
        MigProfile("4g.40gb", 3, 5, 4, 40448, 1, 64, (4, 4, 0, 4, 0), 4, (0,)),
        MigProfile("7g.80gb", 4, 0, 7, 81152, 1, 132, (8, 7, 0, 7, 1), 8, (0,)),
    ),
)

T4 = Model(
    key="T4",
    name="Tesla T4",
    device_id=0x1EB8,
    subsystem=0x12A210DE,
    pci_name="TU104GL [Tesla T4]",
    architecture=6,
    compute=(7, 5),
    brand=2,
    memory_mib=15360,
    bar1_mib=256,
    multiprocessors=40,
    cores=2560,
    power=(9, 60, 70),
    clocks=(1590, 5001),
    bus_width=256,
    pcie_generation=3,
    vbios="90.04.84.00.06",
    part_number="900-2G183-0000-001",
    numa_node=0,
    mig_units=0,
    mig_needs_reset=False,
    mig_engines=(0, 0, 0, 0),
    mig_slice_multiprocessors=0,
    mig_revision1_multiprocessors=0,
    source="nvidia-smi -q -x of a T4 in public issue threads, read 2026-11-30",
)

MODELS: dict[str, Model] = {model.key: model for model in (A100_40, H100_80, T4)}
