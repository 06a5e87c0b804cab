# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the driver's side of a validation, and the barrier files. Private to this collection."""

from __future__ import annotations

from dataclasses import dataclass

from .._catalog.gpus import GPU_CLASSES, NVIDIA
from .._plan.validation import BARRIERS, DIRECTORY
from .files import HostRoot
from .nvml import Nvml, NvmlFailure, open_nvml, sysfs_address, text_of
from .pci import read_pci

PASSED_TO_VMS = ("vfio-pci", "nvgrace_gpu_vfio_pci")
CONTROL_NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm")


@dataclass(frozen=True)
class NvmlSide:
    """NVML's own version, the GPUs it can open (PCI address -> minor), and its text where it does not answer."""

    version: str = ""
    gpus: tuple[tuple[str, int], ...] = ()
    error: str = ""


def read_nvml_side() -> NvmlSide:
    """Raises HelperMissing where pynvml is nowhere."""
    try:
        with open_nvml() as nvml:
            version = text_of(nvml.call("nvmlSystemGetDriverVersion")) or ""
            handles = [g for g in nvml.gpus() if not isinstance(g, NvmlFailure)]
            return NvmlSide(version, tuple(_gpu(nvml, g) for g in handles))
    except NvmlFailure as failure:
        return NvmlSide(error=str(failure))


def _gpu(nvml: Nvml, handle: object) -> tuple[str, int]:
    address = sysfs_address(nvml.call("nvmlDeviceGetPciInfo", handle).busId)
    return address, int(nvml.call("nvmlDeviceGetMinorNumber", handle))


def read_pci_gpus(host: HostRoot) -> tuple[str, ...]:
    """PCI addresses of the GPUs that the NVIDIA driver has to drive: without those that a VM has."""
    found = [f for f in read_pci(host, vendor=NVIDIA) if f.pci_class in GPU_CLASSES]
    return tuple(f.address for f in found if f.driver not in PASSED_TO_VMS)


def read_missing_nodes(host: HostRoot, side: NvmlSide) -> tuple[str, ...]:
    """Device nodes that every container with a GPU needs, and that are not there."""
    return tuple(p for p in _nodes(side) if host.device(p) is None)


def read_missing_links(host: HostRoot, side: NvmlSide) -> tuple[str, ...]:
    """/dev/char links of these nodes that are absent or lead elsewhere."""
    missing = []
    for path in _nodes(side):
        node = host.device(path)
        if node is None:
            continue
        link = f"/dev/char/{node.major}:{node.minor}"
        there = host.device(link)
        if there is None or (there.major, there.minor) != (node.major, node.minor):
            missing.append(link)
    return tuple(missing)


def _nodes(side: NvmlSide) -> tuple[str, ...]:
    return (*CONTROL_NODES, *(f"/dev/nvidia{minor}" for _address, minor in side.gpus))


def read_barriers(host: HostRoot) -> dict[str, str]:
    """Name -> text of the barrier files that are there."""
    found = {name: host.text(f"{DIRECTORY}/{name}") for name in BARRIERS.values()}
    return {name: text for name, text in found.items() if text is not None}
