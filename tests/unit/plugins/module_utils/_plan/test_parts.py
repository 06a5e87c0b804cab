# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which roles tags choose."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.parts import ALL, PARTS
from ansible_collections.gpu.fleet.plugins.module_utils._catalog.states import CLUSTER_ROLES, HOST_ROLES
from ansible_collections.gpu.fleet.plugins.module_utils._plan.parts import chosen_parts

# --tags, --skip-tags -> roles
CASES = {
    "none": (["all"], [], ALL),
    "everything with a tag": (["tagged"], [], ALL),
    "ours as a whole": (["gpu_fleet"], [], ALL),
    "driver": (["driver"], [], ("prereq", "driver")),
    "two": (["gfd", "driver"], [], ("prereq", "driver", "gfd")),
    "mig brings what shows it": (
        ["mig"], [], ("prereq", "mig", "toolkit", "validation", "device_plugin", "dcgm", "gfd"),
    ),
    "mig of the host alone": (["mig"], ["cluster", "toolkit"], ("prereq", "mig", "validation")),
    "hosts": (["hosts"], [], HOST_ROLES),
    "all but the cluster": (["all"], ["cluster"], HOST_ROLES),
    "all but driver keeps prereq": (["all"], ["driver"], tuple(r for r in ALL if r != "driver")),
    "a tag of somebody else": (["web"], [], ()),
    "one of ours and one of somebody else": (["web", "gfd"], [], ("gfd",)),
    "somebody else's is skipped": (["all"], ["web"], ALL),
    "everything is skipped": (["driver"], ["hosts"], ()),
    "untagged": (["untagged"], [], ()),
}  # fmt: skip


@pytest.mark.parametrize(("tags", "skip", "roles"), CASES.values(), ids=CASES)
def test_chosen(tags, skip, roles):
    found = chosen_parts(tags, skip)
    assert tuple(found["roles"]) == tuple(roles)
    assert (*found["hosts"], *found["cluster"]) == tuple(roles)
    assert set(found["cluster"]) <= set(CLUSTER_ROLES)
    assert found["whole"] is (len(roles) == len(ALL))
    assert bool(found["told"]) is not found["whole"]


def test_a_tag_that_is_none_of_ours_is_told_with_those_there_are():
    told = chosen_parts(["drvier"])["told"]
    assert "the tags drvier choose no part" in told
    assert all(name in told for name in PARTS)


def test_every_role_is_a_part():
    assert set(PARTS) == set(ALL)
