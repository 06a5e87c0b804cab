# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GA100 boards: A100, A800, A30 and the converged cards."""

from __future__ import annotations

from dataclasses import replace

from simulator.mig_geometry import A30 as A30_GEOMETRY
from simulator.mig_geometry import A100 as A100_GEOMETRY
from simulator.mig_geometry import profiles
from simulator.model import Model

USER_GUIDE = "MIG User Guide, A100 and A30 tables and -lgip examples, read 2026-11-30"
PCI_IDS = "PCI ID database 2026.08.22; geometry as A100"
SXM_LINKS, BRIDGE_LINKS = (12, 4, 25000), (12, 4, 25000)
NO_LINKS = (0, 0, 0)
MULTIPROCESSORS = "14 14 14 28 42 56 98"
A100_BANKS = 640

PROFILES_40 = profiles(
    A100_GEOMETRY,
    "1g.5gb 1g.5gb+me 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb",
    "4864 4864 9856 9856 19968 19968 40192",
    MULTIPROCESSORS,
)
PROFILES_64 = profiles(
    A100_GEOMETRY,
    "1g.8gb 1g.8gb+me 1g.16gb 2g.16gb 3g.32gb 4g.32gb 7g.64gb",
    "7808 7808 16000 16000 32128 32128 64768",
    MULTIPROCESSORS,
)
PROFILES_80 = profiles(
    A100_GEOMETRY,
    "1g.10gb 1g.10gb+me 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb",
    "9728 9728 19968 19968 40192 40192 80896",
    MULTIPROCESSORS,
)
PROFILES_96 = profiles(
    A100_GEOMETRY,
    "1g.12gb 1g.12gb+me 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb",
    "11776 11776 24064 24064 48384 48384 97152",
    MULTIPROCESSORS,
)
PROFILES_A30 = profiles(
    A30_GEOMETRY,
    "1g.6gb 1g.6gb+me 2g.12gb 2g.12gb+me 4g.24gb",
    "5952 5952 11968 11968 24000",
    "14 14 28 28 56",
)

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
    mig_units=8,
    mig_needs_reset=True,
    mig_engines=(5, 0, 1, 1),
    mig_slice_multiprocessors=14,
    mig_revision1_multiprocessors=0,
    source=USER_GUIDE,
    profiles=PROFILES_40,
    nvlink=SXM_LINKS,
    row_banks=A100_BANKS,
)
A100_80 = replace(
    A100_40,
    key="A100-80",
    name="NVIDIA A100-SXM4-80GB",
    device_id=0x20B2,
    subsystem=0x146310DE,
    pci_name="GA100 [A100 SXM4 80GB]",
    memory_mib=81251,
    bar1_mib=131072,
    clocks=(1410, 1593),
    vbios="92.00.A0.00.05",
    part_number="692-2G506-0210-002",
    profiles=PROFILES_80,
)
PCIE_80 = replace(
    A100_80,
    key="A100-PCIE-80",
    name="NVIDIA A100 80GB PCIe",
    device_id=0x20B5,
    subsystem=0x153310DE,
    pci_name="GA100 [A100 PCIe 80GB]",
    power=(44, 150, 300),
    clocks=(1410, 1512),
    vbios="92.00.90.00.04",
    part_number="900-21001-0020-100",
    nvlink=BRIDGE_LINKS,
)
PCIE_40 = replace(
    A100_40,
    key="A100-PCIE-40",
    name="NVIDIA A100-PCIE-40GB",
    device_id=0x20F1,
    subsystem=0x145F10DE,
    pci_name="GA100 [A100 PCIe 40GB]",
    power=(36, 150, 250),
    vbios="92.00.25.00.08",
    part_number="900-21001-0000-000",
    nvlink=BRIDGE_LINKS,
)
LIKE_NEIGHBOUR = ("subsystem", "power", "clocks", "vbios", "part_number")
A30 = Model(
    key="A30",
    name="NVIDIA A30",
    device_id=0x20B7,
    subsystem=0x153210DE,
    pci_name="GA100GL [A30 PCIe]",
    architecture=7,
    compute=(8, 0),
    brand=14,
    memory_mib=24258,
    bar1_mib=32768,
    multiprocessors=56,
    cores=3584,
    power=(27, 100, 165),
    clocks=(1440, 1215),
    bus_width=3072,
    pcie_generation=4,
    vbios="92.00.66.00.10",
    part_number="900-21001-0040-100",
    mig_units=4,
    mig_needs_reset=True,
    mig_engines=(4, 0, 1, 1),
    mig_slice_multiprocessors=14,
    mig_revision1_multiprocessors=0,
    source=USER_GUIDE,
    profiles=PROFILES_A30,
    nvlink=(4, 4, 25000),
    row_banks=384,
    first_driver="460.32.03",
    estimated=("row_banks", "profiles.starts order"),
)

