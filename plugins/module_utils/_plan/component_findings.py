# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about fabric manager, IMEX, GPUDirect and licences. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence

from .._catalog.components import COMPONENT_PACKAGES, GDRCOPY_REDIST
from .._catalog.driver_components import GUIDE
from .facts import PciFunction
from .flavour import name_of
from .model import Finding

OPTION = "driver_components"
# Packages of components that do not have the driver's version -> their component.
OWN_VERSION = {n: row.component for row in COMPONENT_PACKAGES for n in row.names if not row.same_version}


def _refusal(wanted: bool) -> str:
    """What was asked for in so many words is refused; what auto would have brought is left out with a warning."""
    return "error" if wanted else "warning"


def find_unmanaged_fabric(switches: Sequence[PciFunction], bridges: Sequence[str]) -> Finding:
    """NVSwitches, and nobody who configures them."""
    seen = [f"{s.id} at {s.address}" for s in switches] + list(bridges)
    return Finding(
        id="GPU-FAB-031",
        severity="warning",
        summary="this host has NVLink switches and no fabric manager: CUDA ends with error 802",
        wanted="the fabric manager, with the driver's version",
        found=f"{OPTION}.fabric_manager false; {', '.join(seen)} (/sys/bus/pci/devices, /sys/class/infiniband)",
        remedy=f"set {OPTION}.fabric_manager to auto, or parameter NVreg_NvLinkDisable of module nvidia to 1",
        source="github.com/pytorch/pytorch#35710",
    )


def find_no_switch() -> Finding:
    """The fabric manager would end with NV_WARN_NOTHING_TO_DO."""
    return Finding(
        id="GPU-FAB-033",
        severity="error",
        summary="the fabric manager is wanted on a host without NVLink switches, where it does not start",
        wanted="an NVSwitch (PCI class 0680 of vendor 10de), or an InfiniBand device that manages NVLink 5 switches",
        found="neither in /sys/bus/pci/devices nor in /sys/class/infiniband",
        remedy=f"set {OPTION}.fabric_manager to auto",
        source="github.com/NVIDIA/gpu-operator#610",
    )


def find_idle_fabric_manager() -> Finding:
    """Installed by somebody else where it cannot work; it fails at every boot."""
    return Finding(
        id="GPU-FAB-033",
        severity="warning",
        summary="nvidia-fabricmanager is enabled on a host without NVLink switches, where it does not start",
        wanted="no fabric manager",
        found="nvidia-fabricmanager.service enabled; no NVSwitch in /sys/bus/pci/devices",
        remedy="systemctl disable --now nvidia-fabricmanager",
        source="github.com/NVIDIA/gpu-operator#356",
    )


def find_no_bridges(gpu: PciFunction, *, wanted: bool) -> Finding:
    """NVLink 5 switches are reached through InfiniBand devices, and there is none."""
    return Finding(
        id="GPU-FAB-035",
        severity=_refusal(wanted),
        summary=f"{name_of(gpu)} has NVLink 5 switches, and none of them can be seen",
        wanted="InfiniBand devices with SW_MNG in /sys/class/infiniband/*/device/vpd",
        found="none; in a virtual machine, or without mlx5_core, they are not there",
        remedy=f"load them: modprobe mlx5_core; or set {OPTION}.fabric_manager to false where another host has them",
        source="github.com/NVIDIA/gpu-operator#2781",
    )


def find_fabric_manager_in_rack(gpu: PciFunction, *, wanted: bool) -> Finding:
    """Switch trays run their own fabric manager."""
    return Finding(
        id="GPU-FAB-036",
        severity=_refusal(wanted),
        summary=f"a fabric manager on a host with {name_of(gpu)}: its switches are managed by their own trays",
        wanted="no fabric manager on this host, IMEX instead",
        found=f"{OPTION}.fabric_manager true" if wanted else "nvidia-fabricmanager.service is enabled or runs",
        remedy=f"set {OPTION}.fabric_manager to auto" if wanted else "systemctl disable --now nvidia-fabricmanager",
        source="github.com/Azure/AgentBaker#8839",
    )


def find_no_domain() -> Finding:
    """IMEX shares memory between hosts of one NVLink domain."""
    return Finding(
        id="GPU-FAB-101",
        severity="error",
        summary="IMEX is wanted on a host whose NVLinks do not lead to other hosts",
        wanted="GPUs of a rack (GB200, GB300 NVL, GH200 NVL32)",
        found="none in /sys/bus/pci/devices",
        remedy=f"set {OPTION}.imex to auto",
        source="docs.nvidia.com/multi-node-nvlink-systems/imex-guide",
    )


def find_no_nodes(*, wanted: bool) -> Finding:
    """IMEX does nothing without the addresses of its domain."""
    return Finding(
        id="GPU-FAB-102",
        severity=_refusal(wanted),
        summary="IMEX is not started: nobody said which hosts are in its NVLink domain",
        wanted="driver_imex_nodes: one address for each host of the domain",
        found="driver_imex_nodes is empty",
        remedy=f"set driver_imex_nodes, or {OPTION}.imex to false where NVIDIA's DRA driver runs IMEX in the cluster",
        source="github.com/NVIDIA/aicr#2520",
    )


def find_gds_proprietary(*, wanted: bool) -> Finding:
    """nvidia-fs 2.17.5 and later need the open modules."""
    return Finding(
        id="GPU-KRN-104",
        severity=_refusal(wanted),
        summary="GPUDirect Storage does not work with the proprietary kernel modules",
        wanted="the open kernel modules (nvidia-fs 2.17.5 and later)",
        found=f"the proprietary ones; {OPTION}.gds {'true' if wanted else 'auto, and nvidia-fs is installed'}",
        remedy=f"set driver_flavour to open, or {OPTION}.gds to false",
        source="github.com/NVIDIA/gds-nvidia-fs 2.28.4",
    )


