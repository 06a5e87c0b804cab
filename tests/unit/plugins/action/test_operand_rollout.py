# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of gpu.fleet.operand_rollout: what it shows while it waits, and what it hands from round to round."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.gpu.fleet.plugins.action import operand_rollout

READY = {"node": "a", "state": "ready", "reason": ""}
WAITS = {"node": "b", "state": "not_ready", "reason": "no pod yet"}


def answer(waited, *, over=False):
    rows = [READY, READY if over else WAITS]
    return {"waited": waited, "bound": 240, "over": over, "nodes": rows, "so_far": {"waited": waited}}


class Action(operand_rollout.ActionModule):
    """Runs the module from a list of results."""

    def __init__(self, script, **arguments):
        self.script = list(script)
        self.sent, self.shown = [], []
        self._display = SimpleNamespace(display=self.shown.append)
        self._task = SimpleNamespace(args={"name": "plugin", **arguments})

    def _execute_module(self, module_args=None, task_vars=None):
        self.sent.append(module_args)
        return self.script.pop(0)


def test_a_rollout_that_is_over_at_once_costs_one_run_and_shows_nothing():
    action = Action([answer(0, over=True)])
    assert action._rounds({})["over"]
    assert (len(action.sent), action.shown) == (1, [])


def test_every_round_is_shown_and_told_to_the_next():
    action = Action([answer(10), answer(30), answer(45, over=True)])
    assert action._rounds({})["waited"] == 45
    assert [(a["pause_after"], a["so_far"]) for a in action.sent] == [
        (10, {}), (20, {"waited": 10}), (30, {"waited": 30}),
    ]  # fmt: skip
    assert action.shown == [
        "plugin: 1 of 2 nodes ready after 10 s of 240 s; b: no pod yet",
        "plugin: 1 of 2 nodes ready after 30 s of 240 s; b: no pod yet",
    ]


# results of the module -> what the task ends with
ENDS = {
    "failed at once": [{"failed": True, "msg": "no cluster"}],
    "failed later": [answer(10), {"failed": True, "msg": "no cluster"}],
}


@pytest.mark.parametrize("script", ENDS.values(), ids=ENDS)
def test_a_failure_ends_it(script):
    assert Action(script)._rounds({}) == {"failed": True, "msg": "no cluster"}


def test_a_task_that_pauses_itself_gets_its_own_round():
    action = Action([answer(5)], pause_after=5)
    assert action._rounds({})["over"] is False
    assert (action.sent[0]["pause_after"], action.shown) == (5, [])
