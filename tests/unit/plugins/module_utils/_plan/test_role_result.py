# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of modules' results, and what a role publishes after them."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.role_result import role_result

STEP = {"action": "install", "target": "nvidia-open"}
WARNING = {"id": "GPU-KRN-026", "severity": "warning", "summary": "versions differ"}
RAN = {"changed": False, "plan": {"steps": []}, "findings": []}
CHANGED = {**RAN, "plan": {"steps": [STEP]}, "findings": [WARNING], "version": "595.71.05"}
REBOOT = {**RAN, "reboot_required": True}
OTHER_OS = {**RAN, "ignored": "the distribution is not supported"}
SKIPPED = {"changed": False, "skipped": True}

# results, what the role says -> state, reason
STATES = {
    "nothing differs": ([RAN], {}, "ready", ""),
    "nothing ran": ([SKIPPED, {}], {}, "ready", ""),
    "a warning is the reason": ([RAN, CHANGED], {}, "ready", "versions differ"),
    "removed": ([RAN], {"state": "absent"}, "disabled", "removed"),
    "no layout": ([SKIPPED], {"disabled": "no layout is set"}, "disabled", "no layout is set"),
    "a reboot is left": ([REBOOT, RAN], {}, "not_ready", "a reboot is required"),
    "a reboot is left, with a finding": ([{**REBOOT, "findings": [WARNING]}], {}, "not_ready", "versions differ"),
    "a restart is left": ([CHANGED], {"not_ready": "restart it"}, "not_ready", "restart it"),
    "a module leaves the host alone": ([OTHER_OS], {}, "ignored", OTHER_OS["ignored"]),
    "left alone, though to be removed": ([OTHER_OS], {"state": "absent"}, "ignored", OTHER_OS["ignored"]),
    "no GPU": ([SKIPPED], {"ignored": "no GPU", "disabled": "no layout is set"}, "ignored", "no GPU"),
    "failed before its reboot": ([REBOOT], {"error": "no package"}, "error", "no package"),
    "failed without a plan": ([{"failed": True, "msg": "no sudo"}], {"error": "no sudo"}, "error", "no sudo"),
}


@pytest.mark.parametrize(("results", "words", "state", "reason"), STATES.values(), ids=STATES)
def test_state_and_reason(results, words, state, reason):
    found = role_result(results, **words)
    assert (found["state"], found["reason"]) == (state, reason)


def test_the_rest_is_joined_in_order():
    second = {**RAN, "plan": {"steps": [{"action": "write"}]}, "reboot_required": True}
    found = role_result([CHANGED, SKIPPED, second])
    assert found["plan"] == [STEP, {"action": "write"}]
    assert found["findings"] == [WARNING]
    assert found["reboot_required"] is True
    assert found["version"] == "595.71.05"
