# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which interpreters are found on PATH."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev import venvs

NOBODY = 65534
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    """Not root, who may read everything; the saved user id is the way back."""
    real, effective, saved = os.getresuid()
    if effective == 0:
        os.setresuid(NOBODY, NOBODY, 0)
    yield
    os.setresuid(real, effective, saved)


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder that its owner alone may enter, and not even he."""
    folder = tmp_path / "closed"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / f"python{VERSION}").symlink_to(sys.executable)
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


def test_folders_that_may_not_be_read_hold_no_interpreter(closed, monkeypatch, ordinary_user):
    monkeypatch.setenv("PYENV_ROOT", str(closed))
    monkeypatch.setenv("HOME", str(closed))
    monkeypatch.setenv("PATH", f"{closed}:{closed}/bin:/nowhere:/usr/bin:/bin")
    found = venvs.interpreters()
    assert not [path for path in found.values() if closed in path.parents]


def test_an_interpreter_that_may_not_be_reached_is_none(closed, ordinary_user):
    assert venvs._probe(closed / "bin" / f"python{VERSION}")[0] == ""


def test_interpreters_on_path_are_found(tmp_path, monkeypatch):
    (tmp_path / f"python{VERSION}").symlink_to(sys.executable)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert VERSION in venvs.interpreters()
