# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the MIG state of all GPUs: mode, profiles, placements, instances, processes. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import byref, c_uint
from typing import Any

from .._catalog.gpus import GPU_CLASSES, NVIDIA, board_of, range_of
from .._catalog.mig import MigProfile, find_model
from .._plan.mig_layout import ComputeInstance, GpuInstance, MigGpu
from .files import HostRoot
from .nvml import ABSENT, INVALID_ARGUMENT, NOT_FOUND, Nvml, NvmlFailure, sysfs_address, text_of
from .pci import read_pci

# NVML's profile numbers end where it answers INVALID_ARGUMENT; this only bounds a library that never does.
MOST_PROFILES = 64
MOST_COMPUTE_PROFILES = 16
SHARED_ENGINES = 0

# NVML_DEVICE_ARCH_* (nvml.h)
ARCHITECTURES = {
    2: "kepler", 3: "maxwell", 4: "pascal", 5: "volta", 6: "turing", 7: "ampere", 8: "ada", 9: "hopper",
    10: "blackwell", 13: "rubin",
}  # fmt: skip
WITHOUT_MIG = ("Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ada")

# What a profile's number adds to its name, for drivers that do not give the name (NVML_GPU_INSTANCE_PROFILE_*).
ATTRIBUTES = {
    7: "+me",
    8: "+me",
    10: "+gfx",
    11: "+gfx",
    12: "+gfx",
    13: "-me",
    14: "-me",
    15: "+me.all",
    16: "+me.all",
    17: "+gfx",
}

# nvmlProcessInfo_t.gpuInstanceId of a process outside MIG
NO_INSTANCE = 0xFFFFFFFF


def read_mig(nvml: Nvml) -> tuple[MigGpu, ...]:
    """Every GPU that NVML lists, in index order; one that cannot be read has ``error``. Raises NvmlFailure."""
    return tuple(_read_gpu(nvml, i, handle) for i, handle in enumerate(nvml.gpus()))


def read_mig_offline(host: HostRoot) -> tuple[MigGpu, ...]:
    """What PCI and the catalog know, for a host whose driver is not there yet: MIG off, indexes by PCI address."""
    functions = [f for f in read_pci(host, vendor=NVIDIA) if f.pci_class in GPU_CLASSES]
    return tuple(_offline(index, f.address, f.device, f.subsystem) for index, f in enumerate(functions))


def _offline(index: int, address: str, device: str, subsystem: str) -> MigGpu:
    model, board, known = find_model(device), board_of(int(device, 16)), range_of(int(device, 16))
    vendor, _colon, system = subsystem.partition(":")
    capable: bool | None = True if model else None
    if model is None and (board is not None and board.mig is False or known and known.architecture in WITHOUT_MIG):
        capable = False
    return MigGpu(
        index=index,
        uuid=None,
        pci_address=address,
        pci_id=f"{device}{NVIDIA}".upper(),
        subsystem_id=f"{system}{vendor}".upper(),
        name=model.name if model else board.name if board else f"unknown model {device}",
        capable=capable,
        architecture=model.architecture if model else (known.architecture.lower() if known else ""),
        profiles=model.profiles if model else (),
        source="catalog" if model else None,
    )


def _read_gpu(nvml: Nvml, index: int, handle: Any) -> MigGpu:
    if isinstance(handle, NvmlFailure):
        return _broken(index, handle)
    try:
        return _read_open_gpu(nvml, index, handle)
    except NvmlFailure as failure:
        return _broken(index, failure)


def _broken(index: int, failure: NvmlFailure) -> MigGpu:
    return MigGpu(index, None, "", "", "", "unreadable", None, error=str(failure), error_kind=failure.kind)


def _read_open_gpu(nvml: Nvml, index: int, handle: Any) -> MigGpu:
    pci = nvml.call("nvmlDeviceGetPciInfo", handle)
    mode = nvml.ask("nvmlDeviceGetMigMode", handle)
    enabled, pending = (bool(m) for m in mode or (0, 0))
    pci_id = f"{pci.pciDeviceId:08X}"
    numbered = _profiles(nvml, handle) if mode is not None else {}
    profiles, source = tuple(numbered.values()), "nvml" if numbered else None
    model = find_model(pci_id[:4])
    if mode is not None and not profiles and not enabled and model:
        # Drivers around 535 list no profiles while MIG is off (NVIDIA/mig-parted).
        profiles, source = model.profiles, "catalog"
    return MigGpu(
        index=index,
        uuid=text_of(nvml.call("nvmlDeviceGetUUID", handle)),
        pci_address=sysfs_address(pci.busId),
        pci_id=pci_id,
        subsystem_id=f"{pci.pciSubSystemId:08X}",
        name=text_of(nvml.call("nvmlDeviceGetName", handle)) or "",
        capable=mode is not None,
        enabled=enabled,
        pending=pending,
        architecture=ARCHITECTURES.get(nvml.ask("nvmlDeviceGetArchitecture", handle), ""),
        profiles=profiles,
        instances=_instances(nvml, handle, profiles) if enabled else (),
        clients=_processes(nvml, handle, outside_mig=enabled),
        source=source,
    )


