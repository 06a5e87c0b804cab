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
      - V(restored) brings back what was there before the last change, from C(/var/lib/gpu-fleet/mig/checkpoint.json),
        for example after a run that failed half-way. A change that is run again after a failure does not replace that
        file. The other options of the layout are ignored then.
    type: str
    choices: [present, absent, restored]
    default: present
  config:
    description:
      - Layouts, as a mig-parted config file holds them. C(devices) may name GPUs by UUID too.
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
        and started again afterwards, whatever happens. Units that a killed run left stopped are started by the next.
      - C(display-manager.service), C(nv_peer_mem.service), C(nvidia-fabricmanager.service) and
        C(nvidia-persistenced.service) are stopped only where a GPU is reset, or where one of their processes uses an
        instance.
      - The default is the list of the GPU Operator and what keeps a GPU from a reset.
    type: list
    elements: str
    default:
      - display-manager.service
      - nvsm.service
      - nvsm-mqtt.service
      - nvsm-core.service
      - nvsm-api-gateway.service
      - nvsm-notifier.service
      - dcgm-exporter.service
      - nvidia-dcgm.service
      - dcgm.service
      - nv_peer_mem.service
      - nvidia-fabricmanager.service
      - nvidia-persistenced.service
  coming_clients:
    description:
      - Those of O(gpu_clients) that something earlier in the same play starts, such as role driver on a bare host.
        In check mode, where no driver is loaded yet, they are planned as if they ran.
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

- name: Go back after a run that failed half-way
  gpu.fleet.mig_config:
    state: restored

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
    - The GPUs as they are at the end. C(predicted) is what the request makes of them, null where it is not
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
selected_config:
  description: Name of the layout. Null where a checkpoint is brought back.
  type: str
  returned: always
  sample: all-balanced
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
      C(device_not_found), and C(unit_failed) where a unit of O(gpu_clients) did not stop or did not start again.
  type: str
  returned: on failure
  sample: in_use
done:
  description: The steps about GPUs that were carried out before a failure.
  type: list
  elements: dict
  returned: on a failure during the change
  sample: []
not_done:
  description: The steps about GPUs that were planned and not carried out.
  type: list
  elements: dict
  returned: on a failure during the change
  sample: []
checkpoint:
  description: The GPUs as they were before this run, for O(checkpoint).
  type: dict
  returned: on a failure during the change
  sample: {version: v1, gpus: []}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._act.lock import LockedError
from ..module_utils._act.mig_host import MigHost, Report
from ..module_utils._act.mig_state import MigStateError
from ..module_utils._act.ownership import OwnershipError
from ..module_utils._ansible import alone, runner
from ..module_utils._catalog.gpu_clients import DEFAULT_CLIENTS
from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.mig_file import HelperNeeded, read_config_file
from ..module_utils._observe.nvml import HelperMissing, NvmlFailure
from ..module_utils._plan.mig_clients import unit_names
from ..module_utils._plan.mig_config_file import ConfigError
from ..module_utils._plan.mig_findings import config_finding, mig_finding
from ..module_utils._plan.mig_wish import MigWish
from ..module_utils._plan.model import Finding, Plan

ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent", "restored"], "default": "present"},
    "config": {"type": "dict"},
    "config_file": {"type": "path"},
    "selected_config": {"type": "str"},
    "checkpoint": {"type": "dict"},
    "mode_only": {"type": "bool", "default": False},
    "skip_reset": {"type": "bool", "default": False},
    "gpu_clients": {"type": "list", "elements": "str", "default": list(DEFAULT_CLIENTS)},
    "coming_clients": {"type": "list", "elements": "str", "default": []},
    "at_boot": {"type": "bool", "default": False},
    "host_root": {"type": "path", "default": "/"},
}
LAYOUTS = ("config", "config_file", "selected_config", "checkpoint")


def make_wish(options: dict[str, Any], host: HostRoot) -> MigWish:
    """Raises ConfigError, HelperNeeded."""
    if not any(options[name] for name in LAYOUTS):
        raise ConfigError("unknown_config", f"none of {', '.join(LAYOUTS)} is set; set one")
    config = read_config_file(host, options["config_file"]) if options["config_file"] else options["config"]
    wish = MigWish(
        config=config,
        selected_config=options["selected_config"] or None,
        mode_only=options["mode_only"],
        skip_reset=options["skip_reset"],
        checkpoint=options["checkpoint"],
        gpu_clients=unit_names(options["gpu_clients"]),
        coming_clients=unit_names(options["coming_clients"]),
    )
    wish.check()
    return wish


def bring_about(module: AnsibleModule) -> Report:
    """The wanted state on this host."""
    options, host = module.params, HostRoot(module.params["host_root"])
    wish = make_wish(options, host) if options["state"] == "present" else None
    mig, units = MigHost(host, runner(module)), unit_names(options["gpu_clients"])
    if wish is not None:
        return mig.present(wish, at_boot=options["at_boot"], check=module.check_mode)
    if options["state"] == "restored":
        return mig.restored(units, at_boot=options["at_boot"], check=module.check_mode)
    return mig.absent(units, check=module.check_mode)


def finish(module: AnsibleModule, report: Report) -> None:
    """Ends the module with what was done and what is there now."""
    result = report.result()
    if report.outcome.error is not None:
        kind, message = report.outcome.error
        module.fail_json(msg=message, error_kind=kind, **result)
    module.exit_json(**result)


def fail(module: AnsibleModule, kind: str, message: str, finding: Finding | None = None) -> None:
    """Ends the module with an error that came before any plan."""
    found = finding or mig_finding(kind, message, wanted="a host whose GPUs can be configured", found=message)
    nothing: dict[str, Any] = {"gpus": [], "source": None, "selected_config": None, "reboot_required": False}
    module.fail_json(msg=f"mig_config: {message}", error_kind=kind, **Plan(findings=(found,)).result(), **nothing)


def main() -> None:
    """Entry point of the module."""
    exclusive = [("config", "config_file", "checkpoint")]
    module = AnsibleModule(argument_spec=ARGUMENTS, mutually_exclusive=exclusive, supports_check_mode=True)
    try:
        with alone(module):
            report = bring_about(module)
        finish(module, report)
    except HelperNeeded as error:
        module.fail_json(msg=str(error), missing_helpers=[error.name])
    except HelperMissing as error:
        module.fail_json(msg=str(error), missing_helpers=["pynvml"])
    except ConfigError as error:
        fail(module, error.kind, str(error), config_finding(error))
    except NvmlFailure as failure:
        fail(module, failure.kind, str(failure))
    except PermissionError as error:
        fail(module, "permission", f"{error.filename}: {error.strerror}; run the task with become: true")
    except (LockedError, MigStateError, OwnershipError, OSError) as error:
        module.fail_json(msg=f"mig_config: {error}")


if __name__ == "__main__":
    main()