def find_gds_coherent(gpu: PciFunction, *, wanted: bool) -> Finding:
    """GPUDirect Storage needs the GPU's memory as NUMA nodes on Grace hosts."""
    return Finding(
        id="GPU-KRN-105",
        severity=_refusal(wanted),
        summary=f"GPUDirect Storage does not work on {name_of(gpu)} while the driver manages its coherent memory",
        wanted="NVreg_CoherentGPUMemoryMode other than driver",
        found="NVreg_CoherentGPUMemoryMode=driver (the default of this collection, as of NVIDIA's driver container)",
        remedy=f"set driver_module_parameters.nvidia.NVreg_CoherentGPUMemoryMode to numa, or {OPTION}.gds to false",
        source="github.com/NVIDIA/cloud-native-docs 52dcb7b, gpu-operator release notes 25.x",
    )


def find_no_adapter() -> Finding:
    """Peer memory is for RDMA adapters."""
    return Finding(
        id="GPU-KRN-106",
        severity="error",
        summary="nvidia_peermem is wanted on a host without an RDMA adapter of NVIDIA",
        wanted="a PCI function of vendor 15b3",
        found="none in /sys/bus/pci/devices",
        remedy=f"set {OPTION}.peermem to auto",
        source="github.com/NVIDIA/open-gpu-kernel-modules nvidia-peermem.c",
    )


def find_inbox_rdma() -> Finding:
    """The kernel's own RDMA stack has no peer memory clients: modprobe says Invalid argument."""
    return Finding(
        id="GPU-KRN-028",
        severity="error",
        summary="nvidia_peermem does not load with the RDMA stack of the kernel",
        wanted="ib_core of MLNX_OFED or DOCA-OFED, installed before the driver",
        found="mlx_compat is not in /proc/modules",
        remedy=f"install DOCA-OFED, reboot and run again; or set {OPTION}.peermem to auto: the open kernel modules "
        "share memory through DMA-BUF without it",
        source="github.com/Mellanox/nv_peer_memory#116",
    )


def find_no_gridd() -> Finding:
    """The licence client comes with the vGPU guest driver only."""
    return Finding(
        id="GPU-FAB-103",
        severity="error",
        summary="vGPU guest licensing is wanted, and this host has no nvidia-gridd",
        wanted="nvidia-gridd.service of the vGPU guest driver",
        found="systemd has no such unit",
        remedy="install NVIDIA's vGPU guest driver (licensing portal, or the cloud's image) and set driver_source to "
        f"preinstalled; or set {OPTION}.gridd to auto",
        source="docs.nvidia.com, Virtual GPU Client Licensing User Guide",
    )


def find_restart_in_use(unit: str, paths: Sequence[str], held: str) -> Finding:
    """A service that runs with older files, and jobs that would end with its restart."""
    return Finding(
        id="GPU-FAB-104",
        severity="warning",
        summary=f"{unit} runs with older settings: its restart would end jobs on the GPUs",
        wanted=f"started after {', '.join(paths)}",
        found=f"held by {held}",
        remedy=f"when the jobs have ended: run again, or systemctl restart {unit}",
        source=GUIDE,
    )


def find_no_component_packages(name: str, source: str) -> Finding:
    """Nobody has packages of a component for this distribution beside such a driver."""
    return Finding(
        id="GPU-PKG-130",
        severity="error",
        summary=f"there are no packages of component {name} beside a driver of source {source}",
        wanted=f"packages of {name} for this distribution and branch",
        found="none in plugins/module_utils/_catalog/components.py",
        remedy=f"set driver_source to cuda_repo, or {OPTION}.{name} to false",
        source="Debian archive index; github.com/NVIDIA/gpu-driver-container",
    )


def find_not_installed(name: str, *, wanted: bool) -> Finding:
    """A component that the host needs and whoever installed the driver did not."""
    return Finding(
        id="GPU-PKG-131",
        severity=_refusal(wanted),
        summary=f"component {name} is not installed, and a driver of source preinstalled is left as it is",
        wanted=f"the unit of {name}, with the driver's version",
        found=f"driver_source preinstalled, {OPTION}.{name} {'true' if wanted else 'auto'}; systemd has no such unit",
        remedy=f"install it the way the driver was, or set {OPTION}.{name} to false",
        source="github.com/NVIDIA/gpu-operator#544",
    )


def find_other_version(package: str, found: str, driver: str) -> Finding:
    """A fabric manager or IMEX of another version than the driver does not start."""
    return Finding(
        id="GPU-FAB-032",
        severity="warning",
        summary=f"{package} has another version than the driver",
        wanted=f"{driver}, the version of the driver",
        found=f"{found}, and the component is not one that this run keeps",
        remedy=f"remove {package}, or set its component in {OPTION} to true so that both have one version",
        source="github.com/NVIDIA/gpu-operator#544",
    )


def find_not_offered(package: str, place: str) -> Finding:
    """A component whose packages no repository of the host has."""
    name = OWN_VERSION[package]
    return Finding(
        id="GPU-PKG-132",
        severity="error",
        summary=f"no repository of this host has {package}, which component {name} needs",
        wanted=f"{package} from {place}, or from another repository of this host",
        found=f"{OPTION}.{name}; the package manager knows no {package}",
        remedy=f"put {package} into a repository of yours (NVIDIA has GDRCopy as single files below {GDRCOPY_REDIST}), "
        f"or set {OPTION}.{name} to false",
        source="github.com/NVIDIA/gdrcopy 2.6",
    )
