# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads loaded kernel modules and whoever holds a GPU's device node. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .._plan.facts import Holder, LoadedModule
from .files import HostRoot
from .texts.control_group import read_control_group
from .texts.module_list import read_module_list

DEVICE = re.compile(r"^/dev/(?:nvidia[^/]*|gdrdrv)(?:/.*)?$")
POD_LOGS = "/var/log/pods"


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
    found = [(pid, devices) for pid in pids for devices in [_devices(host, pid)] if devices]
    pods = _pods(host) if found else {}
    return tuple(_holder(host, pid, devices, pods) for pid, devices in found)


def _holder(host: HostRoot, pid: int, devices: tuple[str, ...], pods: Mapping[str, str]) -> Holder:
    place = read_control_group(host.text(f"/proc/{pid}/cgroup") or "")
    words = (host.text(f"/proc/{pid}/cmdline") or "").split("\0")
    return Holder(
        pid=pid,
        name=host.line(f"/proc/{pid}/comm") or "?",
        devices=devices,
        # Further arguments may be secrets, and findings go into reports.
        command=" ".join(w for w in words[:2] if w),
        unit=place.unit,
        container=place.container,
        pod=pods.get(place.pod, place.pod),
    )


def _pods(host: HostRoot) -> dict[str, str]:
    """Uid of each pod -> namespace/name, by the folders in which the kubelet keeps the logs of its pods."""
    parts = (name.split("_") for name in host.names(POD_LOGS))
    return {part[2]: f"{part[0]}/{part[1]}" for part in parts if len(part) == 3}


def _devices(host: HostRoot, pid: int) -> tuple[str, ...]:
    """The links of /proc/<pid>/fd; a process that ends meanwhile has none."""
    folder = f"/proc/{pid}/fd"
    try:
        links = {host.link(f"{folder}/{name}") for name in host.names(folder)}
    except (PermissionError, ProcessLookupError):
        return ()
    return tuple(sorted(d for d in links if d and DEVICE.match(d)))
