# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan says about itself."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.model import Finding, Plan, Step, join_plans

HARMLESS = Step("write", "/etc/a", None, "new", "it is missing")
REBOOT = Step("reboot", "host", "old", "new", "the module is busy", disrupts="host")
WARNING = Finding("GPU-HW-101", "warning", "s", "w", "f", "r")
ERROR = Finding("GPU-PKG-001", "error", "two repositories", "one", "two", "remove one")


@pytest.mark.parametrize(
    ("plan", "changed", "blocked", "disrupts"),
    [
        (Plan(), False, False, "nothing"),
        (Plan(steps=(HARMLESS,)), True, False, "nothing"),
        (Plan(steps=(REBOOT, HARMLESS)), True, False, "host"),
        (Plan(findings=(WARNING,)), False, False, "nothing"),
        (Plan(steps=(HARMLESS,), findings=(WARNING, ERROR)), True, True, "nothing"),
    ],
    ids=["empty", "harmless", "worst step counts", "a warning does not block", "an error blocks"],
)
def test_summary(plan, changed, blocked, disrupts):
    assert (plan.changed, plan.blocked, plan.disrupts) == (changed, blocked, disrupts)


def test_message_names_only_what_blocks():
    message = Plan(findings=(WARNING, ERROR)).message()
    assert message == "GPU-PKG-001: two repositories (wanted: one; found: two). Remedy: remove one"


def test_diff_has_one_line_a_step():
    diff = Plan(steps=(HARMLESS, REBOOT)).diff()
    assert diff == {"before": "/etc/a: None\nhost: old\n", "after": "/etc/a: new\nhost: new\n"}


def test_join_keeps_order():
    joined = join_plans([Plan(steps=(REBOOT,)), Plan(steps=(HARMLESS,), findings=(ERROR,))])
    assert joined == Plan(steps=(REBOOT, HARMLESS), findings=(ERROR,))


@pytest.mark.parametrize(
    "make", [lambda: Step("a", "b", None, None, "c", disrupts="all"), lambda: Finding("X", "bad", "", "", "", "")]
)
def test_unknown_words_are_refused(make):
    with pytest.raises(ValueError, match="wanted one of"):
        make()
