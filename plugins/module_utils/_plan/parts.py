# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which roles a playbook runs, from the tags that Ansible was given. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._catalog.parts import ALL, EVERYTHING, GROUPS, PARTS
from .._catalog.states import CLUSTER_ROLES, HOST_ROLES

TAGS = {**GROUPS, **PARTS}


def chosen_parts(run_tags: Iterable[str], skip_tags: Iterable[str] = ()) -> dict[str, Any]:
    """What runs: ``hosts`` and ``cluster`` are roles in the order of site, ``roles`` both; ``whole``: nothing is left
    out. ``told`` says it in words, empty for the whole.

    A tag that is no part of ours chooses nothing, as a tag of somebody else's playbook that imports this one has to.
    """
    wanted = list(run_tags)
    picked = {role for tag in wanted for role in (ALL if tag in EVERYTHING else TAGS.get(tag, ()))}
    # What a part brings along is not skipped with it: without driver is not without prereq.
    skipped = {role for tag in skip_tags for role in GROUPS.get(tag, (tag,))}
    roles = [role for role in ALL if role in picked and role not in skipped]
    return {
        "roles": roles,
        "hosts": [role for role in roles if role in HOST_ROLES],
        "cluster": [role for role in roles if role in CLUSTER_ROLES],
        "whole": len(roles) == len(ALL),
        "told": _told(roles, wanted),
    }


def _told(roles: list[str], wanted: list[str]) -> str:
    if len(roles) == len(ALL):
        return ""
    if roles:
        return f"by tags, this run has only: {', '.join(roles)}"
    return f"the tags {', '.join(wanted)} choose no part of gpu.fleet; its parts are {', '.join(TAGS)}"
