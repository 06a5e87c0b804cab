# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action that carries out what a module plans: how often it runs the module, and what it makes of failures."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.gpu.fleet.plugins.plugin_utils._host_program import manifest, program_files
from ansible_collections.gpu.fleet.plugins.plugin_utils._steps_action import StepsAction

STEP = {"action": "install", "target": "a", "before": None, "after": "1", "reason": "it is not installed"}
APT = {"module": "ansible.builtin.apt", "args": {"name": ["a=1"]}}


def planned(*steps: dict, calls: tuple[dict, ...] = ()) -> dict:
    return {"changed": bool(steps), "plan": {"steps": list(steps), "calls": list(calls)}, "version": "1"}


class Action(StepsAction):
    """Answers are given beforehand; ``asked`` remembers what was run."""

    def __init__(self, answers: list[dict], *, check_mode: bool = False, df: str | None = None) -> None:
        self.answers, self.asked, self.commands = list(answers), [], []
        self.df = FULL if df is None else df
        self._task = SimpleNamespace(check_mode=check_mode)
        self._connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/tmp/x"))

    def _execute_module(self, module_name=None, module_args=None, task_vars=None, **_rest):
        self.asked.append(module_name or "itself")
        return self.answers.pop(0)

    def _run_builtin(self, name, args, task_vars):
        self.args = args
        return self._execute_module(module_name=name)

    def _low_level_execute_command(self, command):
        self.commands.append(command)
        return {"rc": 0, "stdout": self.df, "stderr": ""}

    def _remove_tmp_path(self, path):
        self.removed = path

    def bring(self) -> dict:
        return self.run(task_vars={})


@pytest.fixture(autouse=True)
def _task_alone(monkeypatch):
    """What every action does before its own work wants a whole play."""
    monkeypatch.setattr(ActionBase, "run", lambda *_args, **_rest: {})


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


def test_a_secret_of_the_task_is_the_content_of_the_file_and_nowhere_else():
    copy = {"module": "ansible.builtin.copy", "args": {"dest": "/etc/x", "mode": "0400"}, "secret": "gridd_token"}
    action = Action([planned(STEP, calls=(copy,)), {}, planned()])
    action._task.args = {"gridd_token": "the-token"}
    result = action.bring()
    assert action.args == {"dest": "/etc/x", "mode": "0400", "content": "the-token"}
    assert "the-token" not in str(result)


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


def test_a_program_that_fails_is_quoted():
    call = {"module": "ansible.builtin.command", "args": {"argv": ["update-initramfs", "-u", "-k", "6.1"]}}
    answer = {"failed": True, "msg": "The command exited with a non-zero return code.", "stderr": "gzip: disk full\n"}
    result = Action([planned(STEP, calls=(call,)), answer]).bring()
    assert result["msg"] == "ansible.builtin.command failed for update-initramfs -u -k 6.1: gzip: disk full"


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


FULL = """\
Filesystem     1024-blocks     Used Available Capacity Mounted on
/dev/vda1         20480000  1000000  19480000       5% /
/dev/vda2          1000000   999996         4     100% /var
"""
COPY = {"module": "ansible.builtin.copy", "args": {"dest": "/var/lib/x", "content": "a"}}
DNF = {"module": "ansible.builtin.dnf", "args": {"name": ["a"]}}
ROOM = "/var has 4.0 KiB of 977 MiB free. Remedy: make room: du -xhd2 /var | sort -h | tail"

# call, what the builtin module answers -> what is told
NO_ROOM = {
    "apt": (
        APT,
        {
            "msg": "'apt-get install a=1' failed: E: You don't have enough free space in /var/cache/apt/archives/.",
            "stdout": "Need to get 412 MB of archives.\n"
            "After this operation, 1,433 MB of additional disk space will be used.\n",
        },
        "a file system is full for /var/cache/apt/archives/, 1,433 MB are needed: ",
    ),
    "dpkg": (
        APT,
        {
            "msg": "E: Sub-process /usr/bin/dpkg returned an error code (1)",
            "stdout": "Need to get 9 kB of archives.\nFetched 9 kB in 1s (9 kB/s)\n",
            "stderr": "dpkg: error processing archive /tmp/a.deb (--unpack):\n cannot copy extracted data for "
            "'./usr/lib/a' to '/usr/lib/a.dpkg-new': failed to write (No space left on device)",
        },
        "a file system is full for /usr/lib/a.dpkg-new, 9 kB are needed: ",
    ),
    "initramfs": (
        APT,
        {"msg": "E: Sub-process", "stdout": "cat: write error: No space left on device\nupdate-initramfs: failed"},
        "a file system is full: ",
    ),
    "dnf": (
        DNF,
        {"msg": "Disk Requirements:\n   At least 28MB more space needed on the /var filesystem."},
        "a file system is full for /var, 28MB are needed: ",
    ),
    "rpm": (
        DNF,
        {"msg": "installing package a-1.x86_64 needs 12MB more space on the /boot filesystem"},
        "a file system is full for /boot, 12MB are needed: ",
    ),
    "dnf's own files": (DNF, {"msg": "[Errno 28] No space left on device"}, "a file system is full: "),
    "copy": (
        COPY,
        {"msg": "failed to copy: [Errno 28] No space left on device: '/root/.ansible/tmp/x'"},
        "a file system is full for /var/lib/x: ",
    ),
}


@pytest.mark.parametrize(("call", "answer", "told"), NO_ROOM.values(), ids=NO_ROOM)
def test_a_full_file_system_is_named_with_what_is_free_needed_and_to_be_done(call, answer, told):
    action = Action([planned(STEP, calls=(call,)), {"failed": True, **answer}])
    said = action.bring()["msg"]
    assert f"({told}{ROOM}" in said
    (command,) = action.commands
    assert command.startswith("df -Pk -- ")
    assert command.endswith("/ /usr /var /boot /tmp; true")


def test_a_host_that_does_not_tell_how_full_it_is_leaves_the_rest():
    action = Action([planned(STEP, calls=(COPY,)), {"failed": True, **NO_ROOM["copy"][1]}], df="")
    assert "(a file system is full for /var/lib/x. Remedy: make room: du -xhd2 /var /usr /boot" in action.bring()["msg"]


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
