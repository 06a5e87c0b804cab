# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes one Debian binary package: control file, a tree of files with @TOKENS@ replaced, maintainer scripts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dev.progress import run

FILES = Path(__file__).resolve().parent / "files"
SCRIPTS = frozenset({"preinst", "postinst", "prerm", "postrm"})
CONTROL_FOLDER = "DEBIAN"
EXECUTABLE_FOLDERS = ("usr/bin/", "usr/sbin/")
PREFERENCES = "etc/apt/preferences.d/"
SETUID = frozenset({"usr/bin/nvidia-modprobe"})
MAINTAINER = "gpu.fleet lab <lab@example.org>"


@dataclass(frozen=True)
class Package:
    """A package to write: `relations` are control fields such as Depends, `files` maps target path to source file.

    `trees` are folders below files/ laid over each other; `tokens` replaces @NAME@ in their names and contents.
    """

    name: str
    version: str
    summary: str
    architecture: str = "amd64"
    relations: Mapping[str, str] = field(default_factory=dict)
    trees: tuple[str, ...] = ()
    tokens: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        """Name of the .deb; an epoch is not part of it."""
        return f"{self.name}_{self.version.rpartition(':')[2]}_{self.architecture}.deb"


def write(package: Package, folder: Path, scratch: Path) -> Path:
    """Builds `package` into `folder` by way of a tree in `scratch`. Returns the .deb; raises CommandFailed."""
    root = scratch / package.name
    shutil.rmtree(root, ignore_errors=True)
    (root / CONTROL_FOLDER).mkdir(parents=True)
    for tree in package.trees:
        _lay(FILES / tree, root, package.tokens)
    for target, source in package.files.items():
        _place(source, root / target)
    for link, text in package.links.items():
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(text)
    _control(package, root)
    _modes(root)
    archive = folder / package.file_name
    run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", root, archive])
    shutil.rmtree(root)
    return archive


def _lay(source: Path, root: Path, tokens: Mapping[str, str]) -> None:
    for path in sorted(source.rglob("*")):
        if path.is_file():
            target = root / _replace(str(path.relative_to(source)), tokens)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_replace(path.read_text(), tokens))


def _replace(text: str, tokens: Mapping[str, str]) -> str:
    for name, value in tokens.items():
        text = text.replace(f"@{name}@", value)
    return text


def _place(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    os.chmod(target, 0o755 if os.access(source, os.X_OK) else 0o644)


def _control(package: Package, root: Path) -> None:
    fields = {
        "Package": package.name,
        "Version": package.version,
        "Architecture": package.architecture,
        "Maintainer": MAINTAINER,
        "Section": "NVIDIA",
        "Priority": "optional",
        **package.relations,
        "Description": f"{package.summary} (simulated)",
    }
    folder = root / CONTROL_FOLDER
    (folder / "control").write_text("".join(f"{name}: {value}\n" for name, value in fields.items() if value))
    (folder / "conffiles").write_text("".join(f"/{name}\n" for name in _configuration(root)))
    if any(".so" in name for name in (*package.files, *package.links)):
        (folder / "triggers").write_text("activate-noawait ldconfig\n")


def _configuration(root: Path) -> list[str]:
    """Files that stay after a removal. Not a pin: what it is for goes with the package."""
    names = (str(path.relative_to(root)) for path in sorted((root / "etc").rglob("*")) if path.is_file())
    return [name for name in names if not name.startswith(PREFERENCES)]


def _modes(root: Path) -> None:
    """What git does not keep: folders 0755, maintainer scripts and programs executable."""
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if path.is_symlink():
            continue
        if path.is_dir() or name.startswith(EXECUTABLE_FOLDERS):
            path.chmod(0o4755 if name in SETUID else 0o755)
        elif name.startswith(CONTROL_FOLDER):
            path.chmod(0o755 if path.name in SCRIPTS else 0o644)
        elif not os.access(path, os.X_OK):
            path.chmod(0o644)
    root.chmod(0o755)
