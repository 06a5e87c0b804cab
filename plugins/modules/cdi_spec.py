#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes or removes CDI specs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cdi_spec
short_description: Write or remove a CDI spec for NVIDIA GPUs
version_added: 0.1.0
description:
  - Writes the file from which container engines learn what a GPU needs in a container (Container Device Interface).
  - Makes it natively, with the content of C(nvidia-ctk cdi generate) 1.20 for the same host. No program of the
    toolkit is needed for that, but the hooks in the spec are C(nvidia-cdi-hook).
  - GPUs and MIG devices come from NVML, device numbers from C(/dev), everything else from the driver's files.
  - Says why the spec that was found does not fit the host any more (RV(stale_because)), and which other specs of the
    same kind engines find (RV(findings)).
options:
  state:
    description: Whether the spec is there.
    type: str
    choices: [present, absent]
    default: present
  path:
    description:
      - File that is written, below O(host_root). A missing suffix is added.
      - C(/var/run) does not survive a reboot. See O(at_boot).
    type: path
    default: /var/run/cdi/nvidia.yaml
  format:
    description: Format of a file whose O(path) has no suffix. Otherwise the suffix decides.
    type: str
    choices: [yaml, json]
  mode:
    description:
      - What the spec is for. V(auto) takes V(wsl) on WSL 2, V(csv) on Tegra systems without NVML, else V(nvml).
    type: str
    choices: [auto, nvml, csv, wsl, management, gds, gdrcopy, imex, mofed, nvswitch]
    default: auto
  vendor:
    description: Vendor in the spec's kind.
    type: str
    default: nvidia.com
  class:
    description: Class in the spec's kind.
    type: str
    default: gpu
  device_name_strategies:
    description:
      - How devices are named (V(index), V(uuid), V(type-index)). With several, each device is listed under
        several names.
    type: list
    elements: str
    default: [index, uuid]
  device_ids:
    description: V(all), V(none), GPU indices, C(<GPU index>:<MIG index>) or UUIDs. In mode V(imex), channels.
    type: list
    elements: str
    default: [all]
  all_device:
    description: Whether a device C(all) joins all others.
    type: bool
    default: true
  hooks:
    description:
      - V(program) writes hooks of O(hook_path). V(none) writes none, so that the toolkit's program is not needed
        on the host. The links that hooks would make are mounts then, so that programs find the libraries in images
        whose loader looks into the same directories as the host's. Links of C(/dev/dri/by-path) are left out.
    type: str
    choices: [program, none]
    default: program
  driver_root:
    description: Directory below which the driver's files are, for example C(/run/nvidia/driver).
    type: path
    default: /
  dev_root:
    description: Directory below which C(dev) is. The default is O(driver_root).
    type: path
  hook_path:
    description: Program of the hooks. A name without slash is searched in O(env_path).
    type: str
    default: nvidia-cdi-hook
  ldconfig_path:
    description: Program ldconfig that the hook C(update-ldcache) runs.
    type: str
  library_search_paths:
    description: The only directories in which libraries are searched, absolute.
    type: list
    elements: str
  config_search_paths:
    description: The only directories in which configuration files are searched, absolute.
    type: list
    elements: str
  csv_files:
    description: Files of mode V(csv).
    type: list
    elements: str
  csv_ignore_patterns:
    description: Patterns of links that mode V(csv) leaves out.
    type: list
    elements: str
  csv_compat_container_root:
    description: Directory in the container that has CUDA compatibility libraries, for mode V(csv).
    type: str
  wsl_driver_store_paths:
    description: Driver stores of WSL 2. The default is every directory in C(/usr/lib/wsl/drivers).
    type: list
    elements: str
  enabled_hooks:
    description: Hooks that are written although they are off by default or in O(disabled_hooks).
    type: list
    elements: str
  disabled_hooks:
    description: Hooks that are not written. V(all) for all of them.
    type: list
    elements: str
  feature_flags:
    description:
      - Any of V(enable-explicit-driver-libraries), V(no-additional-gids-for-device-nodes), V(disable-ipc-discoverer),
        V(enable-coherent-annotations), V(disable-multiple-csv-devices).
        Others are accepted and have no effect.
    type: list
    elements: str
  env_path:
    description: What PATH would be, colons between directories. The usual six directories are searched in any case.
    type: str
  xdg_data_dirs:
    description: What XDG_DATA_DIRS would be. The default is C(/usr/local/share:/usr/share).
    type: str
  kernel_release:
    description: What C(uname -r) says. The default is the running kernel.
    type: str
  machine:
    description: What C(uname -m) says. The default is the running machine.
    type: str
  at_boot:
    description:
      - Whether these options are saved in C(/var/lib/gpu-fleet/cdi/wish.yaml), so that C(gpu-fleet-cdi.service)
        writes the same spec at boot and after a change of the driver or the MIG layout.
    type: bool
    default: false
  refresh:
    description:
      - Who writes the spec when the driver changes. V(fleet) masks the units C(nvidia-cdi-refresh) of NVIDIA's
        packages (or gives them a condition that never holds, where they are files in C(/etc/systemd/system)) and
        remembers that. V(nvidia) takes such masks back, writes no spec and forgets the options of
        O(at_boot), so that these units own O(path).
      - Without it the units stay as they are. O(state=absent) takes masks back where this is set.
    type: str
    choices: [fleet, nvidia]
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._host_root
  - gpu.fleet._plan
requirements:
  - nvidia-ml-py and PyYAML on the host or on the controller, which sends its own copy where the host has none
seealso:
  - name: Container Device Interface
    description: The specification.
    link: https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Write the spec of all GPUs, now and at every boot
  gpu.fleet.cdi_spec:
    at_boot: true

