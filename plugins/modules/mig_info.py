#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports and checks MIG layouts."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mig_info
short_description: Export or check the MIG layout of a host
version_added: 0.1.0
description:
  - Reads the MIG state of all GPUs, gives it as a mig-parted config and as a checkpoint that M(gpu.fleet.mig_config)
    can restore,
    and says what each GPU offers and has room for.
  - With a layout, says whether the GPUs are at it, and if not, what M(gpu.fleet.mig_config) would do.
options:
  config:
    description: Layouts to check against, as a mig-parted config file holds them.
    type: dict
  config_file:
    description: Path of a mig-parted config file on the host. Read below O(host_root).
    type: path
  selected_config:
    description: Name of the layout to check. It may be left out where the config holds exactly one.
    type: str
  mode_only:
    description: Whether only the MIG mode is checked.
    type: bool
    default: false
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._attributes.info
  - gpu.fleet._host_root
requirements:
  - nvidia-ml-py on the host or on the controller, which sends its own copy where the host has none. PyYAML for
    O(config_file).
notes:
  - On a host whose driver is not loaded, the GPUs are those of the PCI bus, and what they offer comes from the
    collection's catalog.
seealso:
  - module: gpu.fleet.mig_config
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Read the MIG state
  gpu.fleet.mig_info:
  register: before

- name: Check whether the GPUs are at their layout
  gpu.fleet.mig_info:
    selected_config: all-balanced
  register: mig
  failed_when: not mig.matches

- name: Put everything back
  gpu.fleet.mig_config:
    checkpoint: "{{ before.checkpoint }}"
"""

RETURN = r"""
config:
  description: The state as a mig-parted config with the one layout C(current).
  type: dict
  returned: always
  sample:
    version: v1
    mig-configs:
      current:
        - devices: all
          mig-enabled: true
          mig-devices: {1g.10gb: 7}
