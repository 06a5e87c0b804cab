# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.waves."""

from __future__ import annotations

DOCUMENTATION = r"""
name: waves
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: Hosts in groups that are changed one after the other
description:
  - Splits hosts into groups, so that no more than a number or a share of them is changed at a time.
positional: _input, most
options:
  _input:
    description: Names of the hosts.
    type: list
    elements: str
    required: true
  most:
    description: How many at a time, as a number or as a share of O(total) such as V(25%), rounded down, at least one.
    type: str
    required: true
  total:
    description: How many hosts a share is of.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Show the groups
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts | gpu.fleet.waves('25%', total=groups.gpu_hosts | length) }}"
"""

RETURN = r"""
_value:
  description: The groups, in the order of the hosts.
  type: list
  elements: list
  sample: [[gpu-a, gpu-b], [gpu-c]]
"""

from collections.abc import Callable, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpu.fleet.plugins.module_utils._plan import mig_nodes


def waves(hosts: Sequence[str], most: str, *, total: int) -> list[list[str]]:
    """See DOCUMENTATION."""
    try:
        return mig_nodes.waves(hosts, str(most), total)
    except ValueError as error:
        raise AnsibleFilterError(f"waves: {error}") from error


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"waves": waves}
