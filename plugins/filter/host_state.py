# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.host_state."""

from __future__ import annotations

DOCUMENTATION = r"""
name: host_state
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: Whether operands may land on a host
description:
  - Gives V(ready), V(not_ready), V(ignored), V(planned) or V(unknown) for M(gpu.fleet.node_labels).
positional: _input
options:
  _input:
    description: Role to the result that it published for the host.
    type: dict
    required: true
  planned:
    description: Whether nothing was carried out, because of check mode.
    type: bool
    required: true
"""

EXAMPLES = r"""
- name: Show whether operands may land here
  ansible.builtin.debug:
    msg: "{{ {'driver': driver_result, 'mig': mig_result} | gpu.fleet.host_state(planned=ansible_check_mode) }}"
"""

RETURN = r"""
_value:
  description: The word.
  type: str
  sample: ready
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._plan.states import host_state


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"host_state": host_state}
