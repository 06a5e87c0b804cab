# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVML says on a described host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._observe.cdi import NvmlView
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_host import Gpu, MigDevice

# NVML's words for its return codes (nvml.h)
ERRORS = {9: "Driver Not Loaded", 12: "NVML Shared Library Not Found", 18: "Driver/library version mismatch"}


def view(case: Mapping[str, Any]) -> NvmlView:
    """The answer that ``gpus`` of a case describe, or the error."""
    code = 12 if case.get("nvml") == "absent" else case.get("nvml_init_error")
    if code:
        return NvmlView(error=ERRORS[code], absent=code in (9, 12))
    return NvmlView(
        version=str(case["driver"]["version"]),
        gpus=tuple(_gpu(g) for g in case.get("gpus") or []),
        cuda_version=case["driver"].get("cuda"),
    )


def _gpu(row: Mapping[str, Any]) -> Gpu:
    mig = row.get("mig") or {}
    return Gpu(
        index=row["index"],
        minor=row["minor"],
        uuid=row["uuid"],
        name=row["name"],
        pci_address=row.get("bdf"),
        mig_enabled=bool(mig.get("enabled")),
        mig_devices=tuple(_mig(d) for d in mig.get("devices") or []),
        coherent=None if row.get("addressing_mode") is None else str(row["addressing_mode"]).lower() == "ats",
    )


def _mig(row: Mapping[str, Any]) -> MigDevice:
    return MigDevice(row["index"], row["uuid"], row["gpu_instance"], row["compute_instance"], row["profile"])
