# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads loaded kernel modules and whoever holds a GPU's device node. Private to this collection."""

from __future__ import annotations

import re

from .._plan.facts import Holder, LoadedModule
from .files import HostRoot
from .texts.module_list import read_module_list

DEVICE = re.compile(r"^/dev/nvidia[^/]*(?:/.*)?$")


def read_modules(host: HostRoot) -> dict[str, LoadedModule]:
    """The loaded modules by name; empty on a kernel without module support."""
    return parse_modules(host.text("/proc/modules") or "")


def parse_modules(text: str) -> dict[str, LoadedModule]:
    """``name size references users state ...`` as in proc_modules(5); ``users`` ends with a comma or is ``-``."""
    rows = read_module_list(text)["modules"]
    return {n: LoadedModule(name=n, references=r["references"], users=tuple(r["users"])) for n, r in rows.items()}


def read_holders(host: HostRoot) -> tuple[Holder, ...]:
    """Every process with a file descriptor on /dev/nvidia*, in the order of process ids."""
    pids = sorted(int(p) for p in host.names("/proc") if p.isdigit())
    found = ((pid, _devices(host, pid)) for pid in pids)
    return tuple(Holder(pid=p, name=host.line(f"/proc/{p}/comm") or "?", devices=d) for p, d in found if d)


def _devices(host: HostRoot, pid: int) -> tuple[str, ...]:
    """The links of /proc/<pid>/fd; a process that ends meanwhile has none."""
    folder = f"/proc/{pid}/fd"
    try:
        links = {host.link(f"{folder}/{name}") for name in host.names(folder)}
    except (PermissionError, ProcessLookupError):
        return ()
    return tuple(sorted(d for d in links if d and DEVICE.match(d)))
