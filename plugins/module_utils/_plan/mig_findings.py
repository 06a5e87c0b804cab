# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The errors of MIG plans: one finding for each kind. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence

from .mig_config_file import SELECTED, ConfigError, Target
from .mig_layout import GpuInstance, MigGpu, describe
from .model import Finding

GUIDE = "NVIDIA MIG User Guide"
PARTED = "https://github.com/NVIDIA/mig-parted"

# A setting is named as role mig has it, then as the modules do.
CONFIGS = "mig_config or mig_config_file (options config, config_file)"
CLIENTS = "mig_gpu_clients (option gpu_clients)"
SKIP_RESET = "mig_skip_reset (option skip_reset)"

# error kind -> (finding id, remedy, source); 050 and 051 are user problems on record, numbers from 101 are ours
KINDS = {
    "invalid_config": ("GPU-MIG-101", f"correct {CONFIGS}", PARTED),
    "unknown_config": ("GPU-MIG-102", f"set {SELECTED} to one of the names", PARTED),
    "unknown_profile": ("GPU-MIG-103", "list what the GPU offers: nvidia-smi mig -lgip", f"{PARTED}/issues/18"),
    "infeasible_layout": ("GPU-MIG-104", "list sizes and starts: nvidia-smi mig -lgipp; ask for less", GUIDE),
    "not_mig_capable": ("GPU-MIG-105", "leave this GPU out by devices or device-filter", GUIDE),
    "in_use": ("GPU-MIG-106", f"end these processes, or name their units in {CLIENTS}", GUIDE),
    "nvml_error": ("GPU-MIG-107", "read the kernel log: journalctl -k --grep NVRM", GUIDE),
    "gpu_lost": ("GPU-MIG-108", "read the kernel log (journalctl -k --grep Xid), then reboot the host", GUIDE),
    "driver_not_loaded": ("GPU-MIG-109", "load the driver: modprobe nvidia", GUIDE),
    "permission": ("GPU-MIG-110", "run the task with become: true", GUIDE),
    "device_not_found": ("GPU-MIG-111", "list the GPUs: nvidia-smi -L", PARTED),
    "unit_failed": ("GPU-MIG-112", "read why: systemctl status with the unit, then run this again", GUIDE),
    "mode_change_blocked": ("GPU-MIG-050", f"name the units that hold the GPU in {CLIENTS}", f"{PARTED}/issues/181"),
    "reset_required": ("GPU-MIG-051", "reboot the host; the mode is set and waits for it", f"{PARTED}/issues/19"),
}
MANAGER = "GPU-MIG-113"
KIND_OF = {row[0]: kind for kind, row in KINDS.items()}


def mig_finding(kind: str, summary: str, *, wanted: str, found: str, severity: str = "error") -> Finding:
    """The finding of an error kind."""
    number, remedy, source = KINDS[kind]
    return Finding(number, severity, summary, wanted, found, remedy, source)


def config_finding(error: ConfigError) -> Finding:
    """A ConfigError as a finding."""
    return mig_finding(error.kind, str(error), wanted=error.wanted, found=error.found)


def mode_word(enabled: bool) -> str:
    """The mode as nvidia-smi writes it, in lower case."""
    return "enabled" if enabled else "disabled"


def wish_text(target: Target) -> str:
    """What a target wants, for people."""
    return describe({str(n): c for n, c in target.counts}) if target.places is None else "the checkpoint's instances"


def broken(gpu: MigGpu) -> Finding:
    """A GPU that NVML lists but cannot read."""
    kind = gpu.error_kind or "nvml_error"
    return mig_finding(kind, f"{gpu.label} cannot be read", wanted="a GPU that answers", found=f"NVML: {gpu.error}")


def not_capable(gpu: MigGpu, severity: str = "error") -> Finding:
    """A GPU without MIG: an error where it was named, else information."""
    found = "NVML: MIG mode not supported"
    return mig_finding("not_mig_capable", f"{gpu.label} has no MIG", wanted="MIG on", found=found, severity=severity)


def waits_for_reset(gpu: MigGpu, severity: str) -> Finding:
    """The mode is set, the reset that makes it true is forbidden."""
    text = f"{gpu.label} waits for a reset, which {SKIP_RESET} forbids; instances can be made only after it"
    found = f"mode {mode_word(gpu.enabled)}, pending {mode_word(gpu.pending)}"
    return mig_finding("reset_required", text, wanted=mode_word(gpu.pending), found=found, severity=severity)


def undescribed(gpu: MigGpu, target: Target) -> Finding:
    """Neither the driver nor the catalog knows the GPU's profiles."""
    text = f"nobody can say which MIG profiles {gpu.label} has"
    found = f"the driver lists none, and the catalog has no row for PCI id 0x{gpu.pci_id}"
    return mig_finding("unknown_profile", text, wanted=wish_text(target), found=found)


def mode_blocked(gpu: MigGpu, enabled: bool) -> Finding:
    """Processes that hold the GPU as a whole."""
    text = f"the MIG mode of {gpu.label} cannot change while processes use it"
    found = f"NVML: processes {gpu.processes(gpu.clients)}"
    return mig_finding("mode_change_blocked", text, wanted=mode_word(enabled), found=found)


def in_use(gpu: MigGpu, instances: Sequence[GpuInstance], wanted: str) -> Finding:
    """Instances that would have to go although processes use them."""
    users = "; ".join(f"{i.place}: processes {gpu.processes(i.users)}" for i in instances)
    text = f"{gpu.label} has instances in use that would have to go"
    return mig_finding("in_use", text, wanted=wanted, found=f"NVML: {users}")


def two_managers(link: str) -> Finding:
    """NVIDIA's boot unit brings a layout of its own about after ours."""
    return Finding(
        MANAGER,
        "warning",
        "nvidia-mig-manager.service changes the MIG layout at boot, too",
        "one unit that does so: gpu-fleet-mig.service",
        f"{link} (host)",
        "systemctl disable nvidia-mig-manager.service, or mig_at_boot: false",
        f"{PARTED} deployments/systemd",
    )
