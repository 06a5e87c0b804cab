# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from types import SimpleNamespace

import pytest

from dev import machine, progress, suite
from dev.tally import Tally


def broken(error):
    def check():
        raise error

    return check


@pytest.mark.parametrize("error", [progress.CommandFailed("x"), machine.Unfit("x"), TimeoutError("x")])
def test_a_part_that_breaks_off_is_one_failure_and_the_others_run(error, monkeypatch, capsys):
    monkeypatch.setattr(suite, "PARTS", {"first": broken(error), "second": lambda: Tally(passed=2)})
    assert suite.run(SimpleNamespace(full=False)) == 1
    said = capsys.readouterr().out
    assert f"FAILED first: it broke off ({type(error).__name__})" in said
    assert said.splitlines()[-1] == "2 passed, 1 failed"


def test_an_interrupt_ends_the_suite(monkeypatch):
    monkeypatch.setattr(suite, "PARTS", {"first": broken(KeyboardInterrupt())})
    with pytest.raises(KeyboardInterrupt):
        suite.run(SimpleNamespace(full=False))


@pytest.mark.parametrize(("full", "names"), [(False, ["usual"]), (True, ["usual", "long"])])
def test_full_adds_parts(full, names, monkeypatch, capsys):
    monkeypatch.setattr(suite, "PARTS", {"usual": lambda: Tally(passed=1)})
    monkeypatch.setattr(suite, "FULL", {"long": lambda: Tally(passed=1)})
    assert suite.run(SimpleNamespace(full=full)) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said[-1 - len(names) : -1]] == names
    assert said[-1] == f"{len(names)} passed, 0 failed"
