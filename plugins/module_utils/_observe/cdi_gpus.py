# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks NVML for what CDI devices need. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from .._plan.cdi_host import Gpu, MigDevice
from .cdi import NvmlView

# "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb+me": the profile is the end of a MIG device's name.
PROFILE = re.compile(r" MIG (\S+)$")


def gpu_reader(pynvml: Any) -> Callable[[], NvmlView]:
    """A reader that opens NVML once. ``pynvml`` is the package of nvidia-ml-py."""

    def read() -> NvmlView:
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            missing = error.value in (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED)
            return NvmlView(error=str(error), absent=missing)
        try:
            return NvmlView(version=_text(pynvml.nvmlSystemGetDriverVersion()), gpus=tuple(_gpus(pynvml)))
        except pynvml.NVMLError as error:
            return NvmlView(error=str(error))
        finally:
            pynvml.nvmlShutdown()

    return read


def _gpus(nvml: Any) -> Iterator[Gpu]:
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        enabled = _supported(nvml, lambda h: nvml.nvmlDeviceGetMigMode(h)[0], handle) == nvml.NVML_DEVICE_MIG_ENABLE
        yield Gpu(
            index=index,
            minor=nvml.nvmlDeviceGetMinorNumber(handle),
            uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
            name=_text(nvml.nvmlDeviceGetName(handle)),
            pci_address=_pci_address(nvml, handle),
            mig_enabled=enabled,
            mig_devices=tuple(_mig_devices(nvml, handle)) if enabled else (),
        )


def _mig_devices(nvml: Any, parent: Any) -> Iterator[MigDevice]:
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(parent)):
        try:
            handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, index)
        except (nvml.NVMLError_NotFound, nvml.NVMLError_InvalidArgument):
            # Indices have gaps where no MIG device is.
            continue
        name = PROFILE.search(_text(nvml.nvmlDeviceGetName(handle)))
        yield MigDevice(
            index=index,
            uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
            gpu_instance=nvml.nvmlDeviceGetGpuInstanceId(handle),
            compute_instance=nvml.nvmlDeviceGetComputeInstanceId(handle),
            profile=name.group(1) if name else "",
        )


def _pci_address(nvml: Any, handle: Any) -> str | None:
    info = _supported(nvml, nvml.nvmlDeviceGetPciInfo, handle)
    if info is None:
        return None
    domain, _, rest = _text(info.busId).lower().partition(":")
    # NVML writes domains with eight digits, sysfs with at least four.
    return f"{int(domain, 16):04x}:{rest}"


def _supported(nvml: Any, ask: Callable[[Any], Any], handle: Any) -> Any:
    """The answer, or None where this GPU or this library cannot say."""
    try:
        return ask(handle)
    except (nvml.NVMLError_NotSupported, nvml.NVMLError_FunctionNotFound):
        return None


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
