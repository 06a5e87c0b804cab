# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One binary package, whatever its format: what it says of itself, and the tree of files that it installs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.packages.links import link

FILES = Path(__file__).resolve().parent / "files"
# Folders of a tree that hold scripts for the package manager, by format; they are no part of what is installed.
SCRIPT_FOLDERS = ("DEBIAN", "RPM")
EXECUTABLE_FOLDERS = ("usr/bin/", "usr/sbin/", "usr/lib/dkms/")
SETUID = frozenset({"usr/bin/nvidia-modprobe"})
# Packages are the same, byte by byte, whenever they are built: this moment is in them, in their files and indexes.
SOURCE_DATE = 1_700_000_000
EPOCH = {"SOURCE_DATE_EPOCH": str(SOURCE_DATE)}


@dataclass(frozen=True)
class Package:
    """A package to write: `relations` are fields of its format, such as Depends, or Requires.

    `trees` are folders below files/ laid over each other; `tokens` replaces @NAME@ in their names and contents.
    `files` maps target path to source file, `links` to the link's text, `folders` to a folder that is taken whole: its
    files are linked, not copied, and get the package's modes.
    """

    name: str
    version: str
    summary: str
    architecture: str = "amd64"
    relations: Mapping[str, str] = field(default_factory=dict)
    trees: tuple[str, ...] = ()
    tokens: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
    folders: Mapping[str, Path] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)


def lay(package: Package, root: Path) -> None:
    """Lays out what the package installs below `root`, with modes; no script of a package manager."""
    for tree in package.trees:
        _lay_tree(FILES / tree, root, package.tokens)
    for target, folder in package.folders.items():
        shutil.copytree(folder, root / target, symlinks=True, dirs_exist_ok=True, copy_function=link)
    for target, source in package.files.items():
        _place(source, root / target)
    for name, text in package.links.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(text)
    _modes(root)


def scripts(package: Package, kind: str) -> dict[str, str]:
    """Name -> text of the scripts that the package's trees have for a format (`DEBIAN`, `RPM`)."""
    found = {}
    for tree in package.trees:
        for path in sorted((FILES / tree / kind).glob("*")):
            found[path.name] = replace(path.read_text(), package.tokens)
    return found


def replace(text: str, tokens: Mapping[str, str]) -> str:
    """`text` with each @NAME@ replaced by its value."""
    for name, value in tokens.items():
        text = text.replace(f"@{name}@", value)
    return text


def _lay_tree(source: Path, root: Path, tokens: Mapping[str, str]) -> None:
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        if path.is_file() and name.parts[0] not in SCRIPT_FOLDERS:
            target = root / replace(str(name), tokens)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(replace(path.read_text(), tokens))


def _place(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    os.chmod(target, 0o755 if os.access(source, os.X_OK) else 0o644)


def _modes(root: Path) -> None:
    """What git does not keep: folders 0755, programs executable."""
    root.chmod(0o755)
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if path.is_symlink():
            continue
        if path.is_dir() or name.startswith(EXECUTABLE_FOLDERS):
            path.chmod(0o4755 if name in SETUID else 0o755)
        elif not os.access(path, os.X_OK):
            path.chmod(0o644)
