# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges whether a driver works, when nothing is left to do. Private to this collection.

A running service is no proof: the fabric is configured, the licence is there, NVML lists every GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .._catalog.components import FABRIC_MANAGER, GRIDD, IMEX
from .facts import DriverVersion
from .model import Finding

COMPLETED, READY, ACQUIRED = "completed", "READY", "acquired"
EXCLUDING = ("NVreg_ExcludedGpus", "NVreg_ExcludeAllGpus", "NVreg_GpuBlacklist")
VERSION_FILE = "/proc/driver/nvidia/version"


@dataclass(frozen=True)
class DriverProof:
    """What was observed after the last step.

    ``pci_gpus``, ``nvml_gpus``: PCI addresses, the first without those that a VM has. ``nvml_error``: NVML's text, ''
    where it answered. ``kernel_log``: address -> last message of the kernel about a GPU that NVML lacks. ``fabric``:
    address -> not_started, in_progress, completed; None for a GPU without. ``persistence``: address -> mode. ``imex``:
    the daemon's word; ``licence``: acquired, not acquired; None where nobody says; ``licence_cause``: why not.
    ``kernels``: release -> version of the module that it would load, None for none.
    """

    pci_gpus: tuple[str, ...] = ()
    nvml_gpus: tuple[str, ...] = ()
    nvml_version: str = ""
    nvml_error: str = ""
    kernel_log: Mapping[str, str] = field(default_factory=dict)
    fabric: Mapping[str, str | None] = field(default_factory=dict)
    persistence: Mapping[str, bool] = field(default_factory=dict)
    imex: str | None = None
    licence: str | None = None
    licence_cause: str | None = None
    kernels: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def lost(self) -> tuple[str, ...]:
        """GPUs that PCI has and NVML lacks."""
        return tuple(a for a in self.pci_gpus if a not in self.nvml_gpus)

    @property
    def unconfigured(self) -> tuple[str, ...]:
        """GPUs that wait for the fabric manager."""
        return tuple(a for a, state in self.fabric.items() if state not in (None, COMPLETED))


@dataclass(frozen=True)
class Wanted:
    """What has to be true. ``components``: those whose services run; ``parameters``: of module nvidia."""

    version: str
    flavour: str
    loaded: DriverVersion
    components: tuple[str, ...] = ()
    imex_nodes: bool = False
    persistenced: bool = True
    licence: bool = False
    parameters: tuple[str, ...] = ()

    @property
    def imex(self) -> bool:
        """Whether an IMEX daemon of ours runs."""
        return IMEX in self.components and self.imex_nodes


def is_pending(proof: DriverProof, wanted: Wanted) -> bool:
    """Whether services may still come to do their work: then it is worth to look again."""
    if proof.nvml_error:
        return False
    waits = [
        FABRIC_MANAGER in wanted.components and bool(proof.unconfigured),
        wanted.imex and proof.imex != READY,
        GRIDD in wanted.components and proof.licence != ACQUIRED,
        wanted.persistenced and not all(proof.persistence.values()),
    ]
    return any(waits)


def judge_proof(proof: DriverProof, wanted: Wanted) -> tuple[Finding, ...]:
    """What stands against the driver; nothing where it works."""
    if proof.nvml_error:
        return (_no_nvml(proof, wanted),)
    found = [*_versions(proof, wanted), *_lost(proof, wanted)]
    found += _fabric(proof, wanted) if FABRIC_MANAGER in wanted.components else []
    found += _persistence(proof) if wanted.persistenced else []
    found += _imex(proof) if wanted.imex else []
    found += _licence(proof, wanted) if GRIDD in wanted.components else []
    return (*found, *_next_boot(proof, wanted))


def _no_nvml(proof: DriverProof, wanted: Wanted) -> Finding:
    return Finding(
        id="GPU-HW-101",
        severity="error",
        summary=f"the driver {wanted.loaded.version} is loaded, and NVML does not answer: {proof.nvml_error}",
        wanted=f"NVML of driver {wanted.loaded.version} ({VERSION_FILE})",
        found=proof.nvml_error,
        remedy="nvidia-smi; journalctl -k --grep NVRM",
        source="github.com/pando85/homelab#4110",
    )


def _versions(proof: DriverProof, wanted: Wanted) -> list[Finding]:
    """Library, module and what was asked for are three places that have to agree."""
    loaded, found = wanted.loaded, []
    if proof.nvml_version != loaded.version or (wanted.version and loaded.version != wanted.version):
        found.append(
            Finding(
                id="GPU-KRN-026",
                severity="error",
                summary="library, loaded module and wanted driver have different versions",
                wanted=f"{wanted.version or loaded.version} everywhere",
                found=f"module {loaded.version} ({VERSION_FILE}), library {proof.nvml_version} (NVML)",
                remedy="run role gpu.fleet.driver again, or reboot the host (driver_reboot: if_required)",
                source="github.com/NVIDIA/nvidia-container-toolkit#394",
            )
        )
    if wanted.flavour and loaded.flavour != wanted.flavour:
        found.append(
            Finding(
                id="GPU-KRN-025",
                severity="error",
                summary=f"the {loaded.flavour} kernel modules are loaded, and the {wanted.flavour} ones are wanted",
                wanted=f"the {wanted.flavour} kernel modules",
                found=f"the {loaded.flavour} ones ({VERSION_FILE})",
                remedy="see which file modprobe takes: modinfo -n nvidia; find /lib/modules -name 'nvidia*.ko*'",
                source="github.com/Start9Labs/start-os#3693",
            )
        )
    return found


