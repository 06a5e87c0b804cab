# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""systemd units that hold GPUs and are in the way of MIG changes. Private to this collection.

Rows are in the order of stopping: whoever uses another comes before it.
"""

from __future__ import annotations

from dataclasses import dataclass

OPERATOR = "https://github.com/NVIDIA/gpu-operator assets/state-mig-manager (gpu-clients)"
GUIDE = "NVIDIA MIG User Guide (docs.nvidia.com/datacenter/tesla/mig-user-guide)"


@dataclass(frozen=True)
class GpuClient:
    """A unit. ``resets_only``: it is in the way of a GPU reset, but not of a change of instances."""

    unit: str
    resets_only: bool
    source: str
    date: str


CLIENTS = (
    GpuClient("display-manager.service", True, "https://github.com/NVIDIA/mig-parted/issues/181", "2026-11-30"),
    GpuClient("nvsm.service", False, OPERATOR, "2026-11-30"),
    GpuClient("nvsm-mqtt.service", False, OPERATOR, "2026-11-30"),
    GpuClient("nvsm-core.service", False, OPERATOR, "2026-11-30"),
    GpuClient("nvsm-api-gateway.service", False, OPERATOR, "2026-11-30"),
    GpuClient("nvsm-notifier.service", False, OPERATOR, "2026-11-30"),
    GpuClient("dcgm-exporter.service", False, OPERATOR, "2026-11-30"),
    GpuClient("nvidia-dcgm.service", False, OPERATOR, "2026-11-30"),
    GpuClient("dcgm.service", False, OPERATOR, "2026-11-30"),
    GpuClient("nv_peer_mem.service", True, OPERATOR, "2026-11-30"),
    GpuClient("nvidia-fabricmanager.service", True, GUIDE, "2026-11-30"),
    GpuClient("nvidia-persistenced.service", True, "https://github.com/NVIDIA/gpu-operator/issues/118", "2026-11-30"),
)
DEFAULT_CLIENTS = tuple(row.unit for row in CLIENTS)
RESETS_ONLY = frozenset(row.unit for row in CLIENTS if row.resets_only)
