# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.validation_results."""

from __future__ import annotations

DOCUMENTATION = r"""
name: validation_results
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: What a read-only validation says about the roles of a host
description:
  - Gives role to result, in the form in which roles publish it.
positional: _input
options:
  _input:
    description: The result of M(gpu.fleet.host_validation) in check mode.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the host's roles
  ansible.builtin.debug:
    msg: "{{ proof | gpu.fleet.validation_results }}"
"""

RETURN = r"""
_value:
  description: Role to result.
  type: dict
  sample: {driver: {state: ready, reason: "", plan: [], findings: [], reboot_required: false, version: ""}}
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._plan.states import results_of_validation


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"validation_results": results_of_validation}
