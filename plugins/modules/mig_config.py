#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings GPUs to a MIG layout."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mig_config
short_description: Bring GPUs to a MIG layout
version_added: 0.1.0
description:
  - Brings the GPUs of a host to a layout in the format of NVIDIA's mig-parted (C(version=v1)).
  - Checks the whole request for all GPUs before the first change. Finds the exact placement by search, keeps
    instances that are right,
    looks for processes before the first instance goes, resets only GPUs whose mode change needs it, and reads
    everything again at the end.
  - Needs no config for V(all-disabled), V(all-enabled), V(all-balanced) and V(all-<profile>) (for example
    V(all-1g.10gb)). These are made
    from the profiles that the driver offers.
options:
  state:
    description:
      - V(absent) brings back the modes and instances from before the first run with O(at_boot=true), and removes the
        saved wish.
        The other options of the layout are ignored then.
    type: str
    choices: [present, absent]
    default: present
  config:
    description: Layouts, as a mig-parted config file holds them.
    type: dict
  config_file:
    description: Path of a mig-parted config file on the host. Read below O(host_root).
    type: path
  selected_config:
    description:
      - Name of the layout. It may be left out where the config holds exactly one.
      - Without O(config) and O(config_file), the name of a layout that needs none.
    type: str
  checkpoint:
    description:
      - The value RV(gpu.fleet.mig_info#module:checkpoint) of an earlier M(gpu.fleet.mig_info). Every instance comes
        back at its start.
    type: dict
  mode_only:
    description: Whether only the MIG mode is changed and no instance is made.
    type: bool
    default: false
  skip_reset:
    description:
      - Whether a mode change that the driver leaves pending is left at that, without a GPU reset. RV(reboot_required)
        is true then.
    type: bool
    default: false
  gpu_clients:
    description:
      - systemd units that hold GPUs. Those that are active are stopped before a change that disrupts, in this order,
        and started again
        afterwards, whatever happens.
    type: list
    elements: str
    default: []
  at_boot:
    description:
      - Whether the layout is saved in C(/var/lib/gpu-fleet/mig/wish.yaml), so that C(gpu-fleet-mig.service) brings it
        back after a reboot.
        Instances never survive one, the mode does so only on Ampere.
    type: bool
    default: false
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._host_root
  - gpu.fleet._plan
requirements:
  - nvidia-ml-py on the host or on the controller, which sends its own copy where the host has none. PyYAML for
    O(config_file).
notes:
  - In check mode, on a host whose driver is not loaded yet, the plan is made from the collection's catalog of models
    and RV(source)
    is C(catalog).
seealso:
  - module: gpu.fleet.mig_info
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Seven small instances on every GPU that can do it, again after each reboot
  gpu.fleet.mig_config:
    selected_config: all-1g.10gb
    at_boot: true

- name: A layout for each model
  gpu.fleet.mig_config:
    config:
      version: v1
      mig-configs:
        halves:
          - device-filter: "0x20B010DE"
            devices: all
            mig-enabled: true
            mig-devices:
              3g.20gb: 2
          - device-filter: "0x233010DE"
            devices: all
            mig-enabled: true
            mig-devices:
              3g.40gb: 2
    gpu_clients:
      - nvidia-dcgm.service

- name: Switch MIG off
  gpu.fleet.mig_config:
    selected_config: all-disabled
"""

RETURN = r"""
plan:
  description: What was, or in check mode would be, done.
  type: dict
  returned: always
  sample:
    disrupts: gpu_workloads
    steps:
      - action: set_mig_mode
        target: "0000:41:00.0"
        before: disabled
        after: enabled
        reason: the layout wants MIG enabled; the change needs an idle GPU and resets the GPU
        disrupts: gpu_workloads
      - action: create_gpu_instance
        target: 0000:41:00.0 3g.20gb@4
        before: null
        after: 1 x 3g.20gb
        reason: the layout wants it
        disrupts: nothing
findings:
  description: Disagreements found, each with both sides and a remedy.
  type: list
  elements: dict
  returned: always
  sample: []
gpus:
  description:
    - The GPUs as they are at the end. RV(gpus[].predicted) is what the request makes of them, null where it is not
      about them.
  type: list
  elements: dict
  returned: always
  sample:
    - index: 0
      uuid: GPU-5d4dd2a0-7d3c-4b6c-8f0e-2a1b3c4d5e6f
      pci_address: "0000:41:00.0"
      pci_id: "0x20B010DE"
      name: NVIDIA A100-SXM4-40GB
      capable: true
      enabled: true
      pending: true
      devices: {3g.20gb: 2}
      instances:
        - profile: 3g.20gb
          start: 0
          gpu_instance: 2
          compute: [3g.20gb]
          uuids: [MIG-6f1b7d9e-0c64-5c8e-9d65-2d6c1b0a9f8e]
          processes: []
      source: nvml
      error: null
      predicted:
        enabled: true
        devices: {3g.20gb: 2}
source:
  description: Who described the profiles that the plan was made from, C(nvml) or C(catalog). Null where no GPU has MIG.
  type: str
  returned: always
  sample: nvml
reboot_required:
  description: Whether a mode change waits for a reset that was not possible or not allowed.
  type: bool
  returned: always
  sample: false
error_kind:
  description:
    - One of C(invalid_config), C(unknown_config), C(unknown_profile), C(infeasible_layout), C(not_mig_capable),
      C(in_use),
      C(mode_change_blocked), C(reset_required), C(nvml_error), C(gpu_lost), C(driver_not_loaded), C(permission),
      C(device_not_found).
  type: str
  returned: on failure
  sample: in_use
"""

from contextlib import nullcontext
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._act.lock import LockedError, host_lock
from ..module_utils._act.mig_keeper import MigKeeper
from ..module_utils._act.mig_run import MigRun, Outcome
from ..module_utils._act.mig_state import MigStateError
from ..module_utils._act.ownership import STATE_DIRECTORY, OwnershipError
from ..module_utils._observe.command import run
from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.mig import read_mig_offline
from ..module_utils._observe.mig_file import HelperNeeded, read_config_file
from ..module_utils._observe.nvml import HelperMissing, NvmlFailure
from ..module_utils._plan.mig_config_file import ConfigError
from ..module_utils._plan.mig_documents import result_rows, source_of
from ..module_utils._plan.mig_findings import config_finding, mig_finding
from ..module_utils._plan.mig_wish import MigWish
from ..module_utils._plan.model import Plan, Step

ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "config": {"type": "dict"},
    "config_file": {"type": "path"},
    "selected_config": {"type": "str"},
    "checkpoint": {"type": "dict"},
    "mode_only": {"type": "bool", "default": False},
    "skip_reset": {"type": "bool", "default": False},
    "gpu_clients": {"type": "list", "elements": "str", "default": []},
    "at_boot": {"type": "bool", "default": False},
    "host_root": {"type": "path", "default": "/"},
}


def fail(module: AnsibleModule, kind: str, message: str, **result: Any) -> None:
    """Ends the module with an error that has no plan."""
    finding = mig_finding(kind, message, wanted="a host whose GPUs can be configured", found=message)
    empty = {**Plan(findings=(finding,)).result(), "gpus": [], "source": None, "reboot_required": False}
    module.fail_json(msg=f"mig_config: {message}", error_kind=kind, **{**empty, **result})


def make_wish(options: dict[str, Any], host: HostRoot) -> MigWish:
    """Raises ConfigError, HelperNeeded."""
    config = read_config_file(host, options["config_file"]) if options["config_file"] else options["config"]
    wish = MigWish(
        config=config,
        selected_config=options["selected_config"] or None,
        mode_only=options["mode_only"],
        skip_reset=options["skip_reset"],
        checkpoint=options["checkpoint"],
    )
    wish.check()
    return wish


def offline(host: HostRoot, wish: MigWish, failure: NvmlFailure) -> Outcome:
    """The plan from the catalog; raises the failure again where PCI has no GPU either."""
    gpus = read_mig_offline(host)
    if failure.kind != "driver_not_loaded" or not gpus:
        raise failure
    decision = wish.decide(gpus)
    error = (decision.error_kind, decision.plan.message()) if decision.error_kind else None
    return Outcome(decision, gpus, bool(decision.operations), error, decision.reboot_required)


def present(module: AnsibleModule, mig: MigRun, keeper: MigKeeper, wish: MigWish) -> None:
    """Brings the GPUs to the wish, and keeps the wish where that is asked for."""
    extra = keeper.steps(wish) if module.params["at_boot"] else ()
    keep = (lambda gpus: keeper.keep(wish, gpus)) if module.params["at_boot"] else None
    try:
        outcome = mig.bring(wish, check=module.check_mode, before=keep)
    except NvmlFailure as failure:
        if not module.check_mode:
            raise
        outcome = offline(mig.host, wish, failure)
    if extra and keep and not module.check_mode and outcome.error is None:
        keep(outcome.gpus)
    finish(module, wish, outcome, extra)


def absent(module: AnsibleModule, mig: MigRun, keeper: MigKeeper) -> None:
    """Brings back what was there before the first kept wish, then forgets it."""
    extra = keeper.removal_steps()
    gpus = mig.observe() if extra else ()
    wish = keeper.wish_before([g.uuid for g in gpus], tuple(module.params["gpu_clients"]))
    outcome = mig.bring(wish, check=module.check_mode) if extra else Outcome(wish.decide(()), ())
    if extra and not module.check_mode and outcome.error is None:
        keeper.forget()
    finish(module, wish, outcome, extra)


def finish(module: AnsibleModule, wish: MigWish, outcome: Outcome, extra: tuple[Step, ...]) -> None:
    """Ends the module with what was done and what is there now."""
    plan = Plan(extra + outcome.decision.plan.steps if outcome.error is None else outcome.decision.plan.steps, ())
    plan = plan.with_findings(outcome.decision.findings)
    result = {
        "changed": outcome.changed or bool(extra),
        "diff": plan.diff(),
        **plan.result(),
        "gpus": result_rows(outcome.gpus, wish.targets_or_none(outcome.gpus), mode_only=wish.mode_only),
        "source": source_of(outcome.gpus),
        "reboot_required": outcome.reboot_required,
    }
    if outcome.error is not None:
        kind, message = outcome.error
        module.fail_json(msg=message, error_kind=kind, **{**result, "changed": outcome.changed})
    module.exit_json(**result)


def work(module: AnsibleModule) -> None:
    """One state or the other; errors that end everything have one message and one kind each."""
    host = HostRoot(module.params["host_root"])
    try:
        keeper = MigKeeper(host.where(STATE_DIRECTORY))
        mig = MigRun(host, run, keeper.state)
        if module.params["state"] == "absent":
            absent(module, mig, keeper)
        present(module, mig, keeper, make_wish(module.params, host))
    except HelperNeeded as error:
        module.fail_json(msg=str(error), missing_helpers=[error.name])
    except HelperMissing as error:
        module.fail_json(msg=str(error), missing_helpers=["pynvml"])
    except ConfigError as error:
        fail(module, error.kind, str(error), **Plan(findings=(config_finding(error),)).result())
    except NvmlFailure as failure:
        fail(module, failure.kind, str(failure))
    except PermissionError as error:
        fail(module, "permission", f"{error.filename}: {error.strerror}; run the task with become: true")
    except (MigStateError, OwnershipError) as error:
        module.fail_json(msg=f"mig_config: {error}")


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec=ARGUMENTS,
        mutually_exclusive=[("config", "config_file", "checkpoint")],
        supports_check_mode=True,
    )
    needs = any(module.params[name] for name in ("config", "config_file", "selected_config", "checkpoint"))
    if module.params["state"] == "present" and not needs:
        fail(module, "unknown_config", "none of config, config_file, selected_config and checkpoint is set; set one")
    # A check may not even leave a lock file behind; a tree that is no running host has none to keep others out of.
    alone = nullcontext() if module.check_mode or module.params["host_root"] != "/" else host_lock()
    try:
        with alone:
            work(module)
    except LockedError as error:
        module.fail_json(msg=f"mig_config: {error}")
    except PermissionError as error:
        fail(module, "permission", f"{error.filename}: {error.strerror}; run the task with become: true")


if __name__ == "__main__":
    main()
