# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.wrong_variables."""

from __future__ import annotations

DOCUMENTATION = r"""
name: wrong_variables
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: What is wrong about the variables of a host
description:
  - Checks variables against the argument specs of the roles, and the variables that roles share.
  - Refuses what Ansible would convert into something that nobody means, too, such as a text where a list is wanted.
  - Names in each sentence the variable, its value, what is wanted, and an example. A value that is not to be logged is
    not shown.
positional: _input
options:
  _input:
    description: Names of variables to their values.
    type: dict
    required: true
  specs:
    description: Role to the options of its argument spec.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what is wrong
  ansible.builtin.debug:
    msg: "{{ {'driver_modules': 'nvidia'} | gpu.fleet.wrong_variables(specs={'driver': options}) }}"
"""

RETURN = r"""
_value:
  description: Role to what it publishes, for each role with a wrong variable. Shared variables are those of C(prereq).
  type: dict
  sample:
    driver:
      state: error
      reason: >-
        driver_modules is nvidia (text), wanted a list of texts, as in driver_modules: [nvidia, nvidia_uvm,
        nvidia_modeset] (role driver)
      plan: []
      findings: []
      reboot_required: false
      version: ""
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.states import ERROR
from ansible_collections.gpu.fleet.plugins.module_utils._catalog.variables import SHARED
from ansible_collections.gpu.fleet.plugins.module_utils._plan.role_result import published
from ansible_collections.gpu.fleet.plugins.plugin_utils._check_variables import check_variables


def wrong_variables(values: Mapping[str, Any], specs: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """See the documentation above."""
    found = check_variables(values, specs, SHARED)
    return {role: published(ERROR, "; ".join(told)) for role, told in found.items()}


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"wrong_variables": wrong_variables}
