#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves a host's GPU stack and writes the barrier files that operands wait for."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_validation
short_description: Prove a host's GPU stack and write the barrier files
version_added: 0.1.0
description:
  - Proves driver, toolkit, container engine, CDI spec and MIG layout. A running service is no proof.
  - The driver is ready when NVML answers with the version of the loaded module, lists every GPU that PCI has, and
    their device
    nodes and C(/dev/char) links are there.
  - The toolkit is ready when NVIDIA's runtime runs, the engine when its own dump shows the handlers and it was started
    after its
    files were written, the CDI spec when it fits the host.
  - Writes the barrier files of the GPU Operator's validator into C(/run/nvidia/validations), and removes those of
    components that
    are not ready. C(toolkit-ready), which operands wait for, needs all of the above.
  - Does not fail where a component is not ready; look at RV(ready).
options:
  state:
    description: V(absent) removes the barrier files and what was saved for the boot.
    type: str
    choices: [present, absent]
    default: present
  engine:
    description: The container engine. By default the one that the kubelet speaks to, else the one that is there.
    type: str
    choices: ['', containerd, crio, docker, podman]
    default: ''
  handlers:
    description: Runtime handlers that have to be in effect.
    type: list
    elements: str
    default: [nvidia]
  cdi:
    description: Whether a CDI spec and an engine with CDI are wanted.
    type: bool
    default: true
  driver_root:
    description: Where the driver is on the host. Another one than V(/) is the driver container's.
    type: path
    default: /
  extras:
    description: Further components whose kernel module has to be loaded.
    type: list
    elements: str
    choices: [nvidia-peermem, nvidia-fs, gdrcopy]
    default: []
  at_boot:
    description: Whether the options are saved, so that C(gpu-fleet-validation.service) proves the same at every boot.
    type: bool
    default: false
  pending:
    description:
      - Whether steps come before that check mode has planned only. What is not ready then counts as what they will
        make ready, so that the plan is the one of the real run.
      - For check mode alone.
    type: bool
    default: false
  restarts:
    description:
      - Whether one of the steps that O(pending) is about restarts the engine, so that it does not count that the engine
        still runs with older files.
      - For check mode alone.
    type: bool
    default: false
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._host_root
requirements:
  - nvidia-ml-py, tomlkit and PyYAML on the host or on the controller, which sends its own copies where the host has
    none
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Prove this host, now and at every boot
  gpu.fleet.host_validation:
    at_boot: true
  register: proof

- name: Stop where the host is not ready
  ansible.builtin.assert:
    that: proof.ready
    fail_msg: "{{ proof.reasons | join('; ') }}"
"""

RETURN = r"""
ready:
  description: Whether every component is ready, disabled or ignored.
  type: bool
  returned: always
  sample: false
