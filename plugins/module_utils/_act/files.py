# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes files so that a reader sees the old or the new text, never half of it. Private to this collection."""

from __future__ import annotations

import contextlib
import os
import tempfile

from .._observe.disk import naming_disk


def write_atomically(path: str, data: bytes, *, mode: int = 0o644) -> None:
    """Replaces ``path`` by ``data``: written beside it, fsynced, renamed; missing parents are made (0755).

    The mode is ``mode`` exactly, whatever the umask. A symbolic link keeps its place: its target is replaced.
    Raises OSError, DiskError where there is no room; then the old file is untouched and nothing is left beside it.
    """
    path = os.path.realpath(path)
    with naming_disk(path, needed=len(data)):
        _write(path, data, mode)


def make_directory(path: str, *, mode: int = 0o755) -> None:
    """Makes ``path`` and its parents where they are missing; ``mode`` is that of a new ``path``. Raises OSError."""
    with naming_disk(path):
        os.makedirs(path, mode=mode, exist_ok=True)


def make_link(path: str, text: str) -> None:
    """Makes the symbolic link ``path``, which must not be there, with its parents. Raises OSError."""
    make_directory(os.path.dirname(path))
    with naming_disk(path):
        os.symlink(text, path)


def _write(path: str, data: bytes, mode: int) -> None:
    parent = os.path.dirname(path)
    os.makedirs(parent, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=parent, prefix=f".{os.path.basename(path)}.")
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    sync_directory(parent)


def remove_file(path: str) -> bool:
    """Removes ``path``; whether it was there. Raises OSError for anything but its absence."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    sync_directory(os.path.dirname(path))
    return True


def sync_directory(path: str) -> None:
    """Makes a rename or removal in the directory ``path`` last over a power cut (fsync(2))."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
