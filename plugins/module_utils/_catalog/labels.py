# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node labels of the operator and of GPU Feature Discovery as data. Private to this collection.

Sources: operator 26.7 controllers/labels.go; k8s-device-plugin v0.20.0 internal/lm and its resource package (2026-08).
"""

from __future__ import annotations

from dataclasses import dataclass

from .states import CONTAINER, DEPLOY, MODES, PASSTHROUGH, VGPU

PREFIX = "nvidia.com/"
PRESENT = "nvidia.com/gpu.present"
WORKLOAD = "nvidia.com/gpu.workload.config"
OPERANDS = "nvidia.com/gpu.deploy.operands"
TIMESTAMP = "nvidia.com/gfd.timestamp"
HOST_DRIVER_VERSION = "nvidia.com/vgpu.host-driver-version"

# What mig-manager reads and writes (NVIDIA/mig-parted deployments/devel, gpu-operator 26.7).
MIG_CONFIG = "nvidia.com/mig.config"
MIG_STATE = "nvidia.com/mig.config.state"
MIG_STATES = ("pending", "rebooting", "failed", "success")
PAUSED_FOR_MIG = "paused-for-mig-change"
# Set on a node that a MIG change has cordoned, so that a cordon of somebody else is never taken back.
MIG_CORDON = "gpu.fleet/cordoned-for-mig-change"
MIG_MANAGER_APP = "nvidia-mig-manager"

# NFD lists here the labels that it owns: it would take a change of them back.
NFD_LABELS_ANNOTATION = "nfd.node.kubernetes.io/feature-labels"


@dataclass(frozen=True)
class DeployLabel:
    """A label that lets an operand land on a node: in which workload modes, and whether only on MIG-capable nodes."""

    key: str
    modes: tuple[str, ...]
    mig_only: bool = False


DEPLOY_LABELS = (
    DeployLabel(f"{DEPLOY}driver", (CONTAINER,)),
    DeployLabel(f"{DEPLOY}container-toolkit", (CONTAINER,)),
    DeployLabel(f"{DEPLOY}operator-validator", (CONTAINER,)),
    DeployLabel(f"{DEPLOY}device-plugin", (CONTAINER,)),
    DeployLabel(f"{DEPLOY}gpu-feature-discovery", (CONTAINER,)),
    DeployLabel(f"{DEPLOY}dcgm", (CONTAINER,)),
    DeployLabel(f"{DEPLOY}dcgm-exporter", (CONTAINER,)),
    DeployLabel(f"{DEPLOY}node-status-exporter", (CONTAINER,)),
    DeployLabel(f"{DEPLOY}mig-manager", (CONTAINER,), mig_only=True),
    DeployLabel(f"{DEPLOY}client", MODES),
    DeployLabel(f"{DEPLOY}sandbox-device-plugin", (PASSTHROUGH, VGPU)),
    DeployLabel(f"{DEPLOY}sandbox-validator", (PASSTHROUGH, VGPU)),
    DeployLabel(f"{DEPLOY}vfio-manager", (PASSTHROUGH,)),
    DeployLabel(f"{DEPLOY}vgpu-manager", (VGPU,)),
    DeployLabel(f"{DEPLOY}vgpu-device-manager", (VGPU,)),
    DeployLabel(f"{DEPLOY}cc-manager", (PASSTHROUGH, VGPU)),
)

# Operands that have GPUs open or count MIG devices when they start, by the deploy label that lets them land.
PAUSED_OPERANDS = tuple(
    f"{DEPLOY}{name}" for name in ("device-plugin", "gpu-feature-discovery", "dcgm-exporter", "dcgm", "nvsm", "client")
)

# Compute capability (major, lowest minor) -> family; the last row that fits wins. Capability 11 has none.
FAMILIES = (
    ((1, 0), "tesla"),
    ((2, 0), "fermi"),
    ((3, 0), "kepler"),
    ((5, 0), "maxwell"),
    ((6, 0), "pascal"),
    ((7, 0), "volta"),
    ((7, 5), "turing"),
    ((8, 0), "ampere"),
    ((8, 9), "ada-lovelace"),
    ((9, 0), "hopper"),
    ((10, 0), "blackwell"),
    ((12, 0), "blackwell"),
    ((13, 0), "rubin"),
)

# PCI class -> gpu.mode
MODES_BY_CLASS = {0x030200: "compute", 0x030000: "graphics"}

# Names that the device plugin never enumerates (go-nvlib, device package).
DISPLAY_PRODUCTS = ("DGX Display", "NVIDIA DGX Display")

# MIG attribute of NVML -> label suffix
MIG_ATTRIBUTES = (
    ("multiprocessors", "multiprocessors"),
    ("gpu_instance_slices", "slices.gi"),
    ("compute_instance_slices", "slices.ci"),
    ("copy_engines", "engines.copy"),
    ("decoders", "engines.decoder"),
    ("encoders", "engines.encoder"),
    ("jpeg_engines", "engines.jpeg"),
    ("ofa_engines", "engines.ofa"),
)
