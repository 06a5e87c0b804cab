# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's refresh units are masked, or switched off where they are files, and given back."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._act.mask import RefreshUnits
from ansible_collections.gpu.fleet.plugins.module_utils._act.ownership import Ownership
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_refresh import FLEET, NVIDIA, UNITS, plan_refresh

FOLDER = "etc/systemd/system"
PATH, SERVICE = UNITS


def units_of(root):
    ownership = Ownership("toolkit", directory=str(root / "state"))
    return RefreshUnits(HostRoot(str(root)), ownership, run=lambda args: (0, "", ""))


def bring_about(root, refresh):
    """One run; the actions of its steps."""
    units = units_of(root)
    plan = plan_refresh(refresh, units.observe(), ours=units.ours())
    for step in plan.steps:
        units.act(step)
    again = units_of(root)
    assert plan_refresh(refresh, again.observe(), ours=again.ours()).steps == ()
    return [step.action for step in plan.steps]


def files(root):
    folder = root / FOLDER
    return {str(p.relative_to(folder)): p.is_symlink() for p in sorted(folder.rglob("*")) if not p.is_dir()}


@pytest.mark.parametrize("names", [(), (PATH,), UNITS], ids=["packages to come", "one file", "both files"])
def test_off_and_back(tmp_path, names):
    (tmp_path / FOLDER).mkdir(parents=True)
    for name in names:
        (tmp_path / FOLDER / name).write_text("[Unit]\n")
    before = files(tmp_path)
    actions = bring_about(tmp_path, FLEET)
    assert actions == ["switch_off_unit" if name in names else "mask_unit" for name in UNITS]
    for name in names:
        drop_in = (tmp_path / FOLDER / f"{name}.d/90-gpu-fleet.conf").read_text()
        assert f"ConditionPathExists=!/{FOLDER}/{name}.d/90-gpu-fleet.conf" in drop_in.splitlines()
    assert bring_about(tmp_path, NVIDIA) == ["unmask_unit", "unmask_unit"]
    assert files(tmp_path) == before


def test_a_drop_in_of_somebody_else_stays(tmp_path):
    other = tmp_path / FOLDER / f"{PATH}.d/10-mine.conf"
    other.parent.mkdir(parents=True)
    other.write_text("[Unit]\n")
    (tmp_path / FOLDER / PATH).write_text("[Unit]\n")
    bring_about(tmp_path, FLEET)
    bring_about(tmp_path, NVIDIA)
    assert other.exists()


def test_a_file_that_an_update_takes_away_is_masked(tmp_path):
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / PATH).write_text("[Unit]\n")
    bring_about(tmp_path, FLEET)
    (tmp_path / FOLDER / PATH).unlink()
    assert bring_about(tmp_path, FLEET) == ["mask_unit"]
    bring_about(tmp_path, NVIDIA)
    assert files(tmp_path) == {}
