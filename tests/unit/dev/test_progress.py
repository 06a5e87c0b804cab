# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time

import pytest

from dev import progress


@pytest.fixture(autouse=True)
def log(tmp_path, monkeypatch):
    monkeypatch.setenv(progress.LOG_VARIABLE, str(tmp_path / "dev.log"))
    return tmp_path / "dev.log"


def test_what_a_command_says_goes_to_the_log_only(log, capfd):
    assert progress.run(["sh", "-c", "echo out; echo err >&2"]) == 0
    assert log.read_text().splitlines()[-2:] == ["out", "err"]
    assert capfd.readouterr().out == ""


def test_a_failure_shows_the_end_of_this_command_and_where_the_log_is(log):
    progress.run(["echo", "earlier"])
    with pytest.raises(progress.CommandFailed) as failure:
        progress.run(["sh", "-c", "seq 100; exit 3"])
    text = str(failure.value)
    assert "status 3" in text
    assert "    100" in text.splitlines()
    assert "earlier" not in text
    assert str(log) in text


def test_a_command_that_hangs_is_ended_with_its_children():
    begin = time.monotonic()
    with pytest.raises(progress.CommandFailed, match="had not ended after 0.3 s"):
        progress.run(["sh", "-c", "sleep 60 & wait"], timeout=0.3)
    assert time.monotonic() - begin < 10


def test_steps_show_their_time(capsys):
    with progress.step("outer"), progress.step("inner"):
        assert capsys.readouterr().out.endswith("inner ...")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(" s")
    assert "outer ... " in lines[1]


def test_a_step_that_fails_says_so(capsys):
    with pytest.raises(ValueError, match="x"), progress.step("outer"):
        raise ValueError("x")
    assert "outer ... failed after" in capsys.readouterr().out
