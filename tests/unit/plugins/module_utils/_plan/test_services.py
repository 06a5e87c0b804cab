# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units: enabled, started, started again, and left alone."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import Service
from ansible_collections.gpu.fleet.plugins.module_utils._plan.services import UnitWish, outdated, plan_unit

NAME = "nvidia-fabricmanager.service"
WISH = UnitWish(NAME, wanted=True, running=True, reason="GPUs wait for it")


def unit(active: str, enabled: str, loaded: str = "loaded") -> Service:
    return Service(NAME, loaded, active, enabled)


ON, OFF = unit("active", "enabled"), unit("inactive", "disabled")
LATER = UnitWish(NAME, True, False, "GPUs wait for it")
NEVER = UnitWish(NAME, False, True, "not wanted")
AGAIN = UnitWish(NAME, True, True, "GPUs wait for it", restart="its settings are newer", disrupts="gpu_workloads")


@pytest.mark.parametrize(
    ("found", "wish", "actions"),
    [
        (ON, WISH, []),
        (OFF, WISH, ["enable", "start"]),
        (None, WISH, ["enable", "start"]),
        (unit("inactive", "", "not-found"), WISH, ["enable", "start"]),
        (unit("failed", "enabled"), WISH, ["start"]),
        (unit("active", "disabled"), WISH, ["enable"]),
        (unit("inactive", "masked", "masked"), WISH, ["unmask", "enable", "start"]),
        (OFF, LATER, ["enable"]),
        (unit("active", "enabled-runtime"), WISH, []),
        # Nobody can enable a unit without an [Install] section; with a drop-in of ours it has one.
        (unit("inactive", "static"), WISH, ["start"]),
        (unit("inactive", "static"), UnitWish(NAME, True, True, "", drop_in=True), ["enable", "start"]),
        (unit("active", "static"), NEVER, ["stop"]),
        (ON, NEVER, ["disable", "stop"]),
        (OFF, NEVER, []),
        (None, NEVER, []),
        (None, UnitWish(NAME, False, False, "", coming=True), ["disable"]),
        (OFF, UnitWish(NAME, False, False, "", coming=True), []),
        (unit("inactive", "masked", "masked"), NEVER, []),
        (ON, AGAIN, ["restart"]),
        (OFF, AGAIN, ["enable", "start"]),
    ],
)
def test_smallest_change(found, wish, actions):
    work = plan_unit(found, wish)
    assert [s.action for s in work.steps] == actions
    assert len(work.calls) == bool(actions)


def test_a_restart_says_why_and_what_it_does_to_jobs():
    work = plan_unit(ON, AGAIN)
    assert (work.steps[0].reason, work.steps[0].disrupts) == ("its settings are newer", "gpu_workloads")
    assert work.calls[0].args == {"name": NAME, "state": "restarted"}


def test_systemd_reads_drop_ins_again_before_it_starts():
    wish = UnitWish(NAME, True, True, "", drop_in=True)
    assert plan_unit(OFF, wish).calls[0].args["daemon_reload"] is True


@pytest.mark.parametrize(
    ("started", "changed", "old"),
    [(100.0, 50.0, False), (100.0, 150.0, True), (None, 150.0, False), (100.0, None, False)],
)
def test_a_unit_that_started_before_its_file_was_changed(started, changed, old):
    times = {NAME: started} if started is not None else {}
    files = {"/etc/x": changed} if changed is not None else {}
    assert outdated(NAME, ("/etc/x",), started=times, changed=files) is old
