#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts the program and units on a host that work at boot, without Ansible."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_program
short_description: Install the program and units that keep a GPU host working without Ansible
version_added: 0.1.0
description:
  - Installs C(/usr/local/sbin/gpu-fleet-host), its Python package below C(/usr/local/lib/gpu-fleet/python) with the
    helpers C(pynvml), C(tomlkit) and C(yaml), and the units that make device nodes, restore the MIG layout, write the
    CDI specs and validate at boot.
  - A host without NVIDIA GPU is left alone.
options:
  state:
    description:
      - V(present) installs what this release has. V(absent) removes exactly what this module brought, by its record.
    type: str
    choices: [present, absent]
    default: present
  manifest:
    description:
      - Paths of the package and SHA-256 of each. Filled in by the action plugin.
    type: dict
    default: {}
  archive:
    description:
      - Zip archive on the host with these files. Filled in by the action plugin, where files differ.
    type: path
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._host_root
  - gpu.fleet._plan
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Install the host program of this release
  gpu.fleet.host_program:

- name: Remove it
  gpu.fleet.host_program:
    state: absent
"""

RETURN = r"""
plan:
  description: What was, or in check mode would be, done.
  type: dict
  returned: always
  contains:
    steps:
      description: Ordered changes with C(action), C(target), C(before), C(after), C(reason), C(disrupts).
      type: list
      elements: dict
      sample:
        - action: enable
          target: gpu-fleet-cdi.service
          before: not installed
          after: enabled
          reason: it runs at the next boot
          disrupts: nothing
    disrupts:
      description: The worst of the steps.
      type: str
      sample: nothing
findings:
  description: Disagreements found, each with both sides and a remedy.
  type: list
  elements: dict
  returned: always
ignored:
  description: Why the host has nothing to do here. Empty where it has.
  type: str
  returned: always
  sample: no NVIDIA GPU on the PCI bus (/sys/bus/pci/devices)
"""

import hashlib
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._act.bring_about import bring_about
from ..module_utils._act.host_program import HostProgram
from ..module_utils._act.modules import ModuleError
from ..module_utils._act.ownership import OwnershipError, RootRefused, record_below
from ..module_utils._ansible import runner
from ..module_utils._host.units import ENABLED, FILES, STARTED
from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.host_program import read_host_program
from ..module_utils._observe.kernel import read_kernel
from ..module_utils._observe.os_release import read_os_release
from ..module_utils._observe.pci import read_pci
from ..module_utils._plan.flavour import NO_GPU, gpus_of
from ..module_utils._plan.host_program import (
    PACKAGE,
    ProgramFile,
    ProgramHost,
    ProgramWish,
    differing,
    plan_host_program,
)
from ..module_utils._plan.model import Plan
from ..module_utils._plan.unsupported_host import find_unsupported

ROLE = "prereq"

OPTIONS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "manifest": {"type": "dict", "default": {}},
    "archive": {"type": "path"},
    "host_root": {"type": "path", "default": "/"},
}


def program_wish(params: dict[str, Any]) -> ProgramWish:
    """What this release has."""
    files = {p: ProgramFile(hashlib.sha256(text.encode()).hexdigest(), mode) for p, (text, mode) in FILES.items()}
    return ProgramWish(params["state"], params["manifest"], files, ENABLED, STARTED)


class Task:
    """One run of the module: its observation and decision."""

    def __init__(self, module: AnsibleModule) -> None:
        params = module.params
        self.run = runner(module)
        self.wish = program_wish(params)
        self.host = HostRoot(params["host_root"])
        self.record = record_below(params["host_root"], ROLE, check_mode=module.check_mode)
        self.unsupported = find_unsupported(read_os_release(self.host), read_kernel(self.host))
        self.ignored = self.wish.state == "present" and not gpus_of(read_pci(self.host))

    def observe(self) -> ProgramHost:
        """Package, files, units."""
        return read_host_program(self.host, self.run, self.wish, owned=self.record.objects)

    def decide(self, found: ProgramHost) -> Plan:
        """See plan_host_program(); an operating system that this release does not know gets nothing."""
        if self.ignored:
            return Plan()
        if self.wish.state == "present" and self.unsupported:
            return Plan(findings=self.unsupported)
        return plan_host_program(self.wish, found)

    def take(self) -> None:
        """Records what will be ours, before the first change."""
        names = (PACKAGE, *self.wish.files, *(f"unit:{name}" for name in self.wish.enabled))
        self.record.take(dict.fromkeys(names, (None, True)))

    def returns(self, _found: ProgramHost) -> dict[str, Any]:
        """The module's own keys."""
        return {"ignored": NO_GPU if self.ignored else ""}


def main() -> None:
    """Compares with the manifest; asks for the archive where files differ; installs and proves."""
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    try:
        task = Task(module)
        found = task.observe()
        plan = task.decide(found)
        if plan.changed and not plan.blocked and not module.check_mode:
            if task.wish.state == "present":
                task.take()
            if task.wish.state == "present" and differing(task.wish, found) and not module.params["archive"]:
                module.exit_json(changed=False, needs_archive=True)
        texts = {path: text for path, (text, _mode) in FILES.items()}
        actor = HostProgram(task.run, task.wish, texts=texts, archive=module.params["archive"])
        result = bring_about(module, observe=task.observe, decide=task.decide, act=actor.apply, returns=task.returns)
        if task.wish.state == "absent" and not module.check_mode:
            task.record.take({}, gone=tuple(task.record.objects))
    except (ModuleError, OwnershipError, RootRefused, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