checkpoint:
  description: Mode and every instance with its start, by GPU UUID, for O(gpu.fleet.mig_config#module:checkpoint).
  type: dict
  returned: always
  sample:
    version: v1
    gpus:
      - uuid: GPU-5d4dd2a0-7d3c-4b6c-8f0e-2a1b3c4d5e6f
        mig_enabled: true
        instances:
          - profile: 3g.40gb
            start: 4
            compute: [3g.40gb]
matches:
  description: Whether the GPUs are at the layout that the options name. Null where they name none.
  type: bool
  returned: always
  sample: true
plan:
  description: What M(gpu.fleet.mig_config) would do.
  type: dict
  returned: always
  sample: {disrupts: nothing, steps: []}
findings:
  description: Why the layout cannot be reached, each with both sides and a remedy.
  type: list
  elements: dict
  returned: always
  sample: []
gpus:
  description: The GPUs. C(free) of a profile is how many instances fit beside what is there.
  type: list
  elements: dict
  returned: always
  sample:
    - index: 0
      uuid: GPU-5d4dd2a0-7d3c-4b6c-8f0e-2a1b3c4d5e6f
      pci_address: "0000:41:00.0"
      pci_id: "0x233010DE"
      name: NVIDIA H100 80GB HBM3
      capable: true
      enabled: true
      pending: true
      devices: {3g.40gb: 1}
      instances:
        - profile: 3g.40gb
          start: 4
          gpu_instance: 2
          compute: [3g.40gb]
          uuids: [MIG-6f1b7d9e-0c64-5c8e-9d65-2d6c1b0a9f8e]
          processes: []
      source: nvml
      error: null
      profiles:
        - name: 3g.40gb
          id: 9
          slices: 3
          memory_mib: 40448
          starts: [0, 4]
          size: 4
          count: 2
          free: 1
source:
  description: Who described the profiles, C(nvml) or C(catalog). Null where no GPU has MIG.
  type: str
  returned: always
  sample: nvml
generated:
  description:
    - All layouts that need no config on this host, as a mig-parted config file, made from what the GPUs offer. Write it
      to a file to have something to change, as C(nvidia-mig-parted generate-config) does.
  type: dict
  returned: always
  sample:
    version: v1
    mig-configs:
      all-disabled:
        - {devices: all, mig-enabled: false}
      all-1g.10gb:
        - {devices: all, mig-enabled: true, mig-devices: {1g.10gb: 7}}
layouts:
  description: Names of the layouts that need no config on this host.
  type: list
  elements: str
  returned: always
  sample: [all-disabled, all-enabled, all-balanced, all-1g.10gb]
error_kind:
  description: As in M(gpu.fleet.mig_config).
  type: str
  returned: on failure
  sample: unknown_config
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.mig import read_mig, read_mig_offline
from ..module_utils._observe.mig_file import HelperNeeded, read_config_file
from ..module_utils._observe.mig_users import with_commands
from ..module_utils._observe.nvml import HelperMissing, NvmlFailure, open_nvml
from ..module_utils._plan.mig import Decision
from ..module_utils._plan.mig_capacity import profile_rows
from ..module_utils._plan.mig_config_file import ConfigError
from ..module_utils._plan.mig_documents import checkpoint, export_config, gpu_row, source_of
from ..module_utils._plan.mig_layout import MigGpu
from ..module_utils._plan.mig_named import named_layouts
from ..module_utils._plan.mig_wish import MigWish

ARGUMENTS: dict[str, Any] = {
    "config": {"type": "dict"},
    "config_file": {"type": "path"},
    "selected_config": {"type": "str"},
    "mode_only": {"type": "bool", "default": False},
    "host_root": {"type": "path", "default": "/"},
}

# A layout that these GPUs cannot have is an answer; one that is malformed, or names absent GPUs, is a mistake.
MISTAKES = ("invalid_config", "unknown_config", "device_not_found")


def make_wish(options: dict[str, Any], host: HostRoot) -> MigWish | None:
    """The layout to check, or None. Raises ConfigError, HelperNeeded."""
    config = read_config_file(host, options["config_file"]) if options["config_file"] else options["config"]
    if config is None and not options["selected_config"]:
        return None
    wish = MigWish(config=config, selected_config=options["selected_config"] or None, mode_only=options["mode_only"])
    wish.check()
    return wish


def observe(host: HostRoot) -> tuple[MigGpu, ...]:
    """What NVML says, or without a driver what PCI and the catalog say. Raises NvmlFailure, HelperMissing."""
    try:
        with open_nvml() as nvml:
            return with_commands(host, read_mig(nvml))
    except NvmlFailure as failure:
        if failure.kind != "driver_not_loaded":
            raise
    return read_mig_offline(host)


def report(gpus: tuple[MigGpu, ...], wish: MigWish | None) -> dict[str, Any]:
    """The module's result; raises ConfigError for a mistake in the request."""
    decision, generated = wish.decide(gpus) if wish else Decision(), named_layouts(gpus)
    if decision.error_kind in MISTAKES:
        raise ConfigError(decision.error_kind, decision.plan.message())
    return {
        "changed": False,
        "config": export_config(gpus),
        "checkpoint": checkpoint(gpus),
        "matches": None if wish is None else not decision.operations and decision.error_kind is None,
        **decision.plan.result(),
        "gpus": [{**gpu_row(g), "profiles": profile_rows(g)} for g in gpus],
        "source": source_of(gpus),
        "generated": generated,
        "layouts": list(generated["mig-configs"]),
    }


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec=ARGUMENTS, mutually_exclusive=[("config", "config_file")], supports_check_mode=True
    )
    host = HostRoot(module.params["host_root"])
    try:
        wish = make_wish(module.params, host)
        module.exit_json(**report(observe(host), wish))
    except HelperNeeded as error:
        module.fail_json(msg=str(error), missing_helpers=[error.name])
    except HelperMissing as error:
        module.fail_json(msg=str(error), missing_helpers=["pynvml"])
    except (ConfigError, NvmlFailure) as error:
        module.fail_json(msg=f"mig_info: {error}", error_kind=error.kind)


if __name__ == "__main__":
    main()