def _lost(proof: DriverProof, wanted: Wanted) -> list[Finding]:
    if not proof.lost:
        return []
    said = [f"{a}: {proof.kernel_log.get(a) or 'the kernel log says nothing of it'}" for a in proof.lost]
    meant = [name for name in wanted.parameters if name in EXCLUDING]
    return [
        Finding(
            id="GPU-HW-102",
            severity="warning" if meant else "error",
            summary=f"NVML lacks {len(proof.lost)} of {len(proof.pci_gpus)} GPUs: {', '.join(proof.lost)}",
            wanted=f"{', '.join(proof.pci_gpus)} (/sys/bus/pci/devices)",
            found=f"NVML has {', '.join(proof.nvml_gpus) or 'none'}; {'; '.join(said)}",
            remedy=f"parameter {meant[0]} excludes GPUs: driver_module_parameters"
            if meant
            else f"journalctl -k --grep 'NVRM|Xid'; nvidia-smi --gpu-reset -i {proof.lost[0]}, or reboot the host",
            source="github.com/NVIDIA/open-gpu-kernel-modules#1151",
        )
    ]


def _fabric(proof: DriverProof, wanted: Wanted) -> list[Finding]:
    if not proof.unconfigured:
        return []
    states = ", ".join(f"{a} {proof.fabric[a]}" for a in proof.unconfigured)
    return [
        Finding(
            id="GPU-FAB-031",
            severity="error",
            summary=f"the fabric manager has not configured {len(proof.unconfigured)} of {len(proof.fabric)} GPUs",
            wanted="fabric state completed of every GPU: CUDA ends with error 802 before",
            found=f"{states} (nvmlDeviceGetGpuFabricInfoV)",
            remedy="journalctl -b -u nvidia-fabricmanager; tail /var/log/fabricmanager.log",
            source="github.com/pytorch/pytorch#35710",
        )
    ]


def _persistence(proof: DriverProof) -> list[Finding]:
    off = [a for a, mode in proof.persistence.items() if not mode]
    if not off:
        return []
    return [
        Finding(
            id="GPU-FAB-029",
            severity="warning",
            summary=f"persistence mode is off on {len(off)} of {len(proof.persistence)} GPUs",
            wanted="persistence mode of every GPU, by nvidia-persistenced",
            found=f"off: {', '.join(off)} (nvmlDeviceGetPersistenceMode)",
            remedy="systemctl cat nvidia-persistenced, look for --no-persistence-mode; systemctl restart "
            "nvidia-persistenced",
            source="github.com/NVIDIA/nvidia-persistenced#2",
        )
    ]


def _imex(proof: DriverProof) -> list[Finding]:
    if proof.imex == READY:
        return []
    return [
        Finding(
            id="GPU-FAB-106",
            severity="warning",
            summary="the IMEX daemon runs and is not ready",
            wanted="READY (nvidia-imex-ctl -q)",
            found=proof.imex or "no answer of nvidia-imex-ctl -q",
            remedy="nvidia-imex-ctl -N says which node of driver_imex_nodes lacks; /var/log/nvidia-imex.log",
            source="docs.nvidia.com/multi-node-nvlink-systems/imex-guide",
        )
    ]


def _licence(proof: DriverProof, wanted: Wanted) -> list[Finding]:
    if proof.licence == ACQUIRED:
        return []
    cause = f": {proof.licence_cause}" if proof.licence_cause else ""
    return [
        Finding(
            id="GPU-FAB-105",
            severity="error" if wanted.licence else "warning",
            summary=f"the vGPU has no licence{cause}",
            wanted="a licence (journal of nvidia-gridd)",
            found=proof.licence or "the journal of this boot says nothing of a licence",
            remedy="journalctl -b -u nvidia-gridd; set driver_gridd_token and driver_gridd_config.FeatureType",
            source="docs.nvidia.com, Virtual GPU Client Licensing User Guide",
        )
    ]


def _next_boot(proof: DriverProof, wanted: Wanted) -> list[Finding]:
    lacking = [release for release, version in proof.kernels.items() if version is None]
    other = [r for r, v in proof.kernels.items() if v is not None and v != wanted.loaded.version]
    if not lacking and not other:
        return []
    rows = [f"{r} has none" for r in lacking] + [f"{r} has {proof.kernels[r]}" for r in other]
    kernel = (lacking + other)[0]
    return [
        Finding(
            id="GPU-KRN-018",
            severity="warning",
            summary=f"a boot into kernel {kernel} would come up without this driver",
            wanted=f"module nvidia {wanted.loaded.version} for every installed kernel",
            found=f"{'; '.join(rows)} (modinfo -k)",
            remedy=f"install its headers, then dkms autoinstall -k {kernel}; or remove that kernel",
            source="github.com/GoogleCloudPlatform/compute-gpu-installation#18",
        )
    ]
