# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All faults that a lab host can be given, by name; healed in this order, so power comes first."""

from __future__ import annotations

from dev import machine

from ..host import Host
from . import fault as faults
from . import gpu_faults, machine_faults, system_faults
from .fault import DPKG, DRIVER, GPUS, KUBELET, UNTIL_BOOT, Fault, Need

ENGINE = Need(
    "systemctl is-active containerd docker crio | grep -qx active", "no container engine runs there as a service"
)
NVSWITCHES = Need("test -d /proc/driver/nvidia-nvswitch", "no driver is loaded there that sees an NVSwitch")

_ROWS = (
    Fault(
        "power-cut",
        "the power is gone: nothing is written back, no process ends in order",
        "./dev lab status",
        machine_faults.cut_power,
        machine_faults.give_power,
    ),
    Fault(
        "network-cut",
        "the cable is pulled: the host runs on and cannot be reached",
        "ip link show host0",
        machine_faults.cut_network,
        machine_faults.mend_network,
        UNTIL_BOOT,
    ),
    Fault(
        "disk-full",
        "no byte is free on the root file system",
        "df --human-readable /",
        machine_faults.fill_disk,
        machine_faults.empty_disk,
    ),
    Fault(
        "slow-disk",
        "the disk reads and writes so many MiB a second",
        "dd if=/dev/zero of=/var/tmp/x bs=1M count=4 conv=fsync",
        machine_faults.slow_disk,
        machine_faults.quick_disk,
        UNTIL_BOOT,
        arguments=("MIB_A_SECOND",),
        defaults=("1",),
    ),
    Fault(
        "clock-jump",
        "the clock is off by so many seconds (-86400: a day behind)",
        "date",
        machine_faults.jump_clock,
        machine_faults.set_clock_right,
        UNTIL_BOOT,
        needs=(GPUS,),
        arguments=("SECONDS",),
        defaults=("-31536000",),
    ),
    Fault(
        "gpu-lost",
        "a GPU has fallen off the bus",
        "nvidia-smi; dmesg | tail",
        gpu_faults.lose_gpu,
        gpu_faults.heal_last,
        UNTIL_BOOT,
        needs=(GPUS, DRIVER),
        arguments=("GPU",),
        defaults=("0",),
    ),
    Fault(
        "xid",
        "a GPU reports an Xid error (94: contained memory error)",
        "dmesg | grep Xid; journalctl --dmesg",
        gpu_faults.raise_xid,
        gpu_faults.heal_last,
        needs=(GPUS, DRIVER),
        arguments=("NUMBER", "GPU"),
        defaults=("94", "0"),
    ),
    Fault(
        "ecc",
        "a GPU has counted so many uncorrected memory errors",
        "nvidia-smi --query --display=ECC",
        gpu_faults.count_errors,
        gpu_faults.heal_last,
        needs=(GPUS, DRIVER),
        arguments=("COUNT", "GPU"),
        defaults=("1", "0"),
    ),
    Fault(
        "throttle",
        "the clocks of a GPU are held down, for a reason of NVML's",
        "nvidia-smi --query --display=PERFORMANCE",
        gpu_faults.throttle,
        gpu_faults.heal_last,
        needs=(GPUS, DRIVER),
        arguments=("REASON", "GPU"),
        defaults=("hw_thermal_slowdown", "0"),
    ),
    Fault(
        "nvlink-down",
        "an NVLink of a GPU is down",
        "nvidia-smi nvlink --status",
        gpu_faults.cut_link,
        gpu_faults.heal_last,
        needs=(GPUS, DRIVER),
        arguments=("LINK", "GPU"),
        defaults=("0", "0"),
    ),
    Fault(
        "sxid",
        "an NVSwitch reports an SXid error (20034: a link is down, fatal)",
        "dmesg | grep SXid; tail /var/log/fabricmanager.log",
        gpu_faults.report_sxid,
        gpu_faults.forget_sxid,
        UNTIL_BOOT,
        needs=(NVSWITCHES,),
        arguments=("NUMBER", "NVSWITCH"),
        defaults=("20034", "0"),
    ),
    Fault(
        "gpu-busy",
        "a container holds a GPU",
        "podman ps; nvidia-smi",
        gpu_faults.hold_gpu,
        gpu_faults.release_gpu,
        UNTIL_BOOT,
        needs=(GPUS, DRIVER),
        arguments=("GPU",),
        defaults=("0",),
    ),
    Fault(
        "nvml",
        "an NVML function fails with a code (999: unknown error)",
        "nvidia-smi",
        gpu_faults.fail_nvml,
        gpu_faults.mend_nvml,
        needs=(GPUS,),
        arguments=("CODE", "FUNCTION"),
        defaults=("999", "nvmlInit"),
    ),
    Fault(
        "driver-mismatch",
        "NVIDIA's library is of another version than the loaded module",
        "nvidia-smi",
        gpu_faults.mismatch,
        gpu_faults.match,
        needs=(GPUS, DRIVER),
    ),
    Fault(
        "broken-packages",
        "a package is installed whose dependency exists nowhere",
        "apt-get check",
        system_faults.break_packages,
        system_faults.mend_packages,
        needs=(DPKG,),
    ),
    Fault(
        "half-configured",
        "dpkg was killed while it configured a package",
        "dpkg --audit; apt-get install hello",
        system_faults.interrupt_dpkg,
        system_faults.finish_dpkg,
        needs=(DPKG,),
    ),
    Fault(
        "held-lock",
        "another program holds the lock of dpkg or rpm",
        "apt-get install hello",
        system_faults.hold_lock,
        system_faults.release_lock,
        UNTIL_BOOT,
    ),
    Fault(
        "engine-stopped",
        "the container engine is stopped",
        "systemctl status containerd",
        system_faults.stop_engine,
        system_faults.start_engine,
        UNTIL_BOOT,
        needs=(ENGINE,),
    ),
    Fault(
        "kubelet-stopped",
        "the kubelet is stopped; the API server sees it 40 s later",
        "kubectl get nodes",
        system_faults.stop_kubelet,
        system_faults.start_kubelet,
        UNTIL_BOOT,
        needs=(KUBELET,),
    ),
)
FAULTS = {row.name: row for row in _ROWS}


def named(name: str) -> Fault:
    """The fault of that name. machine.Unfit names all of them when there is none."""
    if name not in FAULTS:
        raise machine.Unfit(
            f"There is no fault {name!r}; there are {', '.join(FAULTS)} (`./dev lab break` explains them)"
        )
    return FAULTS[name]


def heal_all(host: Host) -> list[str]:
    """Ends every fault of the host; returns their names."""
    found = [name for name in FAULTS if name in faults.present(host)]
    for name in found:
        if name in faults.present(host):  # a boot, which ended `power-cut`, has ended others with it
            faults.heal(host, FAULTS[name])
    return found
