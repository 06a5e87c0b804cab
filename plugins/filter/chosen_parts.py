# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gpu.fleet.chosen_parts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: chosen_parts
author: gpu.fleet contributors (!UNKNOWN)
version_added: 0.1.0
short_description: Which roles a playbook runs, from Ansible's tags
description:
  - Gives the roles that C(--tags) and C(--skip-tags) choose in the playbooks of this collection.
  - A part brings along what it needs. Without tags all roles run. A tag that is no part of ours chooses nothing.
positional: _input
options:
  _input:
    description: The tags that were asked for, C(ansible_run_tags).
    type: list
    elements: str
    required: true
  skip:
    description: The tags that were to be skipped, C(ansible_skip_tags).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Show what runs
  ansible.builtin.debug:
    msg: "{{ ansible_run_tags | gpu.fleet.chosen_parts(skip=ansible_skip_tags) }}"
"""

RETURN = r"""
_value:
  description: The roles of hosts and cluster in their order, whether that is all, and in words what is left.
  type: dict
  sample:
    roles: [prereq, driver]
    hosts: [prereq, driver]
    cluster: []
    whole: false
    told: "by tags, this run has only: prereq, driver"
"""

from collections.abc import Callable, Iterable
from typing import Any

from ansible_collections.gpu.fleet.plugins.module_utils._plan.parts import chosen_parts


def filtered(run_tags: Iterable[str], skip: Iterable[str] = ()) -> dict[str, Any]:
    """See chosen_parts()."""
    return chosen_parts(run_tags, skip)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> filter."""
        return {"chosen_parts": filtered}
