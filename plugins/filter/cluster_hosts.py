# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.cluster_hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_hosts
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: What the cluster has to know of hosts
description:
  - Gives the rows for O(gpu.fleet.node_labels#module:hosts) out of the variables of hosts.
  - Of the facts of M(gpu.fleet.gpu_info) only those are taken that labels and resources are predicted from, and only of
    hosts that are ready.
positional: _input
options:
  _input:
    description: The variables of each host, with what the roles published in C(gpu_fleet_results).
    type: list
    elements: dict
    required: true
  planned:
    description: Whether nothing was carried out, because of check mode.
    type: bool
    required: true
"""

EXAMPLES = r"""
- name: Label the nodes
  gpu.fleet.node_labels:
    hosts: "{{ ansible_play_hosts | map('extract', hostvars) | gpu.fleet.cluster_hosts(planned=false) }}"
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
      state: ready
      facts: {gpus: []}
      observed_at: "2026-11-30T22:12:24Z"
      relaid: false
      mig_config: all-balanced
      mig_state: success
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cluster_hosts import cluster_hosts


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"cluster_hosts": cluster_hosts}
