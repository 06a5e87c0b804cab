# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Xid errors: what the driver writes into the kernel log, and what else a GPU shows afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field

GPU_RESET, NODE_REBOOT, DRAIN_P2P, DRAIN_AND_RESET = 1, 2, 3, 4  # NVML_GPU_RECOVERY_ACTION_*
RECOVERY_NAMES = ("None", "GPU Reset Required", "Node Reboot Required", "Drain P2P", "Drain and Reset")
DRAM, SRAM = 2, 7  # NVML_MEMORY_LOCATION_*
SINGLE_BIT_EVENT, DOUBLE_BIT_EVENT, XID_EVENT = 0x1, 0x2, 0x8  # nvmlEventType*

GPUD = "leptonai/gpud, xid component and tests; NVIDIA Xid documentation, read 2026-11-30"
RECORDED = "recorded kernel logs in public issue threads, read 2026-11-30"


@dataclass(frozen=True)
class Xid:
    """`text` of the log may name `{link}`, `{index}`, `{page}`, `{old}`, `{new}`. `older`: of boards that retire pages.

    `health`: values of health.py that are set; `counts`: those that are raised by one. `ecc`: location and whether
    uncorrected. `events`: further event types that NVML reports.
    """

    number: int
    meaning: str
    text: str
    source: str = GPUD
    older: str = ""
    recovery: int = 0
    health: dict[str, int] = field(default_factory=dict)
    counts: tuple[str, ...] = ()
    ecc: tuple[int, bool] | None = None
    events: tuple[int, ...] = ()
    loses_gpu: bool = False
    downs_link: bool = False


_ROWS = (
    Xid(
        13,
        "graphics engine exception, usually of an application",
        "Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address",
    ),
    Xid(
        31,
        "memory page fault, usually of an application",
        "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7fd0_3d800000. "
        "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
    ),
    Xid(43, "GPU stopped processing, of an application", "Ch 00000010"),
    Xid(45, "preemptive cleanup after an earlier error", "Ch 00000008"),
    Xid(
        48,
        "double-bit ECC error",
        "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 0, "
        "subpartition 0.",
        recovery=GPU_RESET,
        ecc=(DRAM, True),
        events=(DOUBLE_BIT_EVENT,),
    ),
    Xid(61, "internal micro-controller breakpoint", "0cec(2fdc) 00000000 00000000", recovery=GPU_RESET),
    Xid(62, "internal micro-controller halt", "32e(6ac0) 00000000 00000000", recovery=GPU_RESET),
    Xid(
        63,
        "a row or page waits for a reset",
        "Row Remapper: New row marked for remapping, reset gpu to activate.",
        older="Dynamic Page Retirement: New page retired, reboot to activate (0x{page:016x}).",
        recovery=GPU_RESET,
        health={"remap_pending": 1, "retired_pending": 1},
        counts=("remapped_uncorrectable",),
    ),
    Xid(
        64,
        "a row or page could not be taken out of use",
        "Row Remapper: Row remapping failed.",
        older="Dynamic Page Retirement: Fatal error, unable to retire page (0x{page:016x}).",
        recovery=GPU_RESET,
        health={"remap_failed": 1},
    ),
    Xid(
        74,
        "NVLink error",
        "NVLink: fatal error detected on link {link}(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
        recovery=GPU_RESET,
        downs_link=True,
    ),
    Xid(79, "the GPU has fallen off the bus", "GPU has fallen off the bus.", RECORDED, loses_gpu=True),
    Xid(
        92,
        "high rate of single-bit ECC errors",
        "High single-bit ECC error rate detected.",
        ecc=(DRAM, False),
        events=(SINGLE_BIT_EVENT,),
    ),
    Xid(94, "contained ECC error", "Contained: SM (0x1). RST: No, D-RST: No", ecc=(SRAM, True)),
    Xid(
        95,
        "uncontained ECC error",
        "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No",
        recovery=GPU_RESET,
        ecc=(SRAM, True),
        events=(DOUBLE_BIT_EVENT,),
    ),
    Xid(
        119,
        "the GSP firmware does not answer",
        "Timeout after 6s of waiting for RPC response from GPU{index} GSP! Expected function 76 (GSP_RM_CONTROL) "
        "(0x20802a02 0x8).",
        RECORDED,
        recovery=GPU_RESET,
    ),
    Xid(
        120,
        "error of the GSP firmware",
        "GSP Error: Task 1 raised error code 0x5 for reason 0x0 at 0x6301c54 (0 more errors skipped)",
        recovery=GPU_RESET,
    ),
    Xid(
        140,
        "uncorrected ECC error",
        "An uncorrectable ECC error detected (possible app impact) DRAM:0, LTC:0, MMU:1, PCIE:0",
        recovery=GPU_RESET,
        ecc=(SRAM, True),
    ),
    Xid(
        145,
        "NVLink 5: error that is not fatal",
        "RLW_SRC_TRACK Nonfatal XC1 i0 Link {link:02d} (0x040868e2 0x00000008" + 4 * " 0x00000000" + ")",
        RECORDED,
    ),
    Xid(
        149,
        "NVLink 5: fatal error of a link",
        "NETIR_LINK_EVT Fatal XC0 i0 Link {link:02d} (0x000fe406" + 5 * " 0x00000000" + ")",
        RECORDED,
        recovery=GPU_RESET,
        downs_link=True,
    ),
    Xid(
        154,
        "the recovery action has changed",
        "GPU recovery action changed from 0x{old:x} ({old_name}) to 0x{new:x} ({new_name})",
        RECORDED,
        recovery=GPU_RESET,
    ),
)
XIDS = {row.number: row for row in _ROWS}
