# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.operand_result."""

from __future__ import annotations

DOCUMENTATION = r"""
name: operand_result
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: What the rollout of an operand means for one host
description:
  - Gives the result that the role of an operand publishes for a host.
positional: _input
options:
  _input:
    description: RV(gpu.fleet.node_labels#module:nodes), or an empty list where a role runs alone.
    type: list
    elements: dict
    required: true
  host:
    description: Name of the host in the inventory.
    type: str
    required: true
  state:
    description: The role's state.
    type: str
    choices: [present, absent]
    required: true
  applied:
    description: The result of M(gpu.fleet.operand).
    type: dict
    required: true
  rollout:
    description: The result of M(gpu.fleet.operand_rollout).
    type: dict
    required: true
  version:
    description: The image.
    type: str
    default: ''
  hosts:
    description: All hosts that get a result, where a playbook runs the role for one of them.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Show the state of this host's node
  ansible.builtin.debug:
    msg: >-
      {{ gpu_fleet_nodes | gpu.fleet.operand_result(host=inventory_hostname, state='present', applied=applied,
      rollout=rollout) }}
"""

RETURN = r"""
_value:
  description:
    - State, reason, and the other keys of a role's result; whether the role has to fail (C(waits)); what belongs to no
      single host (C(cluster)); the results of all O(hosts) (C(hosts)).
  type: dict
  sample:
    state: ready
    reason: ""
    plan: []
    findings: []
    reboot_required: false
    version: ""
    waits: false
    cluster: {plan: [], findings: []}
    hosts: {}
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._plan.operands import operand_result


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"operand_result": operand_result}