BOARDS = (
    A100_40,
    A100_80,
    PCIE_80,
    PCIE_40,
    A30,
    replace(
        PCIE_40,
        key="A100-PCIE-40-early",
        device_id=0x20B1,
        pci_name="GA100 [A100 PCIe 40GB]",
        source=PCI_IDS,
        estimated=LIKE_NEIGHBOUR,
    ),
    replace(
        A100_80,
        key="A100-SXM-64",
        name="NVIDIA A100-SXM-64GB",
        device_id=0x20B3,
        pci_name="GA100 [A100 SXM 64GB]",
        memory_mib=65536,
        profiles=PROFILES_64,
        source=PCI_IDS,
        estimated=("memory_mib", "profiles", *LIKE_NEIGHBOUR),
    ),
    replace(
        A100_80,
        key="PG506-96",
        name="NVIDIA PG506-232",
        device_id=0x20B6,
        pci_name="GA100GL [PG506-232]",
        memory_mib=97871,
        profiles=PROFILES_96,
        source="mig-parted default configuration (96 GB group); geometry as A100",
        estimated=("memory_mib", "profiles.memory_mib", *LIKE_NEIGHBOUR),
    ),
    replace(
        PCIE_80,
        key="A100X",
        name="NVIDIA A100X",
        device_id=0x20B8,
        pci_name="GA100 [A100X]",
        source=PCI_IDS,
        first_driver="470.42.01",
        estimated=LIKE_NEIGHBOUR,
    ),
    replace(
        A30,
        key="A30X",
        name="NVIDIA A30X",
        device_id=0x20B9,
        pci_name="GA100 [A30X]",
        source="PCI ID database 2026.08.22; geometry as A30",
        first_driver="470.42.01",
        estimated=("row_banks", "profiles.starts order", *LIKE_NEIGHBOUR),
    ),
    replace(
        A100_40,
        key="A800-40",
        name="NVIDIA A800-SXM4-40GB",
        device_id=0x20BD,
        pci_name="GA100 [A800 SXM4 40GB]",
        nvlink=(8, 4, 25000),
        source=PCI_IDS,
        first_driver="535.104.05",
        estimated=LIKE_NEIGHBOUR,
    ),
    replace(
        A100_80,
        key="A800-80",
        name="NVIDIA A800-SXM4-80GB",
        device_id=0x20F3,
        pci_name="GA100 [A800-SXM4-80GB]",
        nvlink=(8, 4, 25000),
        source=PCI_IDS,
        first_driver="515.86.01",
        estimated=LIKE_NEIGHBOUR,
    ),
    replace(
        PCIE_80,
        key="A800-PCIE-80",
        name="NVIDIA A800 80GB PCIe",
        device_id=0x20F5,
        pci_name="GA100 [A800 80GB PCIe]",
        nvlink=(8, 4, 25000),
        source=PCI_IDS,
        first_driver="515.86.01",
        estimated=LIKE_NEIGHBOUR,
    ),
    replace(
        PCIE_40,
        key="A800-PCIE-40",
        name="NVIDIA A800 40GB Active",
        device_id=0x20F6,
        pci_name="GA100 [A800 40GB Active]",
        nvlink=(8, 4, 25000),
        source=PCI_IDS,
        first_driver="515.86.01",
        estimated=LIKE_NEIGHBOUR,
    ),
)
