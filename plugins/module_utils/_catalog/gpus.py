# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs by PCI device id: architecture, boards, and what the kernel modules can drive. Private to this collection.

A new board is one row in BOARDS; a new architecture one row in RANGES.
Ranges decide about the kernel modules, boards only name.
"""

from __future__ import annotations

from dataclasses import dataclass

NVIDIA = "10de"

# The classes that the driver binds for GPUs (open-gpu-kernel-modules nv-pci-table.c): VGA and 3D controller.
# 0680 is NVSwitch.
GPU_CLASSES = ("0300", "0302")
NVSWITCH_CLASS = "0680"

# Which kernel modules can drive an architecture.
PROPRIETARY = "proprietary"
OPEN = "open"
BOTH = "both"

INSTALLER = "github.com/NVIDIA/nvidia-installer 590.48.01 (nvGpus.h, misc.c, detect-self-hosted.h)"
PCI_IDS = "PCI ID database 2026.08.22"


@dataclass(frozen=True)
class Range:
    """PCI device ids ``first`` to ``last``: an architecture, the flavours that drive it, its last branch (None: ongoing)."""

    first: int
    last: int
    architecture: str
    flavours: str
    last_branch: int | None
    source: str
    as_of: str


@dataclass(frozen=True)
class Board:
    """One board. ``mig`` is None where only NVML can tell."""

    device: int
    name: str
    architecture: str
    mig: bool | None
    source: str
    as_of: str


# The first row that holds an id wins, so exact exceptions stand before wider ranges.
RANGES = (
    Range(0x0fc0, 0x12ff, "Kepler", PROPRIETARY, 470, INSTALLER, "2025-12-18"),
    Range(0x15c0, 0x15ff, "Pascal", PROPRIETARY, 580, INSTALLER, "2025-12-18"),
    Range(0x1720, 0x172f, "Pascal", PROPRIETARY, 580, PCI_IDS, "2026-08-22"),
    Range(0x1340, 0x17ff, "Maxwell", PROPRIETARY, 580, INSTALLER, "2025-12-18"),
    Range(0x1b00, 0x1d7f, "Pascal", PROPRIETARY, 580, INSTALLER, "2025-12-18"),
    Range(0x1d80, 0x1dff, "Volta", PROPRIETARY, 580, INSTALLER, "2025-12-18"),
    Range(0x1e00, 0x1fff, "Turing", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2180, 0x21ff, "Turing", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2080, 0x20ff, "Ampere", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2200, 0x226f, "Ampere", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2400, 0x25ff, "Ampere", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2600, 0x28ff, "Ada", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2300, 0x233f, "Hopper", BOTH, None, PCI_IDS, "2026-08-22"),
    Range(0x2340, 0x237f, "Hopper", OPEN, None, INSTALLER, "2025-12-18"),
    Range(0x23b0, 0x23ff, "Hopper", BOTH, None, PCI_IDS, "2026-08-22"),
    Range(0x2900, 0x29ff, "Blackwell", OPEN, None, INSTALLER, "2025-12-18"),
    Range(0x2b00, 0x2fff, "Blackwell", OPEN, None, INSTALLER, "2025-12-18"),
    Range(0x3180, 0x31ff, "Blackwell", OPEN, None, INSTALLER, "2025-12-18"),
    Range(0x3200, 0x34ff, "Blackwell", OPEN, None, PCI_IDS, "2026-08-22"),
)

BOARDS = (
    Board(0x1023, "Tesla K40m", "Kepler", False, PCI_IDS, "2026-08-22"),
    Board(0x102d, "Tesla K80", "Kepler", False, PCI_IDS, "2026-08-22"),
    Board(0x13bd, "Tesla M10", "Maxwell", False, PCI_IDS, "2026-08-22"),
    Board(0x13f2, "Tesla M60", "Maxwell", False, PCI_IDS, "2026-08-22"),
    Board(0x13f3, "Tesla M6", "Maxwell", False, PCI_IDS, "2026-08-22"),
    Board(0x1431, "Tesla M4", "Maxwell", False, PCI_IDS, "2026-08-22"),
    Board(0x15f7, "Tesla P100 PCIe 12GB", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x15f8, "Tesla P100 PCIe 16GB", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x15f9, "Tesla P100 SXM2", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x17fd, "Tesla M40", "Maxwell", False, PCI_IDS, "2026-08-22"),
    Board(0x1b06, "GeForce GTX 1080 Ti", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x1b38, "Tesla P40", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x1b80, "GeForce GTX 1080", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x1bb3, "Tesla P4", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x1bb4, "Tesla P6", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x1db1, "Tesla V100 SXM2 16GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1db3, "Tesla V100 FHHL 16GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1db4, "Tesla V100 PCIe 16GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1db5, "Tesla V100 SXM2 32GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1db6, "Tesla V100 PCIe 32GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1db7, "Tesla V100 DGXS 32GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1db8, "Tesla V100 SXM3 32GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1dba, "Quadro GV100", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1df5, "Tesla V100 SXM2 16GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1df6, "Tesla V100S PCIe 32GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1e07, "GeForce RTX 2080 Ti", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1e30, "Quadro RTX 6000/8000", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1e36, "Quadro RTX 6000 (passive)", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1e78, "Quadro RTX 6000/8000", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1eb0, "Quadro RTX 5000", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1eb1, "Quadro RTX 4000", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1eb4, "T4G", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1eb8, "Tesla T4", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1fb0, "T1000", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x20b0, "A100 SXM4 40GB", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20b1, "A100 PCIe 40GB (early id)", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20b2, "A100 SXM4 80GB", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20b3, "A100 SXM 64GB", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20b5, "A100 PCIe 80GB", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20b6, "PG506-232", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20b7, "A30", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20b8, "A100X converged", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20b9, "A30X converged", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20bd, "A800 SXM4 40GB", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20f1, "A100 PCIe 40GB", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20f3, "A800 SXM4 80GB", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20f5, "A800 80GB PCIe", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20f6, "A800 40GB Active / PCIe", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20fd, "AX800 converged", "Ampere", None, PCI_IDS, "2026-08-22"),
    Board(0x2204, "GeForce RTX 3090", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2206, "GeForce RTX 3080", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2230, "RTX A6000", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2231, "RTX A5000", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2233, "RTX A5500", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2235, "A40", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2236, "A10", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2237, "A10G", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2238, "A10M", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x230e, "H20 NVL16", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2321, "H100 NVL 94GB", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2322, "H800 PCIe", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2324, "H800 SXM", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2329, "H20", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x232c, "H20-3e (HBM3e)", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2330, "H100 SXM5 80GB", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2331, "H100 PCIe", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2335, "H200 SXM 141GB", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2336, "H100 (HBM2e, listed 525 only)", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2337, "H100 SXM5 64GB", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2339, "H100 SXM5 94/96GB", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x233a, "H800 NVL", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x233b, "H200 NVL", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x233d, "H100 96GB", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2342, "GH200 120GB/480GB", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2348, "GH200 144GB HBM3e", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x24b0, "RTX A4000", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2531, "RTX A2000", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x25b6, "A16 (sub 10de:14a9) / A2 (sub 10de:157e)", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2684, "GeForce RTX 4090", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x26b1, "RTX 6000 Ada", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x26b2, "RTX 5000 Ada", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x26b3, "RTX 5880 Ada", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x26b5, "L40", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x26b7, "L20 (other id)", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x26b8, "L40G", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x26b9, "L40S", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x26ba, "L20", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x2704, "GeForce RTX 4080", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x27b0, "RTX 4000 SFF Ada", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x27b1, "RTX 4500 Ada", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x27b2, "RTX 4000 Ada", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x27b6, "L2", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x27b8, "L4", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x2901, "B200", "Blackwell", True, PCI_IDS, "2026-08-22"),
    Board(0x2920, "TS4 / B100 (pci.ids)", "Blackwell", True, PCI_IDS, "2026-08-22"),
    Board(0x2941, "GB200", "Blackwell", True, PCI_IDS, "2026-08-22"),
    Board(0x29bc, "B100 (GB102, pci.ids)", "Blackwell", None, PCI_IDS, "2026-08-22"),
    Board(0x2b85, "GeForce RTX 5090", "Blackwell", False, PCI_IDS, "2026-08-22"),
    Board(0x2bb1, "RTX PRO 6000 Blackwell Workstation", "Blackwell", True, PCI_IDS, "2026-08-22"),
    Board(0x2bb3, "RTX PRO 5000 Blackwell (sub 204d) / 72GB (sub 227a)", "Blackwell", None, PCI_IDS, "2026-08-22"),
    Board(0x2bb4, "RTX PRO 6000 Blackwell Max-Q WS", "Blackwell", True, PCI_IDS, "2026-08-22"),
    Board(0x2bb5, "RTX PRO 6000 Blackwell Server", "Blackwell", True, PCI_IDS, "2026-08-22"),
    Board(0x2bb9, "RTX 6000D", "Blackwell", None, PCI_IDS, "2026-08-22"),
    Board(0x2c02, "GeForce RTX 5080", "Blackwell", False, PCI_IDS, "2026-08-22"),
    Board(0x2c05, "GeForce RTX 5070 Ti", "Blackwell", False, PCI_IDS, "2026-08-22"),
    Board(0x2c31, "RTX PRO 4500 Blackwell", "Blackwell", None, PCI_IDS, "2026-08-22"),
    Board(0x2c34, "RTX PRO 4000 Blackwell", "Blackwell", False, PCI_IDS, "2026-08-22"),
    Board(0x2c3a, "RTX PRO 4500 Blackwell Server", "Blackwell", None, PCI_IDS, "2026-08-22"),
    Board(0x2d30, "RTX PRO 2000 Blackwell", "Blackwell", False, PCI_IDS, "2026-08-22"),
    Board(0x2e12, "GB10 (DGX Spark)", "Blackwell", False, PCI_IDS, "2026-08-22"),
    Board(0x2f04, "GeForce RTX 5070", "Blackwell", False, PCI_IDS, "2026-08-22"),
    Board(0x3182, "B300 SXM6 AC", "Blackwell", True, PCI_IDS, "2026-08-22"),
    Board(0x31a1, "GB300 MaxQ (pci.ids)", "Blackwell", True, PCI_IDS, "2026-08-22"),
    Board(0x31c2, "GB300", "Blackwell", True, PCI_IDS, "2026-08-22"),
    Board(0x31c3, "GB300 (pci.ids)", "Blackwell", True, PCI_IDS, "2026-08-22"),
)


def range_of(device: int) -> Range | None:
    """The range that holds the PCI device id, or None for a GPU that this release does not know."""
    return next((r for r in RANGES if r.first <= device <= r.last), None)


def board_of(device: int) -> Board | None:
    """The board with exactly this PCI device id, or None."""
    return next((b for b in BOARDS if b.device == device), None)
