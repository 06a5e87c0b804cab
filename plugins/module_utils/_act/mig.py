# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries out single MIG operations through NVML. Private to this collection."""

from __future__ import annotations

import time
from collections.abc import Callable
from ctypes import byref
from typing import Any, TypeVar

from .._observe.command import Run
from .._observe.mig import compute_profiles
from .._observe.nvml import IN_USE, NOT_SUPPORTED, Nvml, NvmlFailure, open_nvml
from .._plan import mig as plan
from .._plan.mig import Operation
from .._plan.mig_compute import place_compute
from .._plan.mig_layout import MigGpu
from .reset import ResetRefused, reset_gpu

Part = TypeVar("Part")

# Monitoring agents hold short-lived handles, so a destroy refused as IN_USE is tried again (NVIDIA/DCGM issue 95).
TRIES = 5
FIRST_PAUSE_SECONDS = 0.2


class MigFailure(Exception):
    """An operation failed. ``kind`` is mig_config's error kind; ``reboot`` says that only a reboot helps."""

    def __init__(self, kind: str, message: str, *, reboot: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.reboot = reboot


def change_mode(operation: Operation, run: Run, *, skip_reset: bool) -> None:
    """Sets the mode of one GPU and makes it true, with a reset of this GPU where the driver leaves it pending.

    With ``skip_reset`` a pending mode is left at that. Raises MigFailure.
    """
    gpu = operation.gpu
    if operation.step.action == plan.SET_MODE:
        with open_nvml() as nvml:
            status = _set_mode(nvml, gpu, operation.enabled)
            current, pending = nvml.call("nvmlDeviceGetMigMode", _handle(nvml, gpu))
        if current == pending or skip_reset:
            return
    else:
        status = 0
    try:
        reset_gpu(run, gpu.pci_address)
    except ResetRefused as refusal:
        raise _refused(gpu, status, refusal) from refusal
    _expect_mode(gpu, operation.enabled)


def _set_mode(nvml: Nvml, gpu: MigGpu, enabled: bool) -> int:
    """NVML's activation status: 0, or why the change is pending."""
    try:
        return int(nvml.call("nvmlDeviceSetMigMode", _handle(nvml, gpu), int(enabled)))
    except NvmlFailure as failure:
        kind = "mode_change_blocked" if failure.code == IN_USE else failure.kind
        raise MigFailure(kind, f"{gpu.label}: {failure}") from failure


# What nvidia-smi says in place of a reset -> mig_config's error kind
RESET_KINDS = {"gpu_lost": "gpu_lost", "gpu_unreachable": "gpu_lost", "no_permission": "permission"}


def _refused(gpu: MigGpu, status: int, refusal: ResetRefused) -> MigFailure:
    """Somebody has the GPU open, it is gone, or it cannot be reset at all, as in a virtual machine."""
    if refusal.kind in RESET_KINDS:
        return MigFailure(RESET_KINDS[refusal.kind], f"{gpu.label}: the MIG mode is set and waits; {refusal}")
    busy = status == IN_USE or refusal.kind == "in_use"
    kind = "mode_change_blocked" if busy else "reset_required"
    what = "something has the GPU open" if busy else "the host has to be rebooted"
    return MigFailure(kind, f"{gpu.label}: the MIG mode is set and waits, {what}; {refusal}", reboot=not busy)


def _expect_mode(gpu: MigGpu, enabled: bool) -> None:
    with open_nvml() as nvml:
        current, _pending = nvml.call("nvmlDeviceGetMigMode", _handle(nvml, gpu))
    if bool(current) != enabled:
        text = f"{gpu.label}: the GPU was reset, but its MIG mode is still {current}, wanted {int(enabled)}"
        raise MigFailure("reset_required", text, reboot=True)


def change_layout(nvml: Nvml, operation: Operation) -> None:
    """Destroys or creates one instance. Raises MigFailure; a GPU instance that gets no compute instance is removed."""
    try:
        LAYOUT_ACTIONS[operation.step.action](nvml, operation)
    except NvmlFailure as failure:
        raise MigFailure(failure.kind, f"{operation.gpu.label}: {operation.step.target}: {failure}") from failure


def _of(part: Part | None) -> Part:
    """The part of an operation that its action always has."""
    if part is None:
        raise ValueError("an operation lacks what its action works on")
    return part


def _destroy_gpu_instance(nvml: Nvml, operation: Operation) -> None:
    instance = _of(operation.instance)
    handle = nvml.call("nvmlDeviceGetGpuInstanceById", _handle(nvml, operation.gpu), instance.id)
    gone: list[tuple[int, int | None]] = []
    try:
        for compute in instance.compute:
            _destroy_compute(nvml, handle, compute.id)
            gone.append((compute.width, compute.start))
        _patiently(lambda: nvml.call("nvmlGpuInstanceDestroy", handle))
    except NvmlFailure as failure:
        _put_back(nvml, handle, gone, instance.slices, failure)
        raise


def _put_back(
    nvml: Nvml, gpu_instance: Any, widths: list[tuple[int, int | None]], slices: int, why: NvmlFailure
) -> None:
    """A GPU instance that has to stay gets its compute instances again, so that it can be used as before."""
    try:
        for width, start in widths:
            _create_compute(nvml, gpu_instance, width, slices, start)
    except NvmlFailure as refusal:
        raise NvmlFailure(why.code, f"{why}; its compute instances are gone, because {refusal}") from refusal


def _destroy_compute_instance(nvml: Nvml, operation: Operation) -> None:
    instance, compute = _of(operation.instance), _of(operation.compute)
    handle = nvml.call("nvmlDeviceGetGpuInstanceById", _handle(nvml, operation.gpu), instance.id)
    _destroy_compute(nvml, handle, compute.id)


def _destroy_compute(nvml: Nvml, gpu_instance: Any, number: int) -> None:
    handle = nvml.call("nvmlGpuInstanceGetComputeInstanceById", gpu_instance, number)
    _patiently(lambda: nvml.call("nvmlComputeInstanceDestroy", handle))


def _create_gpu_instance(nvml: Nvml, operation: Operation) -> None:
    new = _of(operation.new)
    place = nvml.api.c_nvmlGpuInstancePlacement_t(new.start, new.profile.size)
    gpu = _handle(nvml, operation.gpu)
    handle = nvml.call("nvmlDeviceCreateGpuInstanceWithPlacement", gpu, new.profile.id, byref(place))
    made: list[Any] = []
    try:
        starts = place_compute(new.profile.slices, (), new.widths) or [None] * len(new.widths)
        for width, start in zip(new.widths, starts):
            made.append(_create_compute(nvml, handle, width, new.profile.slices, start))
    except NvmlFailure as failure:
        _undo(nvml, handle, made, failure)
        raise


def _undo(nvml: Nvml, gpu_instance: Any, made: list[Any], why: NvmlFailure) -> None:
    """Removes a GPU instance that is not what it should be; a refusal is told together with ``why``."""
    try:
        for compute in made:
            nvml.call("nvmlComputeInstanceDestroy", compute)
        nvml.call("nvmlGpuInstanceDestroy", gpu_instance)
    except NvmlFailure as refusal:
        raise NvmlFailure(why.code, f"{why}; the GPU instance made for it stays, because {refusal}") from refusal


def _create_compute_instance(nvml: Nvml, operation: Operation) -> None:
    instance = _of(operation.instance)
    handle = nvml.call("nvmlDeviceGetGpuInstanceById", _handle(nvml, operation.gpu), instance.id)
    _create_compute(nvml, handle, operation.width, instance.slices, operation.start)


def _create_compute(nvml: Nvml, gpu_instance: Any, width: int, slices: int, start: int | None) -> Any:
    """A compute instance of ``width`` slices, at ``start`` where the driver can be told.

    For the whole instance the profile with the most SMs that is offered (Hopper has two of one slice); for a part
    the one that can be made most often. What the driver then refuses is tried with the next.
    """
    offered = [p for p in compute_profiles(nvml, gpu_instance) if p.sliceCount == width]
    offered.sort(key=lambda p: -(p.multiprocessorCount if width == slices else p.instanceCount))
    refusals = []
    for profile in offered:
        try:
            return _create_at(nvml, gpu_instance, profile, start)
        except NvmlFailure as failure:
            refusals.append(failure)
    if refusals:
        raise refusals[0]
    raise NvmlFailure(NOT_SUPPORTED, f"NVML offers no compute instance of {width} slices in this GPU instance")


def _create_at(nvml: Nvml, gpu_instance: Any, profile: Any, start: int | None) -> Any:
    """Only a part of a GPU instance has a choice of starts; drivers before 525 choose it themselves."""
    if start is not None and profile.instanceCount > 1:
        place = nvml.api.c_nvmlComputeInstancePlacement_t(start, profile.sliceCount)
        ask = "nvmlGpuInstanceCreateComputeInstanceWithPlacement"
        made = nvml.ask(ask, gpu_instance, profile.id, byref(place))
        if made is not None:
            return made
    return nvml.call("nvmlGpuInstanceCreateComputeInstance", gpu_instance, profile.id)


def _handle(nvml: Nvml, gpu: MigGpu) -> Any:
    return nvml.call("nvmlDeviceGetHandleByUUID", gpu.uuid)


def _patiently(destroy: Callable[[], Any]) -> None:
    """Tries again on IN_USE, each time after twice the pause, about 3 s in all."""
    for attempt in range(TRIES - 1):
        try:
            destroy()
            return
        except NvmlFailure as failure:
            if failure.code != IN_USE:
                raise
        time.sleep(FIRST_PAUSE_SECONDS * 2**attempt)
    destroy()


LAYOUT_ACTIONS: dict[str, Callable[[Nvml, Operation], None]] = {
    plan.DESTROY_GPU_INSTANCE: _destroy_gpu_instance,
    plan.DESTROY_COMPUTE_INSTANCE: _destroy_compute_instance,
    plan.CREATE_GPU_INSTANCE: _create_gpu_instance,
    plan.CREATE_COMPUTE_INSTANCE: _create_compute_instance,
}
