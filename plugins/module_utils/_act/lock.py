# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run at a time on a host. Private to this collection."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATH = "/run/gpu-fleet.lock"
POLL_SECONDS = 0.2


class LockedError(Exception):
    """Another run holds the lock; the message names its process id."""


@contextmanager
def host_lock(*, path: str = PATH, timeout: float = 60.0) -> Iterator[None]:
    """Holds ``path`` by flock(2) inside the block; it goes with the process, so a killed run leaves none behind.

    Waits up to ``timeout`` seconds. Raises LockedError after that, OSError where the file cannot be made.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _wait_for(handle, path, timeout)
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(handle)


def _wait_for(handle: int, path: str, timeout: float) -> None:
    end = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
        if time.monotonic() >= end:
            holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise LockedError(f"{path} is held by process {holder} for more than {timeout:g} s; wait for it or end it")
        time.sleep(POLL_SECONDS)