components:
  description: One row a component, in the order in which they build on each other.
  type: list
  elements: dict
  returned: always
  sample:
    - {name: driver, state: ready, reason: ""}
    - {name: cdi, state: not_ready, reason: "the CDI spec /var/run/cdi/nvidia.yaml does not fit the host
      (device_major)"}
reasons:
  description: The reasons of the components that are not ready.
  type: list
  elements: str
  returned: always
  sample: ["cdi: the CDI spec /var/run/cdi/nvidia.yaml does not fit the host (device_major)"]
plan:
  description: Barrier files that were, or in check mode would be, written or removed.
  type: dict
  returned: always
  sample:
    disrupts: nothing
    steps:
      - action: write_barrier
        target: /run/nvidia/validations/driver-ready
        before: null
        after: present
        reason: its component was proved, so operands may start
        disrupts: nothing
findings:
  description: What stands against the components that are not ready, each with both sides and a remedy.
  type: list
  elements: dict
  returned: always
  sample: []
"""

from dataclasses import asdict, replace
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._act.bring_about import bring_about
from ..module_utils._act.lock import LockedError
from ..module_utils._act.ownership import OwnershipError
from ..module_utils._act.validation import (
    OPTIONS,
    WISH_PATH,
    HostValidation,
    make_validation,
    save_options,
    saved_options,
)
from ..module_utils._ansible import alone, runner
from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.helpers import find_helper
from ..module_utils._plan.model import Plan, Step
from ..module_utils._plan.validation import EXTRAS, Seen, Validation, judge, plan_barriers, plan_removal

ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "engine": {"type": "str", "choices": ["", "containerd", "crio", "docker", "podman"], "default": ""},
    "handlers": {"type": "list", "elements": "str", "default": ["nvidia"]},
    "cdi": {"type": "bool", "default": True},
    "driver_root": {"type": "path", "default": "/"},
    "extras": {"type": "list", "elements": "str", "choices": list(EXTRAS), "default": []},
    "at_boot": {"type": "bool", "default": False},
    "pending": {"type": "bool", "default": False},
    "restarts": {"type": "bool", "default": False},
    "host_root": {"type": "path", "default": "/"},
}
SAVE = "save_options"
FORGET = "forget_options"


def helpers(module: AnsibleModule) -> dict[str, Any]:
    """The packages that are needed; ends the module with their names where one is missing."""
    found = {name: find_helper(name) for name in ("pynvml", "tomlkit", "yaml")}
    missing = [name for name, package in found.items() if package is None]
    if missing:
        module.fail_json(msg=f"this host's Python lacks {', '.join(missing)}", missing_helpers=missing)
    return found


def wanted_options(options: dict[str, Any]) -> dict[str, Any] | None:
    """What has to be saved for the boot; None for nothing."""
    if options["state"] == "absent" or not options["at_boot"]:
        return None
    return {name: options[name] for name in OPTIONS}


def foreseen(options: dict[str, Any], seen: Seen) -> Seen:
    """What was observed, without what a planned restart of the engine will end."""
    return replace(seen, restart=False) if options["restarts"] else seen


def plan(options: dict[str, Any], wish: Validation, seen: Seen, saved: dict[str, Any] | None) -> Plan:
    """The barrier files, and what is saved for the boot."""
    present = options["state"] == "present"
    files = plan_barriers(wish, seen, pending=options["pending"]) if present else plan_removal(seen)
    wanted = wanted_options(options)
    if wanted == saved or (wanted is None and options["state"] == "present"):
        return files
    if wanted is None:
        step = Step(FORGET, WISH_PATH, "present", None, "nothing has to be proved at boot any more")
    else:
        before = None if saved is None else "other options"
        step = Step(SAVE, WISH_PATH, before, "these options", "the boot has to prove the same")
    return Plan((step, *files.steps))


def returns(options: dict[str, Any], wish: Validation, seen: Seen) -> dict[str, Any]:
    """The module's own keys."""
    rows = judge(wish, seen) if options["state"] == "present" else ()
    return {
        "ready": all(c.finding is None for c in rows),
        "components": [{"name": c.name, "state": c.state, "reason": c.reason} for c in rows],
        "reasons": [f"{c.name}: {c.reason}" for c in rows if c.finding is not None],
        "findings": [asdict(c.finding) for c in rows if c.finding is not None],
    }


def validate(module: AnsibleModule, host: HostRoot) -> dict[str, Any]:
    """Observe, plan, apply, prove."""
    options, wish = module.params, make_validation(module.params)
    foretold = [name for name in ("pending", "restarts") if options[name]]
    if foretold and not module.check_mode:
        module.fail_json(
            msg=f"{foretold[0]} is true outside of check mode, where nothing is proved by what is only planned"
        )
    validation = HostValidation(host, wish, run=runner(module), helpers=helpers(module), engine=options["engine"])

    def act(step: Step, seen: Seen) -> None:
        if step.action in (SAVE, FORGET):
            save_options(host, wanted_options(options))
        else:
            validation.act(step, seen)

    return bring_about(
        module,
        observe=lambda: foreseen(options, validation.observe()),
        decide=lambda seen: plan(options, wish, seen, saved_options(host)),
        act=act,
        returns=lambda seen: returns(options, wish, seen),
    )


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    host = HostRoot(module.params["host_root"])
    try:
        with alone(module):
            module.exit_json(**validate(module, host))
    except (OSError, LockedError, OwnershipError, ValueError) as error:
        module.fail_json(msg=f"host_validation: {error}")


if __name__ == "__main__":
    main()
