# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.node_rows."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_rows
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: By what the nodes of hosts are found
description:
  - Gives the rows for O(gpu.fleet.mig_nodes#module:hosts) out of the variables of hosts.
positional: _input
options:
  _input:
    description: The variables of each host.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Pause the operands of all hosts
  gpu.fleet.mig_nodes:
    state: paused
    hosts: "{{ ansible_play_hosts | map('extract', hostvars) | gpu.fleet.node_rows }}"
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
_value:
  description: One row a host.
  type: list
  elements: dict
  sample:
    - name: gpu-a
      node: ""
      names: [gpu-a]
      addresses: [198.51.100.11]
      config: all-balanced
      result: success
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cluster_hosts import node_rows


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"node_rows": node_rows}
