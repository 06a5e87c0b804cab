# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which boards a driver takes when its module is loaded, and what the kernel log says then.

Texts as recorded (open-gpu-kernel-modules#322, negativo17/nvidia-driver#43, kernel logs of healthy hosts); the rule is
that of NVIDIA's installer: open modules need a GPU System Processor (Turing and later), Blackwell needs open modules.
"""

from __future__ import annotations

from simulator.models import MODELS, Model
from simulator.state import State

TURING, BLACKWELL = 6, 10  # NVML_DEVICE_ARCH_*
WITHOUT_GSP = """\
installed in this system is not supported by open
nvidia.ko because it does not include the required GPU
System Processor (GSP).
Please see the 'Open Linux Kernel Modules' and 'GSP
Firmware' sections in the driver README, available on
the Linux graphics driver download page at
www.nvidia.com."""
NEEDS_OPEN = "installed in this system requires use of the NVIDIA open kernel modules."
NOT_SUPPORTED = """\
installed in this system is not supported by the
NVIDIA {version} driver release.
Please see 'Appendix A - Supported NVIDIA GPU Products'
in this release's README, available on the operating system
specific graphics driver download page at www.nvidia.com."""
BUILT = "Tue Jul  8 03:24:41 UTC 2025"


def objection(model: Model, version: str, flavour: str) -> str:
    """Why the module does not drive the board, in its words; empty when it does."""
    if flavour == "open" and model.architecture < TURING:
        return WITHOUT_GSP
    if flavour != "open" and model.architecture >= BLACKWELL:
        return NEEDS_OPEN
    too_new = _numbers(version) < _numbers(model.first_driver)
    too_old = bool(model.last_branch) and _numbers(version)[0] > model.last_branch
    return NOT_SUPPORTED.format(version=version) if too_new or too_old else ""


def refused(state: State, version: str, flavour: str) -> dict[str, str]:
    """PCI address of each GPU that the module does not drive -> why, as lines of the kernel log."""
    found = {}
    for gpu in state.gpus:
        model = MODELS[gpu["model"]]
        why = objection(model, version, flavour)
        if why:
            head = f"The NVIDIA GPU {gpu['bus']} (PCI ID: 10de:{model.device_id:04x})"
            lines = "\n".join(f"NVRM: {line}" for line in (head, *why.splitlines()))
            found[gpu["bus"]] = f"{lines}\nnvidia {gpu['bus']}: probe with driver nvidia failed with error -1"
    return found


def failed(count: int, total: int) -> str:
    """The lines after all refusals, where there were `count` of `total`; empty where there were none."""
    lines = [f"NVRM: The NVIDIA probe routine failed for {count} device(s)."] if count else []
    lines += ["NVRM: None of the NVIDIA devices were initialized."] if count == total else []
    return "\n".join(lines)


def banner(version: str, flavour: str) -> str:
    """What the module says of itself."""
    name = "Open Kernel Module for x86_64" if flavour == "open" else "x86_64 Kernel Module"
    return f"NVRM: loading NVIDIA UNIX {name}  {version}  {BUILT}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
