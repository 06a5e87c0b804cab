# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads each GPU through NVML: identity, memory, MIG devices, processes, fabric. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import byref
from typing import Any

from .gpu_health import read_health
from .mig import ARCHITECTURES, NO_INSTANCE
from .nvml import ABSENT, INVALID_ARGUMENT, NOT_FOUND, Nvml, NvmlFailure, sysfs_address, text_of
from .nvml_reader import NvmlReader

# NVML_GPU_FABRIC_STATE_* (nvml.h)
FABRIC_STATES = {0: "not_supported", 1: "not_started", 2: "in_progress", 3: "completed"}

PROCESS_LISTS = {
    "compute": "nvmlDeviceGetComputeRunningProcesses",
    "graphics": "nvmlDeviceGetGraphicsRunningProcesses",
}

# name in the result -> field of nvmlDeviceAttributes_t
ATTRIBUTES = {
    "multiprocessors": "multiprocessorCount",
    "gpu_instance_slices": "gpuInstanceSliceCount",
    "compute_instance_slices": "computeInstanceSliceCount",
    "copy_engines": "sharedCopyEngineCount",
    "decoders": "sharedDecoderCount",
    "encoders": "sharedEncoderCount",
    "jpeg_engines": "sharedJpegCount",
    "ofa_engines": "sharedOfaCount",
}


def read_gpu_facts(nvml: Nvml) -> list[dict[str, Any]]:
    """One row a GPU, in NVML's index order.

    A GPU that NVML cannot identify has only ``index``, ``error`` and, where NVML gives it, ``pci_address``.
    """
    return [_row(nvml, index, handle) for index, handle in enumerate(nvml.gpus())]


def _row(nvml: Nvml, index: int, handle: Any) -> dict[str, Any]:
    if isinstance(handle, NvmlFailure):
        return {"index": index, "pci_address": None, "error": str(handle)}
    address = None
    try:
        pci = nvml.call("nvmlDeviceGetPciInfo", handle)
        address = sysfs_address(pci.busId)
        return _facts(NvmlReader(nvml, handle), index, pci)
    except NvmlFailure as failure:
        return {"index": index, "pci_address": address, "error": str(failure)}


def _facts(reader: NvmlReader, index: int, pci: Any) -> dict[str, Any]:
    """What identifies a GPU or decides what it can be asked for has to be there; the rest may be unknown."""
    nvml, handle = reader.nvml, reader.gpu
    memory = reader.ask("memory_mib", "nvmlDeviceGetMemoryInfo")
    capability = reader.ask("compute_capability", "nvmlDeviceGetCudaComputeCapability")
    return {
        "index": index,
        "minor": reader.ask("minor", "nvmlDeviceGetMinorNumber"),
        "uuid": text_of(nvml.call("nvmlDeviceGetUUID", handle)),
        "name": text_of(nvml.call("nvmlDeviceGetName", handle)),
        "pci_address": sysfs_address(pci.busId),
        "pci_id": f"{pci.pciDeviceId & 0xFFFF:04x}:{pci.pciDeviceId >> 16:04x}",
        "architecture": _architecture(reader),
        "compute_capability": None if capability is None else "{}.{}".format(*capability),
        "memory_mib": None if memory is None else memory.total >> 20,
        "mig": _mig(nvml, handle),
        "health": read_health(nvml, handle),
        "processes": _processes(reader),
        "fabric": read_fabric(reader),
        "error": None,
        "unknown": reader.unknown,
    }


def _architecture(reader: NvmlReader) -> str | None:
    """A number that this collection has no name for is a newer architecture."""
    number = reader.ask("architecture", "nvmlDeviceGetArchitecture")
    if number is not None and number not in ARCHITECTURES:
        reader.unknown["architecture"] = f"nvmlDeviceGetArchitecture: {number} has no name here"
    return ARCHITECTURES.get(number)


def _mig(nvml: Nvml, handle: Any) -> dict[str, Any]:
    mode = nvml.ask("nvmlDeviceGetMigMode", handle)
    current, pending = mode or (0, 0)
    return {
        "capable": mode is not None,
        "enabled": bool(current),
        "pending": bool(pending),
        "devices": list(_mig_devices(nvml, handle)) if current else [],
    }


def _mig_devices(nvml: Nvml, gpu: Any) -> Iterator[dict[str, Any]]:
    """Indexes have holes where no device is."""
    for index in range(nvml.ask("nvmlDeviceGetMaxMigDeviceCount", gpu) or 0):
        ask = "nvmlDeviceGetMigDeviceHandleByIndex"
        handle = nvml.ask(ask, gpu, index, absent=(*ABSENT, NOT_FOUND, INVALID_ARGUMENT))
        if handle is None:
            continue
        attributes = nvml.ask("nvmlDeviceGetAttributes_v2", handle)
        name = text_of(nvml.ask("nvmlDeviceGetName", handle)) or ""
        yield {
            "index": index,
            "uuid": text_of(nvml.call("nvmlDeviceGetUUID", handle)),
            "profile": name.rpartition(" MIG ")[2] or None,
            "gpu_instance": nvml.call("nvmlDeviceGetGpuInstanceId", handle),
            "compute_instance": nvml.call("nvmlDeviceGetComputeInstanceId", handle),
            "memory_mib": None if attributes is None else attributes.memorySizeMB,
            "attributes": {n: getattr(attributes, f) for n, f in ATTRIBUTES.items()} if attributes else {},
        }


def _processes(reader: NvmlReader) -> list[dict[str, Any]] | None:
    """Compute, then graphics processes; None where NVML does not tell of them."""
    found: list[dict[str, Any]] = []
    for kind, name in PROCESS_LISTS.items():
        listed = reader.ask("processes", name)
        if listed is None:
            return None
        found += [_process(kind, process) for process in listed]
    return found


def _process(kind: str, process: Any) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "type": kind,
        "memory_mib": None if process.usedGpuMemory is None else process.usedGpuMemory >> 20,
        "gpu_instance": _instance(process.gpuInstanceId),
        "compute_instance": _instance(process.computeInstanceId),
    }


def _instance(number: int) -> int | None:
    return None if number == NO_INSTANCE else number


def read_fabric(reader: NvmlReader) -> dict[str, Any] | None:
    """NVLink fabric of NVSwitch systems; None where the GPU or the library has none."""
    structure = getattr(reader.nvml.api, "c_nvmlGpuFabricInfo_v2_t", None)
    if structure is None:
        reader.unknown["fabric"] = "nvmlDeviceGetGpuFabricInfoV: not in this nvidia-ml-py"
        return None
    info = structure()
    absent = (*ABSENT, INVALID_ARGUMENT)
    if reader.ask_if_any("fabric", "nvmlDeviceGetGpuFabricInfoV", byref(info), absent=absent) is None:
        return None
    if info.state == 0:
        return None
    digits = bytes(b & 0xFF for b in info.clusterUuid).hex()
    uuid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
    return {"state": FABRIC_STATES.get(info.state), "clique": info.cliqueId, "cluster_uuid": uuid}
