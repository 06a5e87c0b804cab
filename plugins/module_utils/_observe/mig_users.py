# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who uses the GPUs of a host: processes of units, names of processes. Private to this collection."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .._plan.mig_layout import MigGpu
from .files import HostRoot
from .modules import read_holders


def pids_by_unit(host: HostRoot, units: Iterable[str]) -> dict[str, frozenset[int]]:
    """Unit -> process ids in its control group, from /proc/<pid>/cgroup. Units without a process are left out."""
    wanted = tuple(units)
    found: dict[str, set[int]] = {}
    for pid in host.names("/proc") if wanted else ():
        groups = host.text(f"/proc/{pid}/cgroup") if pid.isdigit() else None
        parts = {p for line in (groups or "").splitlines() for p in line.rsplit(":", 1)[-1].split("/")}
        for unit in parts.intersection(wanted):
            found.setdefault(unit, set()).add(int(pid))
    return {unit: frozenset(pids) for unit, pids in found.items()}


def with_commands(host: HostRoot, gpus: Sequence[MigGpu]) -> tuple[MigGpu, ...]:
    """The GPUs with the names of the processes that use them, from /proc/<pid>/comm.

    No command line: it may hold a password, and it ends up in messages and reports.
    """
    return tuple(replace(g, commands=tuple(_named(host, g))) for g in gpus)


def _named(host: HostRoot, gpu: MigGpu) -> Iterable[tuple[int, str]]:
    for pid in sorted({*gpu.clients, *(p for i in gpu.instances for p in i.users)}):
        name = host.line(f"/proc/{pid}/comm")
        if name:
            yield pid, name


def holders_text(host: HostRoot) -> str:
    """``123 (Xorg: /dev/nvidia0, /dev/nvidiactl)`` of every other process that has a GPU's file open; empty: none."""
    others = (h for h in read_holders(host) if h.pid != os.getpid())
    return "; ".join(f"{h.pid} ({h.name}: {', '.join(h.devices)})" for h in others)
