# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be wrong with a host that is to get a CDI spec. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable

from .model import Finding

TOOLKIT_TROUBLE = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html"

# Told apart because a plan may bring the program.
HOOK_MISSING = "GPU-CDI-111"


# Words of NVML's texts for its return codes (nvml.h, nvmlReturn_t; nvidia-ml-py's error strings) -> remedy.
NVML_REMEDIES = {
    "mismatch": "reboot, or reload the modules with gpu.fleet.driver_modules: they are of another version",
    "driver not loaded": "load the driver with gpu.fleet.driver_modules (or: modprobe nvidia), then run this again",
    "library not found": "install the driver's libraries (role gpu.fleet.driver), or set library_search_paths",
    "permission": "run the task with become: true",
    "lost": "read the kernel log (journalctl -k --grep Xid), then reboot the host",
    "requires restart": "reset the GPU (nvidia-smi --gpu-reset) or reboot the host",
}
NVML_REMEDY = "read the kernel log: journalctl -k --grep NVRM"


def nvml_unavailable(error: str) -> Finding:
    """NVML is the only source of a GPU's UUID and MIG devices."""
    return Finding(
        id="GPU-CDI-102",
        severity="error",
        summary="the GPUs cannot be listed, so no CDI spec can be made",
        wanted="NVML answers (libnvidia-ml.so.1 of the loaded driver)",
        found=f"NVML: {error}",
        remedy=next((r for words, r in NVML_REMEDIES.items() if words in error.lower()), NVML_REMEDY),
        source="https://github.com/NVIDIA/nvidia-container-toolkit/issues/1611",
    )


def no_driver_files(root: str) -> Finding:
    """No version, no libraries."""
    return Finding(
        id="GPU-CDI-103",
        severity="error",
        summary="the driver's version is unknown",
        wanted=f"libcuda.so.<version> or libnvidia-ml.so.<version> below {root}",
        found="neither in the library directories nor in ld.so.cache",
        remedy="install the driver (role gpu.fleet.driver), or set driver_root or library_search_paths",
        source="https://github.com/NVIDIA/nvidia-container-toolkit/issues/735",
    )


def no_libraries(version: str, root: str) -> Finding:
    """The kernel module is of a version whose libraries are elsewhere, or gone."""
    return Finding(
        id="GPU-CDI-104",
        severity="error",
        summary=f"no library of driver {version} was found",
        wanted=f"lib*.so.{version} below {root}, as NVML reports driver {version}",
        found="none in the library directories, none in ld.so.cache",
        remedy="install the libraries of this version, run ldconfig, or set library_search_paths",
        source="https://github.com/NVIDIA/nvidia-container-toolkit/issues/735",
    )


def no_mig_minors(device: str) -> Finding:
    """Without this file the capability nodes of MIG devices have no numbers."""
    return Finding(
        id="GPU-CDI-105",
        severity="error",
        summary=f"the capability nodes of MIG device {device} are unknown",
        wanted="/proc/driver/nvidia-caps/mig-minors",
        found="no such file",
        remedy="reload the driver with gpu.fleet.driver_modules",
        source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#device-nodes-and-capabilities",
    )


def no_mig_minor(device: str, capability: str) -> Finding:
    """The file is there, the line is not."""
    return Finding(
        id="GPU-CDI-105",
        severity="error",
        summary=f"the capability nodes of MIG device {device} are unknown",
        wanted=f"a line {capability} in /proc/driver/nvidia-caps/mig-minors",
        found="no such line",
        remedy="reload the driver with gpu.fleet.driver_modules",
        source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#device-nodes-and-capabilities",
    )


def capability_node_missing(device: str, path: str, capability: str) -> Finding:
    """A MIG device without its nodes is listed by everyone and usable by nobody."""
    gpu, _slash, rest = capability.partition("/")
    return Finding(
        id="GPU-CDI-106",
        severity="error",
        summary=f"MIG device {device} lacks a capability node, so containers could not use it",
        wanted=f"{path} ({capability} in /proc/driver/nvidia-caps/mig-minors)",
        found=f"no character device {path}",
        remedy=f"nvidia-modprobe -f /proc/driver/nvidia/capabilities/{gpu}/mig/{rest}",
        source="https://github.com/NVIDIA/mig-parted/issues/82",
    )


def node_missing(path: str) -> Finding:
    """NVML lists a GPU whose node is gone."""
    return Finding(
        id="GPU-CDI-107",
        severity="warning",
        summary=f"a GPU that NVML lists has no device node {path}, so it is left out of its CDI device",
        wanted=f"character device {path}",
        found="no such node",
        remedy=f"nvidia-modprobe -c {path[len('/dev/nvidia') :]}, or gpu.fleet.driver_modules",
        source=TOOLKIT_TROUBLE,
    )


def node_outdated(path: str, major: int, kernel: int) -> Finding:
    """A node of before the module was loaded again: it opens nothing, in containers neither."""
    return Finding(
        id="GPU-CDI-117",
        severity="warning",
        summary=f"{path} has a major number that the kernel has given up, so containers cannot open it",
        wanted=f"{path} of major {kernel} (/proc/devices)",
        found=f"{path} of major {major}",
        remedy=f"rm {path}, then gpu.fleet.driver_modules (or: nvidia-modprobe -u -c 0), then run this again",
        source="https://github.com/NVIDIA/NemoClaw/issues/4733",
    )


