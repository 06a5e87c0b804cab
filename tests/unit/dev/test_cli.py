# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from dev import cli, machine

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
