# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is built already is not built again, and what changed is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab.packages import deb, pool
from lab.packages.package import Package

PACKAGE = Package("nvidia-imex", "595.71.05-1", "IMEX", trees=("nvidia-imex",), tokens={"VERSION": "595.71.05"})
Build = Callable[[Package], bool]


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Build:
    """Asks for a package; says whether it had to be built."""
    write, calls = deb.write, []

    def counted(package: Package, folder: Path, scratch: Path) -> Path:
        calls.append(package.name)
        return write(package, folder, scratch)

    def ask(package: Package) -> bool:
        calls.clear()
        folder = tmp_path / f"repository-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        pool.write_debs([package], folder, tmp_path)
        assert [path.name for path in folder.iterdir()] == [deb.file_name(package)]
        return bool(calls)

    monkeypatch.setattr(deb, "write", counted)
    return ask


def test_a_package_is_built_once(build: Build) -> None:
    assert [build(PACKAGE), build(PACKAGE)] == [True, False]


def test_what_is_said_of_it_counts(build: Build) -> None:
    build(PACKAGE)
    assert build(replace(PACKAGE, relations={"Depends": "libc6"}))
    assert build(replace(PACKAGE, tokens={"VERSION": "595.58.03"}))
    assert build(replace(PACKAGE, trees=()))


def test_content_of_its_files_counts(build: Build, tmp_path: Path) -> None:
    program, folder = tmp_path / "program", tmp_path / "folder"
    folder.mkdir()
    changed = replace(PACKAGE, files={"usr/bin/x": program}, folders={"usr/share": folder})
    program.write_text("1\n")
    assert build(changed)
    assert not build(changed)
    program.write_text("2\n")
    assert build(changed)
    program.chmod(0o755)
    assert build(changed)
    (folder / "link").symlink_to("a")
    assert build(changed)
    assert not build(changed)
