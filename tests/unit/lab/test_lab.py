# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from dev import lab_verb, machine
from lab import cgroups, fleet, labs, processes

HYBRID = """\
30 23 0:26 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
31 23 0:27 / /sys/fs/cgroup/systemd rw,nosuid - cgroup cgroup rw,xattr,name=systemd
34 23 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:13 - cgroup cgroup rw,cpu,cpuacct
35 23 0:31 / /sys/fs/cgroup/memory rw,nosuid shared:14 - cgroup cgroup rw,memory
36 23 0:32 / /sys/fs/cgroup/cpuset rw,nosuid shared:15 - cgroup cgroup rw,cpuset,clone_children
40 23 0:40 / /proc rw - proc proc rw
"""
PURE = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
MOUNTED = {
    "hybrid": (HYBRID, {"": "unified", "cpu,cpuacct": "cpu,cpuacct", "memory": "memory", "cpuset": "cpuset"}),
    "v2 only": (PURE, {"": "cgroup"}),
}
WRONG = ("gpu1", "gpu1=sid:h100x2", "Gpu1=bookworm:h100x2", "much-too-long=trixie", "gpu1=bookworm:")


@pytest.mark.parametrize(("text", "found"), MOUNTED.values(), ids=MOUNTED)
def test_hierarchies_of_the_machine(text, found):
    assert {h.controllers: h.mount.name for h in cgroups.hierarchies(text)} == found


def test_a_process_is_known_by_its_start_time_too():
    process = subprocess.Popen(["sleep", "60"])
    who = processes.identity(process.pid)
    assert processes.alive(who)
    assert process.pid in processes.children(os.getpid())
    assert not processes.alive(processes.Identity(who.pid, who.start + 1, who.boot, who.namespace))
    process.kill()
    process.wait()
    assert not processes.alive(who)


def test_one_of_another_boot_is_dead_and_one_of_another_namespace_cannot_be_judged():
    me = processes.identity()
    assert not processes.alive(processes.Identity(me.pid, me.start, "another boot", me.namespace))
    assert processes.alive(processes.Identity(me.pid, me.start + 1, me.boot, "pid:[1]"))


def test_only_labs_of_dead_owners_are_swept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    me = processes.identity()
    for name, start in (("aaaa", me.start), ("bbbb", me.start + 1)):
        (labs.root() / name).mkdir()
        labs.record(labs.root() / name, processes.Identity(me.pid, start, me.boot, me.namespace))
    assert labs.sweep() == ["bbbb"]
    assert [folder.name for folder in labs.running()] == ["aaaa"]


def live_lab(name):
    folder = labs.root() / name
    folder.mkdir()
    labs.record(folder, processes.identity())
    return folder


def told(capsys):
    assert lab_verb.status(SimpleNamespace(lab=None)) == 0
    return capsys.readouterr().out


# what is done to a lab while `lab status` looks at it -> the lab as it is told, None for an error
MEANWHILE = {
    "nothing": (lambda folder: None, "lab aaaa of another checkout, ends with process"),
    "its record goes": (lambda folder: (folder / labs.RECORD).unlink(), "lab aaaa is being removed\n"),
    "it goes as a whole": (shutil.rmtree, "lab aaaa is being removed\n"),
    "a host's file is cut": (
        lambda folder: [(folder / labs.RECORD).unlink(), (folder / "hosts/h/host.json").write_text("{")],
        "lab aaaa is being removed\n",
    ),
    "it lives, and is broken": (lambda folder: (folder / "hosts/h/host.json").write_text("{"), None),
}


@pytest.mark.parametrize(("change", "said"), MEANWHILE.values(), ids=MEANWHILE)
def test_status_tells_of_a_lab_that_ends_meanwhile(tmp_path, monkeypatch, capsys, change, said):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = live_lab("aaaa")
    (folder / "hosts/h").mkdir(parents=True)
    running = labs.running()
    monkeypatch.setattr(labs, "running", lambda: running)
    change(folder)
    if said is None:
        with pytest.raises(ValueError, match="Expecting"):
            told(capsys)
    else:
        assert told(capsys).startswith(said)


def test_a_lab_that_is_being_removed_has_no_record_while_its_processes_end(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = live_lab("aaaa")
    seen = []
    monkeypatch.setattr(cgroups, "kill_and_remove", lambda name: seen.append((name, labs.running(), folder.exists())))
    labs.remove(folder)
    assert seen == [("aaaa", [], True)]
    assert not folder.exists()


def test_a_host_is_asked_for_by_name_suite_and_profile():
    assert fleet.HostSpec.parse("gpu1=trixie:a100x2") == fleet.HostSpec("gpu1", "trixie", "a100x2")
    assert fleet.HostSpec.parse("bare=bookworm").profile == ""


@pytest.mark.parametrize("text", WRONG)
def test_a_host_asked_for_otherwise_is_refused(text):
    with pytest.raises(machine.Unfit, match="NAME=SUITE:PROFILE"):
        fleet.HostSpec.parse(text)
