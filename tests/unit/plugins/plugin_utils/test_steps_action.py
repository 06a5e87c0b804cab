# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action that carries out what a module plans: how often it runs the module, and what it makes of failures."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.gpu.fleet.plugins.plugin_utils._host_program import manifest, program_files
from ansible_collections.gpu.fleet.plugins.plugin_utils._steps_action import StepsAction

STEP = {"action": "install", "target": "a", "before": None, "after": "1", "reason": "it is not installed"}
APT = {"module": "ansible.builtin.apt", "args": {"name": ["a=1"]}}


def planned(*steps: dict, calls: tuple[dict, ...] = ()) -> dict:
    return {"changed": bool(steps), "plan": {"steps": list(steps), "calls": list(calls)}, "version": "1"}


class Action(StepsAction):
    """Answers are given beforehand; ``asked`` remembers what was run."""

    def __init__(self, answers: list[dict], *, check_mode: bool = False) -> None:
        self.answers, self.asked = list(answers), []
        self._task = SimpleNamespace(check_mode=check_mode)

    def _execute_module(self, module_name=None, module_args=None, task_vars=None, **_rest):
        self.asked.append(module_name or "itself")
        return self.answers.pop(0)

    def _run_builtin(self, name, args, task_vars):
        return self._execute_module(module_name=name)

    def bring(self) -> dict:
        return self.brought({})


@pytest.mark.parametrize(
    ("answers", "check_mode", "asked", "changed"),
    [
        ([planned()], False, ["itself"], False),
        ([planned(STEP, calls=(APT,))], True, ["itself"], True),
        ([planned(STEP, calls=(APT,)), {}, planned()], False, ["itself", "ansible.builtin.apt", "itself"], True),
    ],
)
def test_runs(answers, check_mode, asked, changed):
    action = Action(answers, check_mode=check_mode)
    result = action.bring()
    assert (action.asked, result["changed"]) == (asked, changed)
    assert result.get("failed", False) is False


def test_the_plan_is_the_first_one_and_the_rest_the_last():
    last = {**planned(), "version": "2"}
    result = Action([planned(STEP, calls=(APT,)), {}, last]).bring()
    assert result["plan"]["steps"] == [STEP]
    assert result["version"] == "2"


def test_a_blocked_plan_fails_after_one_run():
    action = Action([{**planned(STEP, calls=(APT,)), "failed": True, "msg": "GPU-PKG-104"}])
    assert action.bring()["failed"]
    assert action.asked == ["itself"]


def test_a_call_that_fails_ends_it_and_says_which():
    action = Action([planned(STEP, calls=(APT, APT)), {"failed": True, "msg": "dpkg was interrupted"}])
    result = action.bring()
    assert result["failed"]
    assert result["msg"] == "ansible.builtin.apt failed for a=1: dpkg was interrupted"
    assert action.asked == ["itself", "ansible.builtin.apt"]


def test_a_failure_of_a_package_manager_is_explained():
    said = "Error! Bad return status for module build on kernel: 6.1.0-57-amd64 (x86_64)\n"
    said += "Consult /var/lib/dkms/nvidia/595.71.05/build/make.log for more information.\n"
    answer = {
        "failed": True,
        "rc": 100,
        "msg": "E: Sub-process /usr/bin/dpkg returned an error code (1)",
        "stdout": said,
    }
    result = Action([planned(STEP, calls=(APT,)), answer]).bring()
    assert result["msg"] == (
        "ansible.builtin.apt failed for a=1: E: Sub-process /usr/bin/dpkg returned an error code (1) "
        "(DKMS could not build nvidia/595.71.05 for kernel 6.1.0-57-amd64. "
        "Remedy: see why: tail /var/lib/dkms/nvidia/595.71.05/build/make.log)"
    )
    assert result["failed_call"] == answer


def test_steps_that_are_left_are_no_success():
    result = Action([planned(STEP, calls=(APT,)), {}, planned(STEP)]).bring()
    assert result["failed"]
    assert result["msg"].startswith("every step was carried out, but install a is still needed")


def test_the_host_program_has_all_rooms_and_helpers():
    files = program_files()
    assert {"pynvml.py", "yaml/__init__.py", "tomlkit/__init__.py", "gpu_fleet/_host/program.py"} <= set(files)
    assert "gpu_fleet/_observe/texts/modinfo.py" in files
    assert {p.split("/")[1] for p in files if p.startswith("gpu_fleet/")} == {
        "_observe",
        "_plan",
        "_catalog",
        "_act",
        "_host",
    }
    assert all(len(digest) == 64 for digest in manifest(files).values())
