#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads, unloads and reloads the driver's kernel modules."""

from __future__ import annotations

DOCUMENTATION = r"""
module: driver_modules
short_description: Load, unload or reload the kernel modules of the NVIDIA driver
version_added: 0.1.0
description:
  - Loads modules in the order in which they need each other and unloads them in reverse. Makes the device nodes that
    lack, and the C(/dev/char) links through which systemd finds devices by their numbers.
  - Ends no process. Who holds a device is named in RV(holders), and the task fails before anything is unloaded.
  - Services of the driver that run are stopped for unloading, in this order, and started again in reverse after a
    reload, also when it fails. They are C(dcgm-exporter), C(nvidia-dcgm), C(nvidia-topologyd), C(nvidia-gridd),
    C(nvidia-imex), C(nvidia-fabricmanager) and C(nvidia-persistenced). What a killed run left stopped is started by the
    next one.
  - A reload brings back every module of the driver that was loaded before, also where O(modules) does not name it.
options:
  state:
    description:
      - V(loaded) loads what is not loaded. V(unloaded) takes all modules of the driver away.
      - V(reloaded) is V(loaded), and replaces loaded modules whose version or flavour is not that on disk, or whose
        parameters are not those of C(/etc/modprobe.d/gpu-fleet-driver.conf).
    type: str
    choices: [loaded, unloaded, reloaded]
    default: loaded
  modules:
    description:
      - Modules to load, in any order.
    type: list
    elements: str
    default: [nvidia, nvidia_uvm, nvidia_modeset]
  dev_char_links:
    description:
      - Whether to keep the links in C(/dev/char).
    type: bool
    default: true
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._host_root
  - gpu.fleet._plan
seealso:
  - module: gpu.fleet.driver
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Load what CUDA needs
  gpu.fleet.driver_modules:

- name: Replace the loaded driver by the installed one, if nobody uses it
  gpu.fleet.driver_modules:
    state: reloaded
"""

RETURN = r"""
plan:
  description: What was, or in check mode would be, done.
  type: dict
  returned: always
findings:
  description: Disagreements found, each with both sides and a remedy.
  type: list
  elements: dict
  returned: always
loaded:
  description: Modules of the driver that are loaded, in the order of loading.
  type: list
  elements: str
  returned: always
  sample: [nvidia, nvidia_uvm, nvidia_modeset]
holders:
  description: Processes that have device nodes of the driver open. Read only where something would be unloaded.
  type: list
  elements: dict
  returned: always
  contains:
    pid:
      description: Its process id.
      type: int
    name:
      description: Its name as the kernel cuts it to 15 characters.
      type: str
    devices:
      description: The device nodes that it has open.
      type: list
      elements: str
    command:
      description: The first two words of its command line. Further ones may be secrets.
      type: str
    unit:
      description: The unit of systemd that it belongs to. Empty for none.
      type: str
    container:
      description: The id of its container. Empty for none.
      type: str
    pod:
      description: Namespace and name of its pod, or its uid where the kubelet keeps no logs of it. Empty for none.
      type: str
  sample:
    - pid: 4211
      name: python3
      devices: [/dev/nvidia0, /dev/nvidiactl]
      command: python3 train.py
      unit: ''
      container: 4bb1a2b6f5c3e0d9a8877665544332211000ffeeddccbbaa99887766554433aa
      pod: research/train-0
reboot_required:
  description:
    - Whether the loaded module is not the one on disk, or has other parameters, and processes keep it from being
      replaced.
  type: bool
  returned: always
"""

from dataclasses import asdict
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._act.bring_about import bring_about
from ..module_utils._act.driver_modules import Interrupted, ModuleRun, signals_raise
from ..module_utils._act.modules import ModuleError
from ..module_utils._ansible import runner
from ..module_utils._observe.command import Run
from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.module_host import read_module_host
from ..module_utils._plan.model import Plan, Step
from ..module_utils._plan.modules import ORDER, SERVER, ModuleHost, blockers, in_order, is_stale, plan_modules

OPTIONS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["loaded", "unloaded", "reloaded"], "default": "loaded"},
    "modules": {"type": "list", "elements": "str", "default": list(SERVER)},
    "dev_char_links": {"type": "bool", "default": True},
    "host_root": {"type": "path", "default": "/"},
}


def returns(found: ModuleHost) -> dict[str, Any]:
    """The module's own keys."""
    return {
        "loaded": [name for name in ORDER if name in found.modules],
        "holders": [asdict(h) for h in found.holders],
        "reboot_required": is_stale(found) and bool(blockers(found.holders)),
    }


class Task:
    """One run of the module: its observation, decision and steps."""

    def __init__(self, params: dict[str, Any], run: Run) -> None:
        self.state, self.links = params["state"], params["dev_char_links"]
        self.wanted = in_order(params["modules"])
        self.host, self.run = HostRoot(params["host_root"]), run
        self.modules = ModuleRun(self.host, run, self.observe, state=self.state)

    def observe(self) -> ModuleHost:
        """Modules, nodes, links, and where needed users."""
        return read_module_host(self.host, self.run, state=self.state)

    def decide(self, found: ModuleHost) -> Plan:
        """See plan_modules()."""
        return plan_modules(found, state=self.state, wanted=self.wanted, links=self.links)

    def act(self, step: Step, found: ModuleHost) -> None:
        """See ModuleRun.act()."""
        self.modules.act(step, found, wanted=self.wanted, links=self.links)

    def bring_about(self, module: AnsibleModule) -> dict[str, Any]:
        """The result. What was stopped is started again however the run ends."""
        try:
            with signals_raise():
                result = bring_about(module, observe=self.observe, decide=self.decide, act=self.act, returns=returns)
        except (ModuleError, Interrupted) as error:
            raise ModuleError(f"{error}{self.modules.restore()}") from error
        except BaseException:
            self.modules.restore()
            raise
        if not module.check_mode:
            self.modules.done()
        return result


def main() -> None:
    """Observes, decides, loads or unloads, and proves."""
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    task = Task(module.params, runner(module))
    unknown = [n for n in task.wanted if n not in ORDER]
    if unknown:
        module.fail_json(msg=f"modules has {unknown[0]!r}, wanted modules of the driver: {', '.join(ORDER)}")
    if module.params["host_root"] != "/" and not module.check_mode:
        module.fail_json(
            msg=f"host_root is {module.params['host_root']!r}, but modules are loaded on / only; use check mode"
        )
    try:
        result = task.bring_about(module)
    except (ModuleError, ValueError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
