# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.unread_variables."""

from __future__ import annotations

DOCUMENTATION = r"""
name: unread_variables
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: Variables of a host that nothing reads
description:
  - Gives a warning finding for each variable whose name looks like one of this collection and is none, such as a slip
    of the pen.
positional: _input
options:
  _input:
    description: Names of the host's variables.
    type: list
    elements: str
    required: true
  known:
    description: Names of the roles' variables.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Look for slips of the pen
  ansible.builtin.debug:
    msg: "{{ ['driver_versoin'] | gpu.fleet.unread_variables(known=['driver_version']) }}"
"""

RETURN = r"""
_value:
  description: The findings.
  type: list
  elements: dict
  sample:
    - id: GPU-ANS-102
      severity: warning
      summary: variable driver_versoin is set, and nothing reads it
      wanted: a variable of gpu.fleet (README.md, or the role's meta/argument_specs.yml)
      found: driver_versoin (inventory or extra variables)
      remedy: write driver_version
      source: gpu.fleet
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._plan.variables import unread_variables


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"unread_variables": unread_variables}
