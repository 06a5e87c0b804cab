#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs, keeps and removes the packages of the NVIDIA Container Toolkit."""

from __future__ import annotations

DOCUMENTATION = r"""
module: toolkit
short_description: Install, keep or remove the packages of the NVIDIA Container Toolkit
version_added: 0.1.0
description:
  - Decides repository, version, packages, pin and holds from what is on the host, and brings them about. The steps
    themselves are done by C(ansible.builtin.copy), C(ansible.builtin.apt) and C(ansible.builtin.dpkg_selections), on
    Enterprise Linux by C(ansible.builtin.dnf). Then it looks again to prove them.
options:
  state:
    description:
      - V(present) installs and keeps the packages. V(absent) removes what this module brought, by its record.
      - Packages that came along with it stay. A finding names them with the command that removes them.
    type: str
    choices: [present, absent]
    default: present
  version:
    description:
      - Exact toolkit version, for example V(1.20.0). Empty means the newest when it is installed; later runs keep it.
    type: str
    default: ''
  package_set:
    description:
      - V(full) has all four packages. V(base) has the programs for engines that inject through CDI.
    type: str
    choices: [base, full]
    default: full
  hold:
    description:
      - Whether to keep the version. The packages are held, and a preferences file pins their exact version. On
        Enterprise Linux excludes in our own repository file leave the exact version only.
    type: bool
    default: true
  repository_url:
    description:
      - Address of the repository, above the directory of the architecture. Empty means NVIDIA's.
    type: str
    default: ''
  repository_key_url:
    description:
      - Address of the repository's key. Empty means NVIDIA's.
    type: str
    default: ''
  repository_key_fingerprint:
    description:
      - The whole fingerprint of that key. Empty means NVIDIA's. A key with another fingerprint is refused.
    type: str
    default: ''
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._host_root
  - gpu.fleet._plan
seealso:
  - module: gpu.fleet.toolkit_config
  - module: gpu.fleet.container_runtime
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Install the newest toolkit and keep its version
  gpu.fleet.toolkit:

- name: Install an exact version from a mirror
  gpu.fleet.toolkit:
    version: 1.20.0
    repository_url: https://mirror.example.org/libnvidia-container/stable/deb
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
    disrupts:
      description: The worst of the steps.
      type: str
      sample: nothing
    calls:
      description: The modules with their arguments that carry the steps out.
      type: list
      elements: dict
    packages:
      description: Names of packages by what happens to them.
      type: dict
      sample:
        install: [nvidia-container-toolkit-base]
        remove: []
        hold: [nvidia-container-toolkit-base]
        unhold: []
findings:
  description: Disagreements found, each with both sides and a remedy.
  type: list
  elements: dict
  returned: always
version:
  description: Version of the toolkit that is, or will be, installed.
  type: str
  returned: always
  sample: 1.20.0
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._act.ownership import Ownership, OwnershipError, RootRefused, record_below
from ..module_utils._ansible import fetch, runner
from ..module_utils._observe.ask import ask_manager
from ..module_utils._observe.disk import DiskError
from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.repository_key import KeyRefused
from ..module_utils._observe.toolkit_host import read_toolkit_host
from ..module_utils._plan.driver_wish import WrongOption
from ..module_utils._plan.toolkit_packages import ToolkitDecision, ToolkitWish, decide_toolkit, toolkit_wish
from ..module_utils._planned import end_planned, planned_result

# Role toolkit records its engine configuration in a file of its own.
RECORD = "toolkit-packages"

OPTIONS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "version": {"type": "str", "default": ""},
    "package_set": {"type": "str", "choices": ["base", "full"], "default": "full"},
    "hold": {"type": "bool", "default": True},
    "repository_url": {"type": "str", "default": ""},
    "repository_key_url": {"type": "str", "default": "", "no_log": False},
    "repository_key_fingerprint": {"type": "str", "default": "", "no_log": False},
    "host_root": {"type": "path", "default": "/"},
}


def decide(wish: ToolkitWish, module: AnsibleModule, record: Ownership) -> ToolkitDecision:
    """Observes and decides; asks the package manager in between where packages lack."""
    host, run = HostRoot(module.params["host_root"]), runner(module)
    found = read_toolkit_host(host, run, wish, owned=tuple(record.objects))
    decision = decide_toolkit(wish, found)
    if decision.ask is None:
        return decision
    answer = ask_manager(host, run, decision.ask, fetch=fetch)
    return decide_toolkit(wish, found, answer=answer)


def main() -> None:
    """Decides, records what will be ours, and answers with the calls that bring it about."""
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    try:
        wish = toolkit_wish(module.params)
        record = record_below(module.params["host_root"], RECORD, check_mode=module.check_mode)
        decision = decide(wish, module, record)
    except (WrongOption, KeyRefused, OwnershipError, RootRefused, DiskError) as error:
        module.fail_json(msg=str(error))
    result = {**planned_result(decision.work), "version": decision.version}
    end_planned(module, decision.work, result, record)


if __name__ == "__main__":
    main()
