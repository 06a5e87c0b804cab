# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shutil
import threading

import pytest

from dev import cli, collection, machine, progress

OTHER = 'NAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\n'
OLD = 'NAME="Debian GNU/Linux"\nVERSION_ID="11"\nID=debian\n'
NEW = 'NAME="Debian GNU/Linux"\nVERSION_ID="13"\nID=debian\n'


@pytest.mark.parametrize(
    ("text", "found"), [(OTHER, "Ubuntu 24.04"), (OLD, "Debian GNU/Linux 11"), ("", "unknown system")]
)
def test_other_systems_are_refused_by_name(tmp_path, text, found):
    (tmp_path / "os-release").write_text(text)
    with pytest.raises(machine.Unfit, match=f"needs Debian 12 or 13, found {found}"):
        machine.require_debian("demo", tmp_path / "os-release")


def test_debian_13_is_accepted(tmp_path):
    (tmp_path / "os-release").write_text(NEW)
    machine.require_debian("demo", tmp_path / "os-release")


def test_missing_packages_are_found_by_program_and_file(tmp_path):
    programs = {"sh": "dash", "no-such-program": "one"}
    assert machine.missing_packages(programs, {str(tmp_path): "two", str(tmp_path / "absent"): "three"}) == [
        "one",
        "three",
    ]


def test_without_root_the_demo_says_what_to_do(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(machine.Unfit, match="needs root .* found uid 1000"):
        machine.require_root("demo")


@pytest.mark.parametrize("verb", [verb.name for verb in cli.VERBS])
def test_every_verb_has_help(verb, capsys):
    with pytest.raises(SystemExit) as end:
        cli.parser().parse_args([verb, "--help"])
    assert end.value.code == 0
    assert f"./dev {verb}" in capsys.readouterr().out


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """Five more logs than are kept, and a start of `./dev` that has none yet."""
    monkeypatch.setattr(collection, "LOCAL_CACHE", tmp_path)
    monkeypatch.setattr(progress, "set_log", lambda path: None)
    monkeypatch.delenv(progress.LOG_VARIABLE, raising=False)
    for number in range(cli.KEPT_LOGS + 5):
        log = tmp_path / f"logs/{number:02}/dev.log"
        log.parent.mkdir(parents=True)
        log.write_text("")
        os.utime(log.parent, (number, number))
    return tmp_path / "logs"


def test_the_oldest_logs_go(logs):
    cli._start_log("lint")
    assert sorted(path.name for path in logs.iterdir()) == [f"{n:02}" for n in range(5, cli.KEPT_LOGS + 5)]


def test_logs_that_another_verb_removes_at_the_same_time_are_no_failure(logs, monkeypatch):
    remove = shutil.rmtree

    def second(path):
        """What rmtree meets where another process was faster."""
        remove(path)
        remove(path)

    monkeypatch.setattr(shutil, "rmtree", second)
    (logs / "gone while it is looked at").symlink_to(logs / "nothing")
    cli._start_log("lint")
    assert sorted(path.name for path in logs.iterdir()) == [f"{n:02}" for n in range(5, cli.KEPT_LOGS + 5)]


def test_verbs_may_start_at_the_same_time(logs):
    failed = []

    def start():
        try:
            cli._start_log("lint")
        except OSError as error:
            failed.append(error)

    starts = [threading.Thread(target=start) for _time in range(8)]
    for one in starts:
        one.start()
    for one in starts:
        one.join()
    assert failed == []
