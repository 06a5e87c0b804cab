# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Xid errors of the driver and what NVIDIA says to do about them. Private to this collection.

A new Xid is one row in XIDS. Numbers that are not listed are unused on Ampere and later GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

XID_CATALOG = "docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"

# Actions, in NVIDIA's words in lower case. workflow: the message's own words or other Xids decide.
IGNORE, RESTART_APP, RESET_GPU = "ignore", "restart_app", "reset_gpu"
RESTART_VM, RESTART_BM = "restart_vm", "restart_bm"
CONTACT_SUPPORT, CHECK_MECHANICALS, UPDATE_SWFW = "contact_support", "check_mechanicals", "update_swfw"
WORKFLOW = "workflow"


@dataclass(frozen=True)
class Xid:
    """``mnemonic`` as in NVIDIA's nverror.h, ``meaning`` in words, ``action`` what to do at once.

    An action of None: NVIDIA names none.
    """

    number: int
    mnemonic: str
    meaning: str
    action: str | None
    source: str
    as_of: str


def _rows(*rows: tuple[int, str, str, str | None]) -> tuple[Xid, ...]:
    return tuple(Xid(*row, XID_CATALOG, "2026-10-31") for row in rows)


XIDS = _rows(
    (8, "ROBUST_CHANNEL_FIFO_ERROR_IDLE_TIMEOUT", "the GPU stopped processing", RESTART_APP),
    (11, "ROBUST_CHANNEL_GR_ERROR_MISSING_HW", "invalid push buffer stream", RESTART_APP),
    (13, "ROBUST_CHANNEL_GR_EXCEPTION", "graphics engine exception, mostly a fault of the application", RESTART_APP),
    (14, "ROBUST_CHANNEL_FAKE_ERROR", "an error injected by a program", IGNORE),
    (25, "ROBUST_CHANNEL_GR_ILLEGAL_NOTIFY", "invalid push buffer stream", RESTART_APP),
    (31, "ROBUST_CHANNEL_FIFO_ERROR_MMU_ERR_FLT", "memory page fault, mostly of the application", RESTART_APP),
    (32, "ROBUST_CHANNEL_PBDMA_ERROR", "invalid push buffer stream, mostly the quality of the PCIe link", RESTART_APP),
    (37, "ROBUST_CHANNEL_FECS_ERR_UNIMP_FIRMWARE_METHOD", "driver firmware error", IGNORE),
    (38, "ROBUST_CHANNEL_FECS_ERR_WATCHDOG_TIMEOUT", "driver firmware error", IGNORE),
    (39, "ROBUST_CHANNEL_CE0_ERROR", "copy engine exception", RESTART_APP),
    (40, "ROBUST_CHANNEL_CE1_ERROR", "copy engine exception", RESTART_APP),
    (41, "ROBUST_CHANNEL_CE2_ERROR", "copy engine exception", RESTART_APP),
    (43, "ROBUST_CHANNEL_RESETCHANNEL_VERIF_ERROR", "the application failed, the GPU is well", IGNORE),
    (44, "ROBUST_CHANNEL_GR_FAULT_DURING_CTXSW", "graphics engine fault during a context switch", IGNORE),
    (45, "ROBUST_CHANNEL_PREEMPTIVE_REMOVAL", "clean-up after an abort or an earlier error", WORKFLOW),
    (46, "ROBUST_CHANNEL_GPU_TIMEOUT_ERROR", "the GPU stopped processing", RESET_GPU),
    (48, "ROBUST_CHANNEL_GPU_ECC_DBE", "uncorrectable (double bit) memory error", WORKFLOW),
    (54, "SILENT_RUNNING_PWR_REDUCED_CLOCKING", "auxiliary power is not connected", CHECK_MECHANICALS),
    (60, "ROBUST_CHANNEL_SEC2_ERROR", "video processor exception", RESTART_APP),
    (62, "PMU_HALT_ERROR", "an internal micro-controller halted", RESET_GPU),
    (63, "INFOROM_DRAM_RETIREMENT_EVENT", "memory row remapped, or page retired; active after a reset", IGNORE),
    (64, "INFOROM_DRAM_RETIREMENT_FAILURE", "memory row could not be remapped, or page not retired", RESET_GPU),
    (66, "ROBUST_CHANNEL_FECS_ERR_REG_ACCESS_VIOLATION", "illegal access by the driver", IGNORE),
    (67, "ROBUST_CHANNEL_FECS_ERR_VERIF_VIOLATION", "illegal access by the driver", IGNORE),
    (68, "ROBUST_CHANNEL_NVDEC0_ERROR", "video decoder exception", RESTART_APP),
    (69, "ROBUST_CHANNEL_GR_CLASS_ERROR", "graphics engine class error", RESTART_APP),
    (70, "ROBUST_CHANNEL_CE3_ERROR", "copy engine exception", RESTART_APP),
    (71, "ROBUST_CHANNEL_CE4_ERROR", "copy engine exception", RESTART_APP),
    (72, "ROBUST_CHANNEL_CE5_ERROR", "copy engine exception", RESTART_APP),
    (74, "NVLINK_ERROR", "NVLink error of this GPU, its peer or a switch", WORKFLOW),
    (75, "ROBUST_CHANNEL_CE6_ERROR", "copy engine exception", RESTART_APP),
    (76, "ROBUST_CHANNEL_CE7_ERROR", "copy engine exception", RESTART_APP),
    (77, "ROBUST_CHANNEL_CE8_ERROR", "copy engine exception", RESTART_APP),
    (78, "VGPU_START_ERROR", "a vGPU could not start", UPDATE_SWFW),
    (79, "ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS", "the GPU has fallen off the bus", RESTART_BM),
    (80, "PBDMA_PUSHBUFFER_CRC_MISMATCH", "corrupted data sent to the GPU", RESTART_APP),
    (82, "ROBUST_CHANNEL_NVJPG0_ERROR", "JPEG engine exception", RESTART_APP),
    (83, "ROBUST_CHANNEL_NVDEC1_ERROR", "video decoder exception", RESTART_APP),
    (84, "ROBUST_CHANNEL_NVDEC2_ERROR", "video decoder exception", RESTART_APP),
    (85, "ROBUST_CHANNEL_CE9_ERROR", "copy engine exception", RESTART_APP),
    (86, "ROBUST_CHANNEL_OFA0_ERROR", "optical flow engine exception", RESTART_APP),
    (88, "ROBUST_CHANNEL_NVDEC3_ERROR", "video decoder exception", RESTART_APP),
    (89, "ROBUST_CHANNEL_NVDEC4_ERROR", "video decoder exception", RESTART_APP),
    (92, "EXCESSIVE_SBE_INTERRUPTS", "many corrected (single bit) memory errors", IGNORE),
    (93, "INFOROM_ERASE_LIMIT_EXCEEDED", "InfoROM wear limit reached", IGNORE),
    (94, "ROBUST_CHANNEL_CONTAINED_ERROR", "memory error contained to one application", RESTART_APP),
    (95, "ROBUST_CHANNEL_UNCONTAINED_ERROR", "memory error that several applications saw", RESET_GPU),
    (96, "ROBUST_CHANNEL_NVDEC5_ERROR", "video decoder exception", RESTART_APP),
    (97, "ROBUST_CHANNEL_NVDEC6_ERROR", "video decoder exception", RESTART_APP),
    (98, "ROBUST_CHANNEL_NVDEC7_ERROR", "video decoder exception", RESTART_APP),
    (99, "ROBUST_CHANNEL_NVJPG1_ERROR", "JPEG engine exception", RESTART_APP),
    (100, "ROBUST_CHANNEL_NVJPG2_ERROR", "JPEG engine exception", RESTART_APP),
    (101, "ROBUST_CHANNEL_NVJPG3_ERROR", "JPEG engine exception", RESTART_APP),
    (102, "ROBUST_CHANNEL_NVJPG4_ERROR", "JPEG engine exception", RESTART_APP),
    (103, "ROBUST_CHANNEL_NVJPG5_ERROR", "JPEG engine exception", RESTART_APP),
    (104, "ROBUST_CHANNEL_NVJPG6_ERROR", "JPEG engine exception", RESTART_APP),
    (105, "ROBUST_CHANNEL_NVJPG7_ERROR", "JPEG engine exception", RESTART_APP),
    (106, "SMBPBI_TEST_MESSAGE", "SMBPBI test message", IGNORE),
    (107, "SMBPBI_TEST_MESSAGE_SILENT", "SMBPBI test message", IGNORE),
    (109, "ROBUST_CHANNEL_CTXSW_TIMEOUT_ERROR", "a context switch timed out", RESET_GPU),
    (110, "SEC_FAULT_ERROR", "security fault, mostly hardware", RESET_GPU),
    (119, "GSP_RPC_TIMEOUT", "the GPU System Processor did not answer", RESET_GPU),
    (120, "GSP_ERROR", "error in code of the GPU System Processor", RESET_GPU),
    (121, "C2C_ERROR", "corrected errors on the link to the Grace CPU", IGNORE),
    (126, "ROBUST_CHANNEL_CE10_ERROR", "copy engine exception", RESTART_APP),
    (127, "ROBUST_CHANNEL_CE11_ERROR", "copy engine exception", RESTART_APP),
    (128, "ROBUST_CHANNEL_CE12_ERROR", "copy engine exception", RESTART_APP),
    (129, "ROBUST_CHANNEL_CE13_ERROR", "copy engine exception", RESTART_APP),
    (130, "ROBUST_CHANNEL_CE14_ERROR", "copy engine exception", RESTART_APP),
    (131, "ROBUST_CHANNEL_CE15_ERROR", "copy engine exception", RESTART_APP),
    (132, "ROBUST_CHANNEL_CE16_ERROR", "copy engine exception", RESTART_APP),
    (133, "ROBUST_CHANNEL_CE17_ERROR", "copy engine exception", RESTART_APP),
    (134, "ROBUST_CHANNEL_CE18_ERROR", "copy engine exception", RESTART_APP),
    (135, "ROBUST_CHANNEL_CE19_ERROR", "copy engine exception", RESTART_APP),
    (136, "ALI_TRAINING_FAIL", "NVLink training failed", RESET_GPU),
    (137, "NVLINK_PRIV_ERR", "illegal access of a peer over NVLink, mostly of the application", IGNORE),
    (139, "ROBUST_CHANNEL_OFA1_ERROR", "optical flow engine exception", RESTART_APP),
    (140, "UNRECOVERABLE_ECC_ERROR_ESCAPE", "uncorrectable memory error that could not be remapped", RESET_GPU),
    (141, "ROBUST_CHANNEL_FAST_PATH_ERROR", "CUDA fast path error", IGNORE),
    (142, "ROBUST_CHANNEL_NVENC3_ERROR", "video encoder exception", CONTACT_SUPPORT),
    (143, "GPU_INIT_ERROR", "the GPU could not be initialised", RESET_GPU),
    (144, "NVLINK_SAW_ERROR", "NVLink 5: SAW error", WORKFLOW),
    (145, "NVLINK_RLW_ERROR", "NVLink 5: RLW error", WORKFLOW),
    (146, "NVLINK_TLW_ERROR", "NVLink 5: TLW error", WORKFLOW),
    (147, "NVLINK_TREX_ERROR", "NVLink 5: TREX error", WORKFLOW),
    (148, "NVLINK_NVLPW_CTRL_ERROR", "NVLink 5: NVLPW_CTRL error", WORKFLOW),
    (149, "NVLINK_NETIR_ERROR", "NVLink 5: NETIR error", WORKFLOW),
    (150, "NVLINK_MSE_ERROR", "NVLink 5: MSE error", WORKFLOW),
    (151, "ROBUST_CHANNEL_KEY_ROTATION_ERROR", "confidential computing: key rotation failed", RESTART_VM),
    (152, "ROBUST_CHANNEL_DLA_SMMU_ERROR", "DLA memory management error", IGNORE),
    (153, "ROBUST_CHANNEL_DLA_TIMEOUT", "DLA timeout", IGNORE),
    (154, "GPU_RECOVERY_ACTION_CHANGED", "the driver says what the Xids before it need", WORKFLOW),
    (155, "NVLINK_SW_DEFINED_ERROR", "NVLink: link taken down by software", RESET_GPU),
    (156, "RESOURCE_RETIREMENT_EVENT", "a resource was retired; active after a reset", RESET_GPU),
    (157, "RESOURCE_RETIREMENT_FAILURE", "a resource could not be retired: none is left", IGNORE),
    (158, "GPU_FATAL_TIMEOUT", "fatal timeout of the GPU", RESET_GPU),
    (159, "ROBUST_CHANNEL_CHI_NON_DATA_ERROR", "error on the link to the CPU", WORKFLOW),
    (160, "CHANNEL_RETIREMENT_EVENT", "a memory channel was retired", IGNORE),
    (161, "CHANNEL_RETIREMENT_FAILURE", "a memory channel could not be retired", IGNORE),
    (162, "PSHC_REENGAGED", "power smoothing is active again", None),
    (163, "PSHC_DISENGAGED", "power smoothing is off, mostly because of heat", None),
    (164, "PSHC_LOW_LIFETIME", "power smoothing circuit is almost worn out", None),
    (165, "PSHC_ZERO_LIFETIME", "power smoothing circuit is worn out", None),
    (166, "NVLINK_SECURE_CRYPTO_ERR", "confidential computing: NVLink traffic before encryption", None),
    (167, "PCIE_FATAL_TIMEOUT", "fatal timeout of PCIe", None),
    (168, "REDUCED_GPU_MEMORY_CAPACITY", "errors in the write protected region, with ECC off", None),
    (169, "SEC2_HALT_ERROR", "an internal micro-controller halted", None),
    (170, "NVLINK_SECURE_OTHER", "confidential computing: NVLink interrupt", None),
    (171, "UNCORRECTABLE_DRAM_ERROR", "which DRAM the Xid 48 beside it is about", None),
    (172, "UNCORRECTABLE_SRAM_ERROR", "which SRAM the Xid 48 beside it is about", None),
)  # fmt: skip

# What Xid 154 says is needed -> action. Wording changed between branches.
RECOVERY_ACTIONS = {
    "None": IGNORE,
    "Drain P2P": "drain_p2p",
    "Drain and Reset": "drain_and_reset",
    "GPU Reset Required": RESET_GPU,
    "PF FLR": RESET_GPU,
    "Node Reboot Required": RESTART_BM,
    "OS Reboot": RESTART_BM,
}


def xid_of(number: int) -> Xid | None:
    """The row of an Xid, or None for one that this release does not know."""
    return next((x for x in XIDS if x.number == number), None)
