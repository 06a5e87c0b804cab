# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.operand_error."""

from __future__ import annotations

DOCUMENTATION = r"""
name: operand_error
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: What an operand that failed as a whole means for hosts
description:
  - Gives the results of all hosts where the role of an operand failed before it could publish them.
positional: _input, error
options:
  _input:
    description: Names of the hosts in the inventory.
    type: list
    elements: str
    required: true
  error:
    description: What went wrong.
    type: str
    required: true
  findings:
    description: The findings of the module that failed.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Record that an operand failed
  ansible.builtin.set_fact:
    results: "{{ ansible_play_hosts | gpu.fleet.operand_error('the cluster cannot be reached') }}"
"""

RETURN = r"""
_value:
  description: Host to result, in the form in which roles publish theirs.
  type: dict
  sample:
    gpu-a:
      state: error
      reason: the cluster cannot be reached
      plan: []
      findings: []
      reboot_required: false
      version: ""
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._plan.operands import error_result


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"operand_error": error_result}
