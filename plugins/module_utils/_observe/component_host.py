# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what the decision about components takes. Private to this collection."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence

from .._catalog import driver_components as catalog
from .._catalog.driver_services import PERSISTENCED_DROP_IN
from .._catalog.fabrics import NVLINK5, SWITCH_MANAGEMENT, fabric_of
from .._catalog.packages import PERSISTENCED_UNIT
from .._plan.component_files import OURS, PATHS
from .._plan.components import ComponentHost
from .command import Run
from .files import HostRoot
from .modules import read_modules

INFINIBAND = "/sys/class/infiniband"
# NVIDIA's own InfiniBand stack (MLNX_OFED, DOCA-OFED) has this module, the kernel's has not.
OFED_MODULE = "mlx_compat"
SETTING = re.compile(r"^\s*([A-Za-z]\w*)\s*=[ \t]*(.*?)\s*$", re.MULTILINE)
UNITS = (*(c.unit for c in catalog.COMPONENTS if c.unit), PERSISTENCED_UNIT)
FILES = (*(p for c in catalog.COMPONENTS for p in c.config), PERSISTENCED_DROP_IN)


def read_component_host(host: HostRoot, run: Run, *, before: Mapping[str, str | None]) -> ComponentHost:
    """``before``: what role driver's record says of settings that are ours."""
    bridges = read_bridges(host)
    stats = {path: host.stat(path) for path in FILES}
    changed = {path: found.st_mtime for path, found in stats.items() if found is not None}
    return ComponentHost(
        bridges=bridges,
        ofed=OFED_MODULE in read_modules(host),
        settings={path: read_settings(host, path) for path in PATHS.values()},
        texts={path: host.text(path) for path in OURS},
        changed=changed,
        started=read_starts(run) if changed and host.root == "/" else {},
        kernel_modules=read_kernel_modules(host, bridges),
        before=before,
    )


def read_kernel_modules(host: HostRoot, bridges: Sequence[str]) -> tuple[str, ...]:
    """Modules for NVLink 5 that are loaded, or built into the kernel: then what they do is there all the same."""
    fabric = fabric_of(NVLINK5)
    does = {"ib_umad": any(n.startswith("umad") for n in host.names("/dev/infiniband")), "mlx5_ib": bool(bridges)}
    return tuple(n for n in (fabric.modules if fabric else ()) if host.is_dir(f"/sys/module/{n}") or does.get(n))


def read_bridges(host: HostRoot) -> tuple[str, ...]:
    """InfiniBand devices that lead to NVLink 5 switches, as their vital product data say."""
    word = SWITCH_MANAGEMENT.encode()
    return tuple(n for n in host.names(INFINIBAND) if word in (host.data(f"{INFINIBAND}/{n}/device/vpd") or b""))


def read_settings(host: HostRoot, path: str) -> dict[str, str] | None:
    """The keys of a file of ``KEY=value`` lines; of a key that is there twice the last counts. None without a file."""
    text = host.text(path)
    return None if text is None else dict(SETTING.findall(text))


def read_starts(run: Run) -> dict[str, float]:
    """When each running unit became active, in seconds since the epoch."""
    properties = "Id,ActiveState,ActiveEnterTimestampMonotonic"
    _status, text, _errors = run(["systemctl", "show", f"--property={properties}", "--", *UNITS])
    boot = time.time() - time.monotonic()
    found = {}
    for block in text.split("\n\n"):
        fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        since = fields.get("ActiveEnterTimestampMonotonic", "0")
        if fields.get("ActiveState") == "active" and since.isdigit() and int(since):
            found[fields.get("Id", "")] = boot + int(since) / 1e6
    return found
