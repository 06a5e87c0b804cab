# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of the host program has to be put on a host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import Service
from ansible_collections.gpu.fleet.plugins.module_utils._plan.host_program import (
    PACKAGE,
    ProgramFile,
    ProgramHost,
    ProgramWish,
    plan_host_program,
)

UNIT = "/etc/systemd/system/a.path"
FILE = ProgramFile("d1", 0o644)
WISH = ProgramWish("present", {"gpu_fleet/a.py": "s1", "yaml/b.py": "s2"}, {UNIT: FILE}, ("a.path",), ("a.path",))
BARE = ProgramHost({}, {}, {"a.path": Service("a.path", "not-found", "inactive", "")}, (), True)
RECORD = (PACKAGE, UNIT, "unit:a.path")
READY = ProgramHost(
    WISH.package, WISH.files, {"a.path": Service("a.path", "loaded", "active", "enabled")}, RECORD, True
)
ABSENT = replace(WISH, state="absent")


@pytest.mark.parametrize(
    ("wish", "host", "steps"),
    [
        (WISH, BARE, [f"install {PACKAGE}", f"write {UNIT}", "enable a.path", "start a.path"]),
        (WISH, READY, []),
        (WISH, replace(READY, package={**WISH.package, "yaml/b.py": "other"}), [f"install {PACKAGE}"]),
        (WISH, replace(READY, package={**WISH.package, "gpu_fleet/old.py": "s3"}), [f"install {PACKAGE}"]),
        (WISH, replace(READY, files={UNIT: ProgramFile("d1", 0o600)}), [f"write {UNIT}"]),
        (WISH, replace(READY, services={"a.path": Service("a.path", "loaded", "failed", "enabled")}), ["start a.path"]),
        (
            WISH,
            replace(READY, services={"a.path": Service("a.path", "loaded", "active", "disabled")}),
            ["enable a.path"],
        ),
        (
            WISH,
            replace(READY, files={UNIT: FILE, "/etc/old": FILE}, owned=(*RECORD, "/etc/old")),
            ["remove /etc/old"],
        ),
        (WISH, replace(READY, files={UNIT: FILE, "/etc/foreign": FILE}), []),
        (ABSENT, READY, ["disable a.path", f"remove {UNIT}", f"remove {PACKAGE}"]),
        (ABSENT, replace(READY, owned=()), []),
        (ABSENT, BARE, []),
    ],
)
def test_plan(wish, host, steps):
    assert [f"{s.action} {s.target}" for s in plan_host_program(wish, host).steps] == steps


def test_a_host_without_python_is_refused_with_the_command():
    plan = plan_host_program(WISH, replace(BARE, python=False))
    assert plan.blocked
    assert plan.findings[0].id == "GPU-ANS-101"
    assert "apt-get install python3" in plan.message()


def test_what_differs_is_counted():
    plan = plan_host_program(WISH, replace(READY, package={"yaml/b.py": "other", "old": "x"}))
    assert plan.steps[0].before == "2 of 2 files differ, 1 too many"
