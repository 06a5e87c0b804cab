# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs by PCI device id: architecture, boards, and what the kernel modules can drive. Private to this collection.

A new board is one row in BOARDS; a new architecture one row in ARCHITECTURES and RANGES.
Ranges decide about the kernel modules, boards only name.
"""

from __future__ import annotations

from dataclasses import dataclass

from .fabrics import NVLINK5, NVSWITCH, RACK

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
DRIVERS = "docs.nvidia.com/datacenter/tesla/drivers/"
BLACKWELL_GUIDE = "github.com/NVIDIA/open-gpu-kernel-modules README, kernel_open; nvGpus.h of the installer"


@dataclass(frozen=True)
class Range:
    """PCI device ids ``first`` to ``last``: architecture, flavours that drive it, last branch (None: ongoing)."""

    first: int
    last: int
    architecture: str
    flavours: str
    last_branch: int | None
    source: str
    as_of: str


@dataclass(frozen=True)
class Architecture:
    """``first_branch`` and ``last_branch`` of drivers (None: ongoing), ``last_cuda`` ('': ongoing).

    ``guest``: what drives it in a virtual machine that has a vGPU of it.
    """

    name: str
    compute_capabilities: tuple[str, ...]
    first_branch: int
    last_branch: int | None
    last_cuda: str
    guest: str
    source: str
    as_of: str


@dataclass(frozen=True)
class Board:
    """One board. ``mig`` is None where only NVML can tell.

    ``since``: the first driver releases that know it, one a branch, oldest branch first. A bare branch stands for all
    its releases. The last one speaks for later branches too; () means as long as the architecture.
    ``fabric`` is a row of fabrics.py, '' for none, None where no source says so.
    """

    device: int
    name: str
    architecture: str
    mig: bool | None
    source: str
    as_of: str
    since: tuple[str, ...] = ()
    fabric: str | None = ""


# The first row that holds an id wins, so exact exceptions stand before wider ranges.
RANGES = (
    Range(0x0FC0, 0x12FF, "Kepler", PROPRIETARY, 470, INSTALLER, "2025-12-18"),
    Range(0x15C0, 0x15FF, "Pascal", PROPRIETARY, 580, INSTALLER, "2025-12-18"),
    Range(0x1720, 0x172F, "Pascal", PROPRIETARY, 580, PCI_IDS, "2026-08-22"),
    Range(0x1340, 0x17FF, "Maxwell", PROPRIETARY, 580, INSTALLER, "2025-12-18"),
    Range(0x1B00, 0x1D7F, "Pascal", PROPRIETARY, 580, INSTALLER, "2025-12-18"),
    Range(0x1D80, 0x1DFF, "Volta", PROPRIETARY, 580, INSTALLER, "2025-12-18"),
    Range(0x1E00, 0x1FFF, "Turing", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2180, 0x21FF, "Turing", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2080, 0x20FF, "Ampere", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2200, 0x226F, "Ampere", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2400, 0x25FF, "Ampere", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2600, 0x28FF, "Ada", BOTH, None, INSTALLER, "2025-12-18"),
    Range(0x2300, 0x233F, "Hopper", BOTH, None, PCI_IDS, "2026-08-22"),
    Range(0x2340, 0x237F, "Hopper", OPEN, None, INSTALLER, "2025-12-18"),
    Range(0x23B0, 0x23FF, "Hopper", BOTH, None, PCI_IDS, "2026-08-22"),
    Range(0x2900, 0x29FF, "Blackwell", OPEN, None, INSTALLER, "2025-12-18"),
    Range(0x2B00, 0x2FFF, "Blackwell", OPEN, None, INSTALLER, "2025-12-18"),
    Range(0x3180, 0x31FF, "Blackwell", OPEN, None, INSTALLER, "2025-12-18"),
    Range(0x3200, 0x34FF, "Blackwell", OPEN, None, PCI_IDS, "2026-08-22"),
)

FIRST_OPEN_BRANCH = 515

# First branches up to Ampere are in no source that was read; all of them are older than the oldest row of branches.py.
ARCHITECTURES = (
    Architecture("Kepler", ("3.0", "3.5", "3.7"), 304, 470, "11", PROPRIETARY, DRIVERS, "2026-11-30"),
    Architecture("Maxwell", ("5.0", "5.2", "5.3"), 340, 580, "12", PROPRIETARY, DRIVERS, "2026-11-30"),
    Architecture("Pascal", ("6.0", "6.1"), 367, 580, "12", PROPRIETARY, DRIVERS, "2026-11-30"),
    Architecture("Volta", ("7.0",), 384, 580, "12", PROPRIETARY, DRIVERS, "2026-11-30"),
    Architecture("Turing", ("7.5",), 410, None, "", PROPRIETARY, DRIVERS, "2026-11-30"),
    Architecture("Ampere", ("8.0", "8.6"), 450, None, "", PROPRIETARY, DRIVERS, "2026-11-30"),
    Architecture("Ada", ("8.9",), 525, None, "", BOTH, DRIVERS, "2026-11-30"),
    Architecture("Hopper", ("9.0",), 525, None, "", BOTH, DRIVERS, "2026-11-30"),
    Architecture("Blackwell", ("10.0", "10.3", "12.0", "12.1"), 570, None, "", OPEN, BLACKWELL_GUIDE, "2026-03-05"),
)

# since: README of github.com/NVIDIA/open-gpu-kernel-modules in all tags 515.43.04 to 595.45.04 (2026-03-05).
# fabric: PCI_IDS and NVIDIA's product pages; on hosts of A100 and H100 what is there of switches decides.
BOARDS = (
    Board(0x1023, "Tesla K40m", "Kepler", False, PCI_IDS, "2026-08-22"),
    Board(0x102D, "Tesla K80", "Kepler", False, PCI_IDS, "2026-08-22"),
    Board(0x13BD, "Tesla M10", "Maxwell", False, PCI_IDS, "2026-08-22"),
    Board(0x13F2, "Tesla M60", "Maxwell", False, PCI_IDS, "2026-08-22"),
    Board(0x13F3, "Tesla M6", "Maxwell", False, PCI_IDS, "2026-08-22"),
    Board(0x1431, "Tesla M4", "Maxwell", False, PCI_IDS, "2026-08-22"),
    Board(0x15F7, "Tesla P100 PCIe 12GB", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x15F8, "Tesla P100 PCIe 16GB", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x15F9, "Tesla P100 SXM2", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x17FD, "Tesla M40", "Maxwell", False, PCI_IDS, "2026-08-22"),
    Board(0x1B06, "GeForce GTX 1080 Ti", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x1B38, "Tesla P40", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x1B80, "GeForce GTX 1080", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x1BB3, "Tesla P4", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x1BB4, "Tesla P6", "Pascal", False, PCI_IDS, "2026-08-22"),
    Board(0x1DB1, "Tesla V100 SXM2 16GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1DB3, "Tesla V100 FHHL 16GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1DB4, "Tesla V100 PCIe 16GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1DB5, "Tesla V100 SXM2 32GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1DB6, "Tesla V100 PCIe 32GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1DB7, "Tesla V100 DGXS 32GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1DB8, "Tesla V100 SXM3 32GB", "Volta", False, PCI_IDS, "2026-08-22", fabric=NVSWITCH),
    Board(0x1DBA, "Quadro GV100", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1DF5, "Tesla V100 SXM2 16GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1DF6, "Tesla V100S PCIe 32GB", "Volta", False, PCI_IDS, "2026-08-22"),
    Board(0x1E07, "GeForce RTX 2080 Ti", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1E30, "Quadro RTX 6000/8000", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1E36, "Quadro RTX 6000 (passive)", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1E78, "Quadro RTX 6000/8000", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1EB0, "Quadro RTX 5000", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1EB1, "Quadro RTX 4000", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1EB4, "T4G", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1EB8, "Tesla T4", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x1FB0, "T1000", "Turing", False, PCI_IDS, "2026-08-22"),
    Board(0x20B0, "A100 SXM4 40GB", "Ampere", True, PCI_IDS, "2026-08-22", fabric=NVSWITCH),
    Board(0x20B1, "A100 PCIe 40GB (early id)", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20B2, "A100 SXM4 80GB", "Ampere", True, PCI_IDS, "2026-08-22", fabric=NVSWITCH),
    Board(0x20B3, "A100 SXM 64GB", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20B5, "A100 PCIe 80GB", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20B6, "PG506-232", "Ampere", True, PCI_IDS, "2026-08-22", fabric=None),
    Board(0x20B7, "A30", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20B8, "A100X converged", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20B9, "A30X converged", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(
        0x20BD, "A800 SXM4 40GB", "Ampere", True, PCI_IDS, "2026-08-22", since=("535.104.05", "550"), fabric=NVSWITCH
    ),
    Board(0x20F1, "A100 PCIe 40GB", "Ampere", True, PCI_IDS, "2026-08-22"),
    Board(0x20F3, "A800 SXM4 80GB", "Ampere", True, PCI_IDS, "2026-08-22", since=("515.86.01", "525"), fabric=NVSWITCH),
    Board(0x20F5, "A800 80GB PCIe", "Ampere", True, PCI_IDS, "2026-08-22", since=("515.86.01", "525")),
    Board(0x20F6, "A800 40GB Active / PCIe", "Ampere", True, PCI_IDS, "2026-08-22", since=("515.86.01", "525")),
    Board(0x20FD, "AX800 converged", "Ampere", None, PCI_IDS, "2026-08-22", since=("535.154.05", "550")),
    Board(0x2204, "GeForce RTX 3090", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2206, "GeForce RTX 3080", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2230, "RTX A6000", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2231, "RTX A5000", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2233, "RTX A5500", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2235, "A40", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2236, "A10", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2237, "A10G", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2238, "A10M", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x230E, "H20 NVL16", "Hopper", True, PCI_IDS, "2026-08-22", since=("580.82.07", "590"), fabric=None),
    Board(0x2321, "H100 NVL 94GB", "Hopper", True, PCI_IDS, "2026-08-22", since=("535.104.05", "550")),
    Board(0x2322, "H800 PCIe", "Hopper", True, PCI_IDS, "2026-08-22", since=("525.105.17", "535")),
    Board(0x2324, "H800 SXM", "Hopper", True, PCI_IDS, "2026-08-22", since=("525.105.17", "535"), fabric=NVSWITCH),
    Board(
        0x2329, "H20", "Hopper", True, PCI_IDS, "2026-08-22", since=("535.161.07", "550.54.14", "570"), fabric=NVSWITCH
    ),
    Board(
        0x232C,
        "H20-3e (HBM3e)",
        "Hopper",
        True,
        PCI_IDS,
        "2026-08-22",
        since=("535.216.03", "550.127.08", "570"),
        fabric=NVSWITCH,
    ),
    Board(0x2330, "H100 SXM5 80GB", "Hopper", True, PCI_IDS, "2026-08-22", since=("525.85.05", "535"), fabric=NVSWITCH),
    Board(0x2331, "H100 PCIe", "Hopper", True, PCI_IDS, "2026-08-22", since=("525",)),
    Board(0x2335, "H200 SXM 141GB", "Hopper", True, PCI_IDS, "2026-08-22", since=("550.90.07", "570"), fabric=NVSWITCH),
    Board(
        0x2336,
        "H100 (HBM2e, listed 525 only)",
        "Hopper",
        True,
        PCI_IDS,
        "2026-08-22",
        since=("525.85.05",),
        fabric=None,
    ),
    Board(0x2337, "H100 SXM5 64GB", "Hopper", True, PCI_IDS, "2026-08-22"),
    Board(0x2339, "H100 SXM5 94/96GB", "Hopper", True, PCI_IDS, "2026-08-22", since=("525.105.17", "535")),
    Board(0x233A, "H800 NVL", "Hopper", True, PCI_IDS, "2026-08-22", since=("535.104.05", "550")),
    Board(0x233B, "H200 NVL", "Hopper", True, PCI_IDS, "2026-08-22", since=("570",)),
    Board(0x233D, "H100 96GB", "Hopper", True, PCI_IDS, "2026-08-22", fabric=None),
    Board(0x2342, "GH200 120GB/480GB", "Hopper", True, PCI_IDS, "2026-08-22", since=("535.129.03", "550")),
    Board(0x2348, "GH200 144GB HBM3e", "Hopper", True, PCI_IDS, "2026-08-22", since=("570",)),
    Board(0x24B0, "RTX A4000", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2531, "RTX A2000", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x25B6, "A16 (sub 10de:14a9) / A2 (sub 10de:157e)", "Ampere", False, PCI_IDS, "2026-08-22"),
    Board(0x2684, "GeForce RTX 4090", "Ada", False, PCI_IDS, "2026-08-22", since=("525.78.01", "535")),
    Board(0x26B1, "RTX 6000 Ada", "Ada", False, PCI_IDS, "2026-08-22", since=("525.78.01", "535")),
    Board(0x26B2, "RTX 5000 Ada", "Ada", False, PCI_IDS, "2026-08-22", since=("535.98", "550")),
    Board(0x26B3, "RTX 5880 Ada", "Ada", False, PCI_IDS, "2026-08-22", since=("535.146.02", "550")),
    Board(0x26B5, "L40", "Ada", False, PCI_IDS, "2026-08-22", since=("525.78.01", "535")),
    Board(0x26B7, "L20 (other id)", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x26B8, "L40G", "Ada", False, PCI_IDS, "2026-08-22"),
    Board(0x26B9, "L40S", "Ada", False, PCI_IDS, "2026-08-22", since=("535.104.05", "550")),
    Board(0x26BA, "L20", "Ada", False, PCI_IDS, "2026-08-22", since=("535.154.05", "550")),
    Board(0x2704, "GeForce RTX 4080", "Ada", False, PCI_IDS, "2026-08-22", since=("525.78.01", "535")),
    Board(0x27B0, "RTX 4000 SFF Ada", "Ada", False, PCI_IDS, "2026-08-22", since=("525.105.17", "535")),
    Board(0x27B1, "RTX 4500 Ada", "Ada", False, PCI_IDS, "2026-08-22", since=("535.104.12", "550")),
    Board(0x27B2, "RTX 4000 Ada", "Ada", False, PCI_IDS, "2026-08-22", since=("535.98", "550")),
    Board(0x27B6, "L2", "Ada", False, PCI_IDS, "2026-08-22", since=("535.154.05", "550")),
    Board(0x27B8, "L4", "Ada", False, PCI_IDS, "2026-08-22", since=("525.105.17", "535")),
    Board(0x2901, "B200", "Blackwell", True, PCI_IDS, "2026-08-22", since=("570",), fabric=NVLINK5),
    Board(0x2920, "TS4 / B100 (pci.ids)", "Blackwell", True, PCI_IDS, "2026-08-22", fabric=NVLINK5),
    Board(0x2941, "GB200", "Blackwell", True, PCI_IDS, "2026-08-22", since=("570.124.04", "580"), fabric=RACK),
    Board(0x29BC, "B100 (GB102, pci.ids)", "Blackwell", None, PCI_IDS, "2026-08-22", fabric=NVLINK5),
    Board(0x2B85, "GeForce RTX 5090", "Blackwell", False, PCI_IDS, "2026-08-22", since=("570.86.16", "580")),
    Board(
        0x2BB1,
        "RTX PRO 6000 Blackwell Workstation",
        "Blackwell",
        True,
        PCI_IDS,
        "2026-08-22",
        since=("570.133.07", "580"),
    ),
    Board(
        0x2BB3,
        "RTX PRO 5000 Blackwell (sub 204d) / 72GB (sub 227a)",
        "Blackwell",
        None,
        PCI_IDS,
        "2026-08-22",
        since=("570.153.02", "580"),
    ),
    Board(
        0x2BB4, "RTX PRO 6000 Blackwell Max-Q WS", "Blackwell", True, PCI_IDS, "2026-08-22", since=("570.133.07", "580")
    ),
    Board(0x2BB5, "RTX PRO 6000 Blackwell Server", "Blackwell", True, PCI_IDS, "2026-08-22", since=("580",)),
    Board(0x2BB9, "RTX 6000D", "Blackwell", None, PCI_IDS, "2026-08-22", since=("580.82.07", "590")),
    Board(0x2C02, "GeForce RTX 5080", "Blackwell", False, PCI_IDS, "2026-08-22", since=("570.86.16", "580")),
    Board(0x2C05, "GeForce RTX 5070 Ti", "Blackwell", False, PCI_IDS, "2026-08-22", since=("570.124.04", "580")),
    Board(0x2C31, "RTX PRO 4500 Blackwell", "Blackwell", None, PCI_IDS, "2026-08-22", since=("570.169", "580")),
    Board(0x2C34, "RTX PRO 4000 Blackwell", "Blackwell", False, PCI_IDS, "2026-08-22", since=("570.169", "580")),
    Board(0x2C3A, "RTX PRO 4500 Blackwell Server", "Blackwell", None, PCI_IDS, "2026-08-22", since=("580.142",)),
    Board(
        0x2D30,
        "RTX PRO 2000 Blackwell",
        "Blackwell",
        False,
        PCI_IDS,
        "2026-08-22",
        since=("570.190", "580.76.05", "590"),
    ),
    Board(
        0x2E12, "GB10 (DGX Spark)", "Blackwell", False, PCI_IDS, "2026-08-22", since=("580.119.02", "590.48.01", "595")
    ),
    Board(0x2F04, "GeForce RTX 5070", "Blackwell", False, PCI_IDS, "2026-08-22", since=("570.133.07", "580")),
    Board(0x3182, "B300 SXM6 AC", "Blackwell", True, PCI_IDS, "2026-08-22", since=("580.82.07", "590"), fabric=NVLINK5),
    Board(0x31A1, "GB300 MaxQ (pci.ids)", "Blackwell", True, PCI_IDS, "2026-08-22", fabric=RACK),
    Board(0x31C2, "GB300", "Blackwell", True, PCI_IDS, "2026-08-22", since=("580.82.07", "590"), fabric=RACK),
    Board(0x31C3, "GB300 (pci.ids)", "Blackwell", True, PCI_IDS, "2026-08-22", fabric=RACK),
)


def range_of(device: int) -> Range | None:
    """The range that holds the PCI device id, or None for a GPU that this release does not know."""
    return next((r for r in RANGES if r.first <= device <= r.last), None)


def board_of(device: int) -> Board | None:
    """The board with exactly this PCI device id, or None."""
    return next((b for b in BOARDS if b.device == device), None)


def architecture_of(name: str) -> Architecture | None:
    """The architecture of this name, or None."""
    return next((a for a in ARCHITECTURES if a.name == name), None)


def first_branch(device: int) -> int | None:
    """The first driver branch that drives the GPU; None for a GPU that this release does not know.

    What is written down of boards begins with the open modules (515): older architectures count as a whole.
    """
    known = range_of(device)
    architecture = architecture_of(known.architecture) if known else None
    if architecture is None or architecture.first_branch < FIRST_OPEN_BRANCH:
        return architecture.first_branch if architecture else None
    return int(_since(device)[0].partition(".")[0])


def first_release(device: int, branch: int) -> str:
    """The release from which on a branch drives the GPU, '' where it does so with all of them or nothing is known."""
    return next((r for r in _since(device) if "." in r and r.partition(".")[0] == str(branch)), "")


def _since(device: int) -> tuple[str, ...]:
    """What a board's row says, else the first branch of its architecture."""
    board, known = board_of(device), range_of(device)
    if board is not None and board.since:
        return board.since
    architecture = architecture_of(known.architecture) if known else None
    return (str(architecture.first_branch),) if architecture else ()
