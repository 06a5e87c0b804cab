# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine files are written together or not at all, and what is set is remembered first."""

from __future__ import annotations

import pytest
import tomlkit

from ansible_collections.gpu.fleet.plugins.module_utils._act.engine import EngineFiles, Refused, read_owned
from ansible_collections.gpu.fleet.plugins.module_utils._act.ownership import Ownership
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._plan.engine import FileChange

MAIN, DROP_IN = "/etc/e/config.toml", "/etc/e/conf.d/n.toml"
TEXT = "# mine\nversion = 3\n"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "etc/e").mkdir(parents=True)
    (tmp_path / "etc/e/config.toml").write_text(TEXT)
    (tmp_path / "etc/e/config.toml").chmod(0o600)
    return tmp_path


def files(root, check=lambda: None):
    ownership = Ownership("toolkit", directory=str(root / "state"))
    return EngineFiles(HostRoot(str(root)), ownership, shared=MAIN, toml=tomlkit, check=check), ownership


CHANGES = (
    FileChange(DROP_IN, None, {"version": 3}, "r"),
    FileChange(MAIN, {"version": 3}, {"version": 3, "imports": ["x"]}, "r"),
)


def test_both_are_written_and_the_mode_stays(root):
    made, ownership = files(root)
    for change in CHANGES:
        made.apply(change, last=change is CHANGES[-1])
    assert (root / "etc/e/config.toml").read_text() == '# mine\nversion = 3\nimports = ["x"]\n'
    assert (root / "etc/e/config.toml").stat().st_mode & 0o777 == 0o600
    assert (root / "etc/e/conf.d/n.toml").exists()
    assert [(o.key, o.before, o.ours) for o in read_owned(ownership)] == [(("imports",), None, ["x"])]


def test_a_refusal_puts_everything_back(root):
    def check():
        assert "imports" in (root / "etc/e/config.toml").read_text()
        raise Refused("no")

    made, _ownership = files(root, check)
    made.apply(CHANGES[0], last=False)
    with pytest.raises(Refused):
        made.apply(CHANGES[1], last=True)
    assert (root / "etc/e/config.toml").read_text() == TEXT
    assert not (root / "etc/e/conf.d/n.toml").exists()


def test_what_is_set_back_is_forgotten(root):
    made, ownership = files(root)
    made.apply(CHANGES[1], last=True)
    made.apply(FileChange(MAIN, {"version": 3, "imports": ["x"]}, {"version": 3}, "r"), last=True)
    assert read_owned(ownership) == []
    assert (root / "etc/e/config.toml").read_text() == TEXT
