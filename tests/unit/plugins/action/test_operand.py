# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of gpu.fleet.operand: how often it writes, and how it ends."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.action import operand

THROTTLED = "Failed to apply object: (429)\nReason: Too Many Requests\n"
CONFLICT = (
    'Failed to apply object: (409)\nReason: Conflict\nconflict with \\"kubectl\\" using v1: '
    '{\\"field\\":\\".spec.replicas\\"}'
)
LOST = "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"
FORBIDDEN = "Failed to apply object: (403)\nReason: Forbidden\n"
STEP = {"target": "Namespace gpu-fleet", "before": None}
LEFT = {"plan": {"steps": [STEP]}, "apply": ["left"], "delete": []}
DONE = {"plan": {"steps": []}, "apply": [], "delete": []}
WRITTEN = {"changed": True}


class Action(operand.ActionModule):
    """Runs modules from a list of (name, result)."""

    def __init__(self, script):
        self.script = list(script)
        self.sent = []

    def _access(self):
        return {}

    def _writes(self, apply, delete):
        return [{"resource_definition": apply + delete}]

    def _execute_module(self, module_name="operand", module_args=None, task_vars=None):
        name, result = self.script.pop(0)
        assert module_name == ("kubernetes.core.k8s" if name == "write" else "operand")
        if name == "write":
            self.sent.append(module_args["resource_definition"])
        return result


def refused(message):
    return ("write", {"failed": True, "msg": message})


# what modules answer -> message of the failure, empty for none; what was sent
CASES = {
    "written": ([("write", WRITTEN), ("look", DONE)], "", [["all"]]),
    "throttled once": (
        [refused(THROTTLED), ("look", LEFT), ("write", WRITTEN), ("look", DONE)],
        "",
        [["all"], ["left"]],
    ),
    "lost, but carried out": (
        [refused("('Connection aborted.', RemoteDisconnected())"), ("look", DONE)],
        "",
        [["all"]],
    ),
    "owned by another": ([refused(CONFLICT)], ".spec.replicas: owned by field manager kubectl", [["all"]]),
    "forbidden": ([refused(FORBIDDEN)], "Forbidden", [["all"]]),
    "throttled for ever": ([*[refused(THROTTLED), ("look", LEFT)] * 5, refused(THROTTLED)], "Too Many", None),
    "undone by another": ([("write", WRITTEN), ("look", LEFT)], "was written, but is still different", [["all"]]),
    "cannot look": ([("write", WRITTEN), ("look", {"failed": True, "msg": "gone"})], "gone", [["all"]]),
}


@pytest.mark.parametrize(("script", "message", "sent"), CASES.values(), ids=CASES)
def test_writes(script, message, sent, monkeypatch):
    monkeypatch.setattr(operand.time, "sleep", lambda _seconds: None)
    action = Action(script)
    result = action._bring_about(["all"], [], {})
    assert bool(result) is bool(message)
    assert message in result.get("msg", "")
    assert action.script == []
    assert sent in (None, action.sent)