- name: Write a spec for programs that manage GPUs
  gpu.fleet.cdi_spec:
    mode: management
    vendor: management.nvidia.com
    path: /var/run/cdi/management.nvidia.com-gpu.yaml

- name: Take a spec that somebody wrote by hand out of the engines' sight
  gpu.fleet.cdi_spec:
    state: absent
    path: /etc/cdi/nvidia.yaml
"""

RETURN = r"""
specs:
  description: The specs that these options give on this host. Empty where none could be made, and with O(state=absent).
  type: list
  elements: dict
  returned: always
  contains:
    path:
      description: File of the spec.
      type: str
      sample: /var/run/cdi/nvidia.yaml
    spec:
      description: Its content.
      type: dict
      sample:
        cdiVersion: 0.5.0
        kind: nvidia.com/gpu
        devices:
          - name: "0"
            containerEdits:
              deviceNodes:
                - {path: /dev/nvidia0, major: 195, fileMode: 438, permissions: rwm}
        containerEdits:
          env: [NVIDIA_CTK_LIBCUDA_DIR=/usr/lib/x86_64-linux-gnu, NVIDIA_VISIBLE_DEVICES=void]
stale_because:
  description:
    - Why the spec that was found before did not fit the host. The C(reason) is one of
      C(driver_version), C(device_major), C(device_missing), C(mig_layout), C(hook_missing), C(library_missing),
      C(spec_version).
  type: list
  elements: dict
  returned: always
  sample:
    - reason: device_major
      wanted: /dev/nvidia-uvm 511:0 (on the host)
      found: /dev/nvidia-uvm 510:0 (in the spec)
plan:
  description: What was, or in check mode would be, done.
  type: dict
  returned: always
  sample:
    disrupts: nothing
    steps:
      - action: write_spec
        target: /var/run/cdi/nvidia.yaml
        before: null
        after: "nvidia.com/gpu, CDI 0.5.0: 0, GPU-8f7b6c9e-1c52-4b5e-9a43-2d1f0a6b7c8d, all"
        reason: engines find no CDI devices of this kind at this path
        disrupts: nothing
findings:
  description: Disagreements found, each with both sides and a remedy.
  type: list
  elements: dict
  returned: always
  sample: []
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._act.bring_about import bring_about
from ..module_utils._act.cdi import CdiSpecs, NodeError, WishError
from ..module_utils._act.cdi_run import CdiRun
from ..module_utils._act.lock import LockedError
from ..module_utils._act.mask import MaskError, RefreshUnits
from ..module_utils._act.ownership import STATE_DIRECTORY, Ownership, OwnershipError
from ..module_utils._act.runtime import ROLE
from ..module_utils._ansible import alone, runner
from ..module_utils._observe.cdi_gpus import read_gpus
from ..module_utils._observe.cdi_specs import yaml_loader
from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.helpers import find_helper
from ..module_utils._plan.cdi_wish import DEFAULT_PATH, FORMATS, MODES, make_wish

LISTS = (
    "library_search_paths",
    "config_search_paths",
    "csv_files",
    "csv_ignore_patterns",
    "wsl_driver_store_paths",
    "enabled_hooks",
    "disabled_hooks",
    "feature_flags",
)
TEXTS = ("ldconfig_path", "csv_compat_container_root", "env_path", "xdg_data_dirs", "kernel_release", "machine")

ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "path": {"type": "path", "default": DEFAULT_PATH},
    "format": {"type": "str", "choices": list(FORMATS)},
    "mode": {"type": "str", "choices": list(MODES), "default": "auto"},
    "vendor": {"type": "str", "default": "nvidia.com"},
    "class": {"type": "str", "default": "gpu"},
    "device_name_strategies": {"type": "list", "elements": "str", "default": ["index", "uuid"]},
    "device_ids": {"type": "list", "elements": "str", "default": ["all"]},
    "all_device": {"type": "bool", "default": True},
    "hooks": {"type": "str", "choices": ["program", "none"], "default": "program"},
    "host_root": {"type": "path", "default": "/"},
    "driver_root": {"type": "path", "default": "/"},
    "dev_root": {"type": "path"},
    "hook_path": {"type": "str", "default": "nvidia-cdi-hook"},
    "refresh": {"type": "str", "choices": ["fleet", "nvidia"]},
    "at_boot": {"type": "bool", "default": False},
    **{name: {"type": "list", "elements": "str"} for name in LISTS},
    **{name: {"type": "str"} for name in TEXTS},
}


def helpers(module: AnsibleModule) -> dict[str, Any]:
    """The packages that are needed; ends the module with their names where one is missing."""
    found = {name: find_helper(name) for name in ("pynvml", "yaml")}
    missing = [name for name, package in found.items() if package is None]
    if missing:
        module.fail_json(msg=f"this host's Python lacks {', '.join(missing)}", missing_helpers=missing)
    return found


def run(module: AnsibleModule) -> dict[str, Any]:
    """Observe, plan, apply, prove."""
    options, found = module.params, helpers(module)
    wish, host = make_wish(options), HostRoot(options["host_root"])
    specs = CdiSpecs(host, wish, read_gpus=read_gpus, load=yaml_loader(found["yaml"]), run=runner(module))
    units = RefreshUnits(host, Ownership(ROLE, directory=host.where(STATE_DIRECTORY)), run=runner(module))
    this = CdiRun(wish, specs, units, options=options)
    return bring_about(
        module,
        observe=this.observe,
        decide=lambda state: this.decide(state, check_mode=module.check_mode),
        act=this.act,
        returns=this.returns,
    )


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        with alone(module):
            module.exit_json(**run(module))
    except (OSError, LockedError, MaskError, NodeError, OwnershipError, WishError) as error:
        module.fail_json(msg=f"cdi_spec: {error}")


if __name__ == "__main__":
    main()
