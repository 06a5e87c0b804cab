# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks NVML for what CDI devices need. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .._plan.cdi_host import Gpu, MigDevice
from .cdi import NvmlView
from .nvml import (
    ABSENT,
    DRIVER_NOT_LOADED,
    INVALID_ARGUMENT,
    LIBRARY_NOT_FOUND,
    NOT_FOUND,
    NOT_SUPPORTED,
    Nvml,
    NvmlFailure,
    open_nvml,
    sysfs_address,
    text_of,
)

# "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb+me": the profile is the end of a MIG device's name.
PROFILE = re.compile(r" MIG (\S+)$")

# NVML_DEVICE_ADDRESSING_MODE_ATS (nvml.h)
ATS = 2

# NVML_GPU_INSTANCE_PROFILE_*_GFX (nvml.h), in the order 1, 2, 4 and 3 slices. Not every driver has them in the
# device's name.
GFX_PROFILES = (0x0A, 0x0B, 0x0C, 0x11)


def read_gpus() -> NvmlView:
    """Driver version, GPUs and MIG devices; or why NVML does not answer. Raises HelperMissing."""
    try:
        with open_nvml() as nvml:
            handles = list(enumerate(nvml.gpus()))
            lost = tuple(f"GPU {i}: {h}" for i, h in handles if isinstance(h, NvmlFailure))
            gpus = tuple(_gpu(nvml, i, h) for i, h in handles if not isinstance(h, NvmlFailure))
            version = text_of(nvml.call("nvmlSystemGetDriverVersion"))
            return NvmlView(version=version, gpus=gpus, lost=lost, cuda_version=_cuda_version(nvml))
    except NvmlFailure as failure:
        return NvmlView(error=str(failure), absent=failure.code in (LIBRARY_NOT_FOUND, DRIVER_NOT_LOADED))


def _cuda_version(nvml: Nvml) -> str | None:
    """12.4 for 12040, the number of cuDriverGetVersion."""
    number = nvml.ask("nvmlSystemGetCudaDriverVersion")
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"


def _gpu(nvml: Nvml, index: int, handle: Any) -> Gpu:
    mode, pci = nvml.ask("nvmlDeviceGetMigMode", handle), nvml.ask("nvmlDeviceGetPciInfo", handle)
    enabled = bool(mode and mode[0])
    return Gpu(
        index=index,
        minor=nvml.call("nvmlDeviceGetMinorNumber", handle),
        uuid=text_of(nvml.call("nvmlDeviceGetUUID", handle)) or "",
        name=text_of(nvml.call("nvmlDeviceGetName", handle)) or "",
        pci_address=None if pci is None else sysfs_address(pci.busId),
        mig_enabled=enabled,
        mig_devices=tuple(_mig_devices(nvml, handle)) if enabled else (),
        coherent=_coherent(nvml, handle),
    )


def _coherent(nvml: Nvml, gpu: Any) -> bool | None:
    """Whether memory is addressed through ATS; None where the library cannot say."""
    try:
        return bool(nvml.call("nvmlDeviceGetAddressingMode", gpu) == ATS)
    except NvmlFailure as failure:
        return False if failure.code == NOT_SUPPORTED else None


def _mig_devices(nvml: Nvml, parent: Any) -> Iterator[MigDevice]:
    graphics = _graphics_profiles(nvml, parent)
    for index in range(nvml.call("nvmlDeviceGetMaxMigDeviceCount", parent)):
        # Indices have gaps where no MIG device is.
        handle = nvml.ask("nvmlDeviceGetMigDeviceHandleByIndex", parent, index, absent=(NOT_FOUND, INVALID_ARGUMENT))
        if handle is None:
            continue
        instance = nvml.call("nvmlDeviceGetGpuInstanceId", handle)
        named = PROFILE.search(text_of(nvml.call("nvmlDeviceGetName", handle)) or "")
        profile = named.group(1) if named else ""
        if "gfx" not in profile and graphics and _profile_of(nvml, parent, instance) in graphics:
            profile += "+gfx"
        yield MigDevice(
            index=index,
            uuid=text_of(nvml.call("nvmlDeviceGetUUID", handle)) or "",
            gpu_instance=instance,
            compute_instance=nvml.call("nvmlDeviceGetComputeInstanceId", handle),
            profile=profile,
        )


def _graphics_profiles(nvml: Nvml, gpu: Any) -> set[int]:
    """Ids of the profiles with graphics that this GPU has."""
    none = (*ABSENT, INVALID_ARGUMENT)
    found = (nvml.ask("nvmlDeviceGetGpuInstanceProfileInfo", gpu, n, absent=none) for n in GFX_PROFILES)
    return {info.id for info in found if info is not None}


def _profile_of(nvml: Nvml, gpu: Any, instance: int) -> int:
    return int(nvml.call("nvmlGpuInstanceGetInfo", nvml.call("nvmlDeviceGetGpuInstanceById", gpu, instance)).profileId)