def gpu_lost(sentence: str) -> Finding:
    """NVML counts a GPU that it cannot open; the spec is made for the others."""
    return Finding(
        id="GPU-CDI-114",
        severity="warning",
        summary="a GPU does not answer, so the spec is without it",
        wanted="every GPU that NVML counts can be opened",
        found=sentence,
        remedy="look for its Xid errors (journalctl -k --grep Xid), then reset the GPU or reboot",
        source="https://docs.nvidia.com/deploy/xid-errors/",
    )


def unknown_device(wanted: str, there: Iterable[str]) -> Finding:
    """An option names what the host lacks."""
    return Finding(
        id="GPU-CDI-108",
        severity="error",
        summary=f"device_ids names {wanted!r}, which this host lacks",
        wanted=f"device_ids: {wanted}",
        found=f"NVML lists {', '.join(there) or 'no GPU'}",
        remedy="set device_ids to all, to a GPU index, to <GPU index>:<MIG index> or to a UUID of this host",
        source=TOOLKIT_TROUBLE,
    )


def unknown_channel(wanted: str, there: Iterable[str]) -> Finding:
    """The same for IMEX channels."""
    return Finding(
        id="GPU-CDI-108",
        severity="error",
        summary=f"device_ids names IMEX channel {wanted!r}, which this host lacks",
        wanted=f"/dev/nvidia-caps-imex-channels/channel{wanted}",
        found=f"channels {', '.join(there) or 'none'}",
        remedy="set device_ids to all or to a channel that exists (NVreg_CreateImexChannel0=1 makes 0)",
        source=TOOLKIT_TROUBLE,
    )


def device_twice(name: str) -> Finding:
    """Readers refuse a spec with such a pair."""
    return Finding(
        id="GPU-CDI-109",
        severity="error",
        summary=f"the spec would have two devices named {name!r}",
        wanted="each device name once (CDI specification 1.1.0)",
        found="the same device chosen twice",
        remedy="name each device once in device_ids, each strategy once in device_name_strategies",
        source="https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md",
    )


def device_name(name: str) -> Finding:
    """A name that no engine would take."""
    return Finding(
        id="GPU-CDI-109",
        severity="error",
        summary=f"{name!r} is no valid CDI device name",
        wanted="a letter or digit first and last, between them also _ - . and colons (CDI specification 1.1.0)",
        found=name,
        remedy="choose other device_name_strategies",
        source="https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md",
    )


def invalid(wrong: str) -> Finding:
    """Engines would ignore the file, and say so in their logs only."""
    return Finding(
        id="GPU-CDI-116",
        severity="error",
        summary=f"the spec would be one that engines refuse: {wrong}",
        wanted="a document that fits the schema (CDI specification 1.1.0)",
        found=wrong,
        remedy="set the option that this part comes from (hook_path, driver_root, dev_root) to an absolute path",
        source="https://github.com/cncf-tags/container-device-interface/blob/main/schema/defs.json",
    )


def nothing_found(mode: str) -> Finding:
    """A device without edits is invalid, and a spec without devices too."""
    return Finding(
        id="GPU-CDI-110",
        severity="error",
        summary=f"mode {mode} found no device for which a spec could be made",
        wanted=NEEDS.get(mode, "device nodes of this mode"),
        found="none of them below dev_root",
        remedy="load the modules that make these nodes, create the MIG instances, or choose another mode",
        source=TOOLKIT_TROUBLE,
    )


NEEDS = {
    "nvml": "a GPU with its node /dev/nvidia<minor>, or MIG devices on a GPU in MIG mode",
    "management": "/dev/nvidia* nodes",
    "gds": "/dev/nvidia-fs* (kernel module nvidia-fs)",
    "gdrcopy": "/dev/gdrdrv (kernel module gdrdrv)",
    "mofed": "/dev/infiniband/uverbs* or rdma_cm",
    "nvswitch": "/dev/nvidia-nvswitch*",
    "imex": "/dev/nvidia-caps-imex-channels/channel*",
    "wsl": "/dev/dxg",
    "csv": "nodes that the CSV files name, and a name strategy other than uuid",
}


def hook_missing(path: str) -> Finding:
    """The spec would be right, but no container could start with it."""
    return Finding(
        id=HOOK_MISSING,
        severity="warning",
        summary="the spec's hooks need a program that is not on this host, so containers with GPUs will not start",
        wanted=f"executable {path}",
        found="no such program",
        remedy="install nvidia-container-toolkit-base (role gpu.fleet.toolkit), or set hooks: none",
        source=TOOLKIT_TROUBLE,
    )


def no_driver_store(places: Iterable[str]) -> Finding:
    """WSL without its GPU driver."""
    return Finding(
        id="GPU-CDI-112",
        severity="error",
        summary="no driver store of WSL 2 has an NVIDIA driver",
        wanted="libcuda.so.1.1 in a driver store",
        found=f"none in {', '.join(places) or '/usr/lib/wsl/drivers/*'}",
        remedy="install the NVIDIA driver on Windows, or set wsl_driver_store_paths",
        source="https://docs.nvidia.com/cuda/wsl-user-guide/",
    )
