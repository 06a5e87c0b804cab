# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads how full a file system is, and says so where a write fails. Private to this collection."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from .._plan.disk import FULL, QUOTA, READ_ONLY, FileSystem, cannot_write

REASONS = {errno.ENOSPC: FULL, errno.EDQUOT: QUOTA, errno.EROFS: READ_ONLY}


class DiskError(OSError):
    """A write that the file system refuses; the text names path, room and remedy."""

    def __str__(self) -> str:
        return str(self.strerror)


def read_file_system(path: str) -> FileSystem:
    """The file system that holds ``path``, which need not exist yet."""
    there = os.path.abspath(path)
    while not os.path.exists(there):
        there = os.path.dirname(there)
    seen = os.statvfs(there)
    while not os.path.ismount(there):
        there = os.path.dirname(there)
    # Without a number of inodes at all the file system does not count them.
    inodes = seen.f_ffree if seen.f_files else None
    return FileSystem(there, seen.f_bavail * seen.f_frsize, seen.f_blocks * seen.f_frsize, inodes)


@contextmanager
def scratch(prefix: str) -> Iterator[str]:
    """A temporary directory that is gone after the block. Raises DiskError, also where nothing takes a file at all."""
    try:
        parent = tempfile.gettempdir()
    except FileNotFoundError as error:
        usual = os.environ.get("TMPDIR") or "/tmp"
        told = cannot_write(usual, FULL, read_file_system(usual))
        raise DiskError(errno.ENOSPC, told, usual) from error
    with naming_disk(parent), tempfile.TemporaryDirectory(prefix=prefix) as directory:
        yield directory


@contextmanager
def naming_disk(path: str, *, needed: int = 0) -> Iterator[None]:
    """Turns the error of a full or read-only file system into a DiskError about ``path`` (``needed``: bytes)."""
    try:
        yield
    except OSError as error:
        if error.errno not in REASONS or isinstance(error, DiskError):
            raise
        text = cannot_write(path, REASONS[error.errno], read_file_system(path), needed=needed)
        raise DiskError(error.errno, text, path) from error
