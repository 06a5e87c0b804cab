# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb devices: modules, device nodes and /dev/char links at boot. Private to this collection.

Nobody else makes /dev/nvidia-uvm on a headless host (NVIDIA/nvidia-docker#423), nor the links that systemd needs to
give containers a device by its numbers (NVIDIA/nvidia-container-toolkit#48).
"""

from __future__ import annotations

from .._act.modules import ModuleError, call, settle
from .._observe.files import HostRoot
from .._observe.module_host import read_module_host
from .._plan.driver import MODULES_LOAD
from .._plan.modules import LOADED, ModuleHost, in_order, plan_modules
from .command import run as run_program
from .lines import complain, say

DRIVER_NOT_LOADED = 75


def run() -> int:
    """Loads what role driver wants at boot, makes what lacks; 0 done, 1 failed, 75 there is no module to load."""
    host = HostRoot()
    wanted = in_order((host.text(MODULES_LOAD) or "").split())

    def observe() -> ModuleHost:
        return read_module_host(host, run_program, state=LOADED, on_demand=True)

    plan = plan_modules(observe(), state=LOADED, wanted=wanted, links=False)
    if plan.blocked:
        complain(plan.message())
        return DRIVER_NOT_LOADED
    try:
        for step in plan.steps:
            if step.action == "load":
                call(run_program, ["modprobe", step.target])
                say(f"load {step.target}")
        for line in settle(run_program, observe, wanted=wanted):
            say(line)
    except ModuleError as error:
        complain(str(error))
        return 1
    return 0
