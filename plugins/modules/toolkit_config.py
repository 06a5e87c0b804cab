#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets keys in the toolkit's config.toml."""

from __future__ import annotations

DOCUMENTATION = r"""
module: toolkit_config
short_description: Set keys of the NVIDIA Container Toolkit's config.toml
version_added: 0.1.0
description:
  - Sets or removes single keys. Comments, order and other keys survive.
  - Knows the keys of toolkit 1.20 with their types. Refuses other keys, and values with which containers would not
    start.
  - A file that is not there gets the toolkit's defaults for this host (ldconfig, and the user on SUSE) beside
    O(settings).
options:
  state:
    description: V(absent) sets every key that this module has set back to what it was.
    type: str
    choices: [present, absent]
    default: present
  config_path:
    description: The file.
    type: path
    default: /etc/nvidia-container-runtime/config.toml
  settings:
    description:
      - Dotted name of a key to its value, for example C(nvidia-container-runtime.mode). A null value removes the
        key, so that the toolkit's default holds, and may be given for any key.
      - Lists may be given as texts with colons between the parts.
      - A key that an earlier run has set, and that is not here any more, goes back to what it was.
    type: dict
    default: {}
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._host_root
  - gpu.fleet._plan
requirements:
  - tomlkit on the host or on the controller, which sends its own copy where the host has none
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Let the runtime use the CDI specs of this host
  gpu.fleet.toolkit_config:
    settings:
      nvidia-container-runtime.mode: cdi
      nvidia-container-runtime.modes.cdi.spec-dirs: [/etc/cdi, /var/run/cdi]
"""

RETURN = r"""
settings:
  description: The keys of O(settings) as the file has them, null for a key that it lacks.
  type: dict
  returned: always
  sample:
    nvidia-container-runtime.mode: cdi
plan:
  description: What was, or in check mode would be, done.
  type: dict
  returned: always
  sample:
    disrupts: nothing
    steps:
      - action: edit_file
        target: /etc/nvidia-container-runtime/config.toml
        before: "nvidia-container-runtime.mode: auto"
        after: "nvidia-container-runtime.mode: cdi"
        reason: the settings are wanted so
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
from ..module_utils._act.engine import EngineFiles, read_owned
from ..module_utils._act.lock import LockedError
from ..module_utils._act.ownership import STATE_DIRECTORY, Ownership, OwnershipError
from ..module_utils._act.runtime import ROLE
from ..module_utils._act.toml_file import EditError
from ..module_utils._ansible import alone
from ..module_utils._catalog.toolkit_config import DEFAULT_PATH
from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.helpers import find_helper
from ..module_utils._observe.toolkit import read_toolkit_config
from ..module_utils._plan.engine import ABSENT, FORGET, EnginePlan, plan_forget
from ..module_utils._plan.model import Plan, Step, join_plans
from ..module_utils._plan.toolkit_config import ConfigState, current, plan_toolkit_config

ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "config_path": {"type": "path", "default": DEFAULT_PATH},
    "settings": {"type": "dict", "default": {}},
    "host_root": {"type": "path", "default": "/"},
}


def configure(module: AnsibleModule, host: HostRoot) -> dict[str, Any]:
    """Observe, plan, apply, prove."""
    toml = find_helper("tomlkit")
    if toml is None:
        module.fail_json(msg="this host's Python lacks tomlkit", missing_helpers=["tomlkit"])
    path, wanted, settings = (module.params[name] for name in ("config_path", "state", "settings"))
    ownership = Ownership(ROLE, directory=host.where(STATE_DIRECTORY))
    files = EngineFiles(host, ownership, shared=path, toml=toml, check=lambda: None)

    def plan(state: ConfigState) -> EnginePlan:
        return plan_toolkit_config(path, wanted, settings, state)

    def decide(state: ConfigState) -> Plan:
        made = plan(state).plan
        return join_plans([made, plan_forget(path, state.owned)]) if wanted == ABSENT and not made.blocked else made

    def act(step: Step, state: ConfigState) -> None:
        if step.action == FORGET:
            files.forget()
        else:
            files.apply(plan(state).file(step.target), last=True)

    return bring_about(
        module,
        observe=lambda: read_toolkit_config(host, path, toml=toml, owned=read_owned(ownership)),
        decide=decide,
        act=act,
        returns=lambda state: {"settings": current(settings, state.document)},
    )


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    host = HostRoot(module.params["host_root"])
    try:
        with alone(module):
            module.exit_json(**configure(module, host))
    except (OSError, LockedError, OwnershipError, EditError) as error:
        module.fail_json(msg=f"toolkit_config: {error}")


if __name__ == "__main__":
    main()
