# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel log of a simulated host: `dmesg` and `journalctl --dmesg` show what is written here.

Records have the form of /dev/kmsg (Documentation/ABI/testing/dev-kmsg): `<level>,<number>,<microseconds>,-;text`.
They are kept in a file, which the preloaded shim shows to dmesg, and go through a pipe to the journal, which takes one
record a read: so the pipe is in packet mode (O_DIRECT, pipe(2)).
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from simulator.place import Place

ERROR, WARNING, NOTICE, INFO = 3, 4, 5, 6  # KERN_ERR ... KERN_INFO
KEPT = 1000  # records; a real one has room for a few thousand


def start(place: Place) -> None:
    """An empty log, at boot."""
    place.kernel_log.write_text("")
    if not place.kernel_log_pipe.exists():
        os.mkfifo(place.kernel_log_pipe, 0o600)
    write(place, f"Linux version {place.release} (simulated host)", level=NOTICE, seconds=0.0)


def write(place: Place, text: str, *, level: int = INFO, seconds: float | None = None) -> None:
    """Adds one record for each line of `text`; nothing on a machine that shows no log, as a tree in a folder is.

    `seconds` since the machine booted, by default now.
    """
    if not place.kernel_log.exists():
        return
    when = time.clock_gettime(time.CLOCK_MONOTONIC) if seconds is None else seconds
    with place.kernel_log.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        old = file.read().splitlines()
        number = int(old[-1].split(",")[1]) + 1 if old else 0
        new = [f"{level},{number + i},{int(when * 1e6)},-;{line}" for i, line in enumerate(text.splitlines())]
        file.seek(0)
        file.write("".join(f"{line}\n" for line in [*old, *new][-KEPT:]))
        file.truncate()
        _to_journal(place, new)


def _to_journal(place: Place, records: list[str]) -> None:
    try:
        pipe = os.open(place.kernel_log_pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENOENT):  # no journal runs yet
            return
        raise
    try:
        fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_NONBLOCK | os.O_DIRECT)  # a named pipe takes it only here
        for record in records:
            os.write(pipe, f"{record}\n".encode())
    finally:
        os.close(pipe)