def _profiles(nvml: Nvml, gpu: Any) -> dict[int, MigProfile]:
    """NVML's profile number -> profile, for all that the driver offers and that have a place to go."""
    found = {}
    for number in range(MOST_PROFILES):
        try:
            info, name = _profile_info(nvml, gpu, number)
        except NvmlFailure as failure:
            if failure.code == INVALID_ARGUMENT:
                break
            if failure.code in ABSENT:
                continue
            raise
        places = _placements(nvml, gpu, info.id)
        if places:
            found[number] = MigProfile(
                name=name,
                id=info.id,
                slices=info.sliceCount,
                count=info.instanceCount,
                starts=tuple(sorted(start for start, _size in places)),
                size=places[0][1],
                engines=(info.decoderCount, info.encoderCount, info.jpegCount, info.ofaCount),
                memory_mib=info.memorySizeMB,
            )
    return found


def _profile_info(nvml: Nvml, gpu: Any, number: int) -> tuple[Any, str]:
    """Version 2 brings the name (``MIG 1g.5gb``); drivers before it need the name worked out."""
    try:
        info = nvml.call("nvmlDeviceGetGpuInstanceProfileInfo", gpu, number, 2)
        return info, (text_of(info.name) or "").removeprefix("MIG ")
    except NvmlFailure as failure:
        if failure.code not in ABSENT:
            raise
    info = nvml.call("nvmlDeviceGetGpuInstanceProfileInfo", gpu, number, 1)
    total = nvml.call("nvmlDeviceGetMemoryInfo", gpu).total
    return info, profile_name(info.sliceCount, info.memorySizeMB, total >> 20, number)


def profile_name(slices: int, memory_mib: int, total_mib: int, number: int) -> str:
    """mig-parted's formula: eighths of the memory, rounded up, of the GPU's GiB, rounded up."""
    eighths = -(-8 * memory_mib // total_mib)
    gigabytes = int(eighths / 8 * -(-total_mib // 1024) + 0.5)
    return f"{slices}g.{gigabytes}gb{ATTRIBUTES.get(number, '')}"


def _placements(nvml: Nvml, gpu: Any, profile: int) -> list[tuple[int, int]]:
    """(start, size) of every legal place."""
    count = c_uint()
    ask = "nvmlDeviceGetGpuInstancePossiblePlacements"
    if nvml.ask(ask, gpu, profile, None, byref(count), absent=(*ABSENT, INVALID_ARGUMENT)) is None or not count.value:
        return []
    places = (nvml.api.c_nvmlGpuInstancePlacement_t * count.value)()
    nvml.call(ask, gpu, profile, places, byref(count))
    return [(p.start, p.size) for p in places[: count.value]]


def _instances(nvml: Nvml, gpu: Any, profiles: Iterable[MigProfile]) -> tuple[GpuInstance, ...]:
    return tuple(
        sorted(
            (_instance(nvml, handle, p) for p in profiles for handle in gpu_instance_handles(nvml, gpu, p)),
            key=lambda i: (i.start, i.profile),
        )
    )


def gpu_instance_handles(nvml: Nvml, gpu: Any, profile: MigProfile) -> list[Any]:
    """Handles of all GPU instances of a profile."""
    count = c_uint()
    handles = (nvml.api.c_nvmlGpuInstance_t * max(profile.count, 1))()
    nvml.ask("nvmlDeviceGetGpuInstances", gpu, profile.id, handles, byref(count))
    return list(handles[: count.value])


def compute_instance_handles(nvml: Nvml, instance: Any) -> list[tuple[Any, int]]:
    """(handle, width in slices) of all compute instances in a GPU instance."""
    found = []
    for info in compute_profiles(nvml, instance):
        count = c_uint()
        handles = (nvml.api.c_nvmlComputeInstance_t * max(info.instanceCount, 1))()
        nvml.ask("nvmlGpuInstanceGetComputeInstances", instance, info.id, handles, byref(count))
        found += [(h, info.sliceCount) for h in handles[: count.value]]
    return found


def compute_profiles(nvml: Nvml, instance: Any) -> list[Any]:
    """NVML's description of every compute instance profile that a GPU instance offers."""
    found = []
    for number in range(MOST_COMPUTE_PROFILES):
        try:
            ask = "nvmlGpuInstanceGetComputeInstanceProfileInfo"
            found.append(nvml.call(ask, instance, number, SHARED_ENGINES, 1))
        except NvmlFailure as failure:
            if failure.code == INVALID_ARGUMENT:
                break
            if failure.code not in ABSENT:
                raise
    return found


def _instance(nvml: Nvml, handle: Any, profile: MigProfile) -> GpuInstance:
    info = nvml.call("nvmlGpuInstanceGetInfo", handle)
    compute = tuple(_compute(nvml, h, width) for h, width in compute_instance_handles(nvml, handle))
    return GpuInstance(info.id, profile.name, profile.slices, info.placement.start, compute)


def _compute(nvml: Nvml, handle: Any, width: int) -> ComputeInstance:
    info = nvml.call("nvmlComputeInstanceGetInfo", handle)
    uuid = text_of(nvml.ask("nvmlDeviceGetUUID", info.device, absent=(*ABSENT, NOT_FOUND)))
    return ComputeInstance(info.id, width, uuid, _processes(nvml, info.device), info.placement.start)


def _processes(nvml: Nvml, device: Any, *, outside_mig: bool = False) -> tuple[int, ...]:
    """Process ids on a GPU or MIG device; with ``outside_mig`` only those in no GPU instance."""
    found = set()
    for ask in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"):
        for process in nvml.ask(ask, device, absent=(*ABSENT, INVALID_ARGUMENT)) or ():
            if not outside_mig or process.gpuInstanceId == NO_INSTANCE:
                found.add(process.pid)
    return tuple(sorted(found))
