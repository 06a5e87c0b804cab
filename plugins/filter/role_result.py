# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.role_result."""

from __future__ import annotations

DOCUMENTATION = r"""
name: role_result
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: What a role publishes for a host
description:
  - Gives the result that a role publishes, from the results of its modules.
  - Of O(error), O(ignored), O(disabled) and O(not_ready) the first that is not empty decides the state. Without one the
    host is ready, unless a module wants a reboot.
positional: _input
options:
  _input:
    description: Registered results of modules, a failed one too. One that was skipped counts for nothing.
    type: list
    elements: dict
    required: true
  state:
    description: The role's state.
    type: str
    choices: [present, absent]
    default: present
  error:
    description: What went wrong.
    type: str
    default: ''
  ignored:
    description: Why the host is left alone. A module's own reason is found in its result.
    type: str
    default: ''
  disabled:
    description: Why there is nothing to do, other than O(state=absent).
    type: str
    default: ''
  not_ready:
    description: What is left to do.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Show the state of the driver
  ansible.builtin.debug:
    msg: "{{ ([driver] | gpu.fleet.role_result).state }}"
"""

RETURN = r"""
_value:
  description: State and reason, steps, findings, whether a reboot is required, and the version.
  type: dict
  sample: {state: ready, reason: "", plan: [], findings: [], reboot_required: false, version: 595.71.05}
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._plan.role_result import role_result


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"role_result": role_result}
