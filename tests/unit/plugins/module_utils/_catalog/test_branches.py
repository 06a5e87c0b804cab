# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every row of the branch catalog is walked: order, releases, state by date, known faults."""

from __future__ import annotations

import re
from datetime import date

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog import branches
from ansible_collections.gpu.fleet.plugins.module_utils._plan.versions import is_older

RELEASE = r"\d{3}\.\d+(\.\d+)?"


@pytest.mark.parametrize("row", branches.BRANCHES, ids=lambda b: str(b.number))
def test_a_branch_is_complete(row):
    assert row.kind in (branches.LTSB, branches.PRODUCTION, branches.NEW_FEATURE)
    for release in filter(None, (row.first, row.last)):
        assert re.fullmatch(RELEASE, release)
        assert release.startswith(f"{row.number}.")
    assert not (row.first and row.last and is_older(row.last, row.first))
    assert re.fullmatch(r"1[1-9]\.\d", row.cuda)
    assert row.support_end is None or re.fullmatch(r"20\d\d(-\d\d)?|ended", row.support_end)
    assert row.support_end or row.kind == branches.NEW_FEATURE
    assert row.source
    assert date.fromisoformat(row.as_of)


def test_branches_rise_and_so_does_their_cuda():
    numbers = [b.number for b in branches.BRANCHES]
    assert numbers == sorted(set(numbers))
    cuda = [tuple(map(int, b.cuda.split("."))) for b in branches.BRANCHES]
    assert cuda == sorted(cuda)
    assert branches.branch_of(branches.DEFAULT_BRANCH).kind == branches.PRODUCTION


# Branch, day -> state.
STATES = {
    (470, date(2024, 7, 31)): "ltsb",
    (470, date(2024, 8, 1)): "end_of_life",
    (515, date(2024, 1, 1)): "end_of_life",
    (535, date(2026, 12, 1)): "end_of_life",
    (550, date(2025, 12, 31)): "production",
    (550, date(2026, 1, 1)): "end_of_life",
    (580, date(2026, 12, 1)): "ltsb",
    (595, date(2026, 12, 1)): "production",
    (595, date(2027, 4, 1)): "end_of_life",
    (615, date(2030, 1, 1)): "new_feature",
    (620, date(2029, 9, 30)): "ltsb",
}


@pytest.mark.parametrize(("asked", "state"), STATES.items(), ids=str)
def test_state_of(asked, state):
    number, day = asked
    assert branches.state_of(branches.branch_of(number), day) == state


@pytest.mark.parametrize("row", branches.KNOWN_BAD, ids=lambda r: r.versions[0])
def test_a_fault_is_complete(row):
    assert row.versions
    assert all(re.fullmatch(RELEASE, v) and branches.branch_of(int(v[:3])) for v in row.versions)
    assert not row.instead or all(is_older(v, row.instead) for v in row.versions)
    assert all(first <= last for first, last in row.devices)
    assert row.source
    assert date.fromisoformat(row.as_of)


# Version, GPUs -> beginnings of what is wrong.
FAULTS = {
    ("570.158.01", ()): ["pods wait"],
    ("570.124.06", (0x2330,)): ["pods wait"],
    ("570.124.06", (0x2330, 0x2901)): ["pods wait", "HGX B200"],
    ("570.133.20", (0x2901,)): ["pods wait", "nvidia-smi"],
    ("595.71.05", (0x2330,)): [],
    ("595.71.05", (0x2BB5,)): ["the GPU may fall"],
    ("525.85.12", ()): ["the GPU's own"],
    ("580.178.04", (0x2901,)): [],
}


@pytest.mark.parametrize(("asked", "found"), FAULTS.items(), ids=str)
def test_known_bad(asked, found):
    version, devices = asked
    rows = branches.known_bad(version, devices)
    assert [row.what.startswith(words) for row, words in zip(rows, found)] == [True] * len(found)
    assert len(rows) == len(found)
