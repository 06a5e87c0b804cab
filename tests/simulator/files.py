# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes trees of files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_tree(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes every file below `folder`, with the folders it needs."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def link(path: Path, target: str) -> None:
    """A symbolic link at `path`, in place of what was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def write_in_place(path: Path, text: str) -> None:
    """Keeps the inode, which may be bind-mounted somewhere."""
    with path.open("r+" if path.exists() else "w") as file:
        file.write(text)
        file.truncate()
