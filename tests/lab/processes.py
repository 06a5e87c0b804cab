# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at processes through /proc: identity, parents, command lines."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Identity:
    """A process for as long as the machine runs: pids come back, a pid with its start time does not.

    `start` in clock ticks since boot; `namespace` is the pid namespace in which `pid` counts.
    """

    pid: int
    start: int
    boot: str
    namespace: str


def identity(pid: int | None = None) -> Identity:
    """Identity of a process, by default of this one. ProcessLookupError when there is none."""
    pid = pid or os.getpid()
    start = _stat(pid)
    if start is None:
        raise ProcessLookupError(f"There is no process {pid}")
    return Identity(pid, start[1], boot_id(), pid_namespace())


def alive(who: Identity) -> bool:
    """Whether the process still runs; one of another pid namespace counts as alive, as it cannot be seen from here."""
    if who.boot != boot_id():
        return False
    if who.namespace != pid_namespace():
        return True
    found = _stat(who.pid)
    return found is not None and found[1] == who.start


def children(pid: int) -> list[int]:
    """Pids of the processes whose parent is `pid`."""
    return [p for p in all_pids() if (_stat(p) or (0, 0))[0] == pid]


def with_arguments(*wanted: str) -> list[int]:
    """Pids of the processes whose command line holds all the arguments given."""
    return [pid for pid in all_pids() if set(wanted) <= set(command_line(pid))]


def command_line(pid: int) -> list[str]:
    """Arguments of a process; empty for a kernel thread, a zombie or one that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def pid_namespace() -> str:
    """As in `pid:[4026531836]`."""
    return os.readlink("/proc/self/ns/pid")


def _stat(pid: int) -> tuple[int, int] | None:
    """Parent and start time (fields 4 and 22 of proc_pid_stat(5)); None when the process is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else (int(fields[1]), int(fields[19]))
