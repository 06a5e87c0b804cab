# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the driver's modules, device nodes and /dev/char links together. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .._plan.facts import LoadedModule
from .._plan.modules import ModuleHost, is_stale, wanted_links
from .command import Run
from .driver_version import read_loaded_driver, read_module_on_disk
from .files import HostRoot
from .kernel import read_kernel
from .modules import read_holders, read_modules

GPUS = "/proc/driver/nvidia/gpus"
MINOR = re.compile(r"^Device Minor:\s*(\d+)\s*$", re.MULTILINE)
NODE = re.compile(r"^nvidia(?:\d+|ctl|-uvm|-uvm-tools|-modeset)$")
ON_DEMAND = re.compile(r"^nvidia-(?:nvlink|nvswitch\d+|nvswitchctl)$")

# A loaded module -> the nodes that it answers for.
NODES = {"nvidia": ("/dev/nvidiactl",), "nvidia_uvm": ("/dev/nvidia-uvm",), "nvidia_modeset": ("/dev/nvidia-modeset",)}


def read_module_host(host: HostRoot, run: Run, *, state: str, on_demand: bool = False) -> ModuleHost:
    """What plan_modules() decides by. Holders are looked for only where something would be unloaded: /proc is large.

    ``on_demand``: the nodes of MIG (/dev/nvidia-caps) and NVLink too. Clients make them when they need them: they are
    no part of what every host with a driver has to have.
    """
    modules = read_modules(host)
    release = read_kernel(host).release
    nodes = _nodes(host, modules, on_demand)
    found = ModuleHost(
        modules=modules,
        loaded=read_loaded_driver(host),
        on_disk=read_module_on_disk(host, run, release=release),
        holders=(),
        nodes=nodes,
        links={link: host.link(link) for link in wanted_links(nodes)},
        release=release,
    )
    if state == "unloaded" or (state == "reloaded" and is_stale(found)):
        return ModuleHost(**{**vars(found), "holders": read_holders(host)})
    return found


def _nodes(host: HostRoot, modules: Mapping[str, LoadedModule], on_demand: bool) -> dict[str, tuple[int, int] | None]:
    """Nodes that are there, and those that the loaded modules and the driver's GPUs ask for."""
    names = host.names("/dev")
    there = [f"/dev/{n}" for n in names if NODE.match(n)]
    if on_demand:
        there += [f"/dev/{n}" for n in names if ON_DEMAND.match(n)]
        there += [f"/dev/nvidia-caps/{n}" for n in host.names("/dev/nvidia-caps")]
    wanted = [path for name, paths in NODES.items() if name in modules for path in paths]
    wanted += [f"/dev/nvidia{minor}" for minor in _minors(host)]
    found = {}
    for path in dict.fromkeys(sorted(there) + wanted):
        node = host.device(path)
        found[path] = None if node is None else (node.major, node.minor)
    return found


def _minors(host: HostRoot) -> list[int]:
    texts = (host.text(f"{GPUS}/{address}/information") or "" for address in host.names(GPUS))
    return [int(found.group(1)) for found in map(MINOR.search, texts) if found]
