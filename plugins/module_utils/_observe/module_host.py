# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the driver's modules, device nodes and /dev/char links together. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from .._catalog.driver_services import UNITS
from .._plan.facts import LoadedModule
from .._plan.module_parameters import Parameters
from .._plan.modules import ModuleHost, is_stale, wanted_links
from .command import Run
from .driver_version import read_loaded_driver, read_module_on_disk
from .files import HostRoot
from .kernel import read_kernel
from .module_parameters import read_stale_parameters
from .modules import read_holders, read_modules
from .services import read_services
from .stopped_units import read_stopped
from .texts.proc_devices import read_proc_devices

GPUS = "/proc/driver/nvidia/gpus"
MINOR = re.compile(r"^Device Minor:\s*(\d+)\s*$", re.MULTILINE)
NODE = re.compile(r"^nvidia(?:\d+|ctl|-uvm|-uvm-tools|-modeset)$")
ON_DEMAND = re.compile(r"^nvidia-(?:nvlink|nvswitch\d+|nvswitchctl)$")

# A loaded module -> the nodes that it answers for.
NODES = {"nvidia": ("/dev/nvidiactl",), "nvidia_uvm": ("/dev/nvidia-uvm",), "nvidia_modeset": ("/dev/nvidia-modeset",)}


def read_module_host(
    host: HostRoot, run: Run, *, state: str, on_demand: bool = False, parameters: Parameters | None = None
) -> ModuleHost:
    """What plan_modules() decides by. Users are looked for only where something would be unloaded: /proc is large.

    ``parameters``: what the modules are to get; None: what our file on disk says.

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
        stopped=read_stopped(host),
        parameters=read_stale_parameters(host, parameters) if modules else (),
    )
    if state == "unloaded" or (state == "reloaded" and is_stale(found)):
        return with_users(host, run, found)
    return found


def with_users(host: HostRoot, run: Run, found: ModuleHost) -> ModuleHost:
    """The same with whoever holds the driver, and which of its services run."""
    services = read_services(run, UNITS) if host.root == "/" else {}
    running = tuple(n for n, s in services.items() if s.active in ("active", "activating", "reloading"))
    return replace(found, holders=read_holders(host), running=running)


def _nodes(host: HostRoot, modules: Mapping[str, LoadedModule], on_demand: bool) -> dict[str, tuple[int, int] | None]:
    """Nodes that are there, and those that the loaded modules and the driver's GPUs ask for."""
    names = host.names("/dev")
    there = [f"/dev/{n}" for n in names if NODE.match(n)]
    if on_demand:
        there += [f"/dev/{n}" for n in names if ON_DEMAND.match(n)]
        there += [f"/dev/nvidia-caps/{n}" for n in host.names("/dev/nvidia-caps")]
    wanted = [path for name, paths in NODES.items() if name in modules for path in paths]
    wanted += [f"/dev/nvidia{minor}" for minor in _minors(host)]
    majors = read_proc_devices(host.text("/proc/devices") or "")["majors"]
    found: dict[str, tuple[int, int] | None] = {}
    for path in dict.fromkeys(sorted(there) + wanted):
        node = host.device(path)
        # A node of the numbers that the driver had before it was loaded again leads nowhere.
        right = node is not None and majors.get(_kind(path)) in (None, node.major)
        found[path] = (node.major, node.minor) if node is not None and right else None
    return found


def _kind(path: str) -> str:
    """How /proc/devices calls the driver behind a node that has a number of its own at every load."""
    return "nvidia-uvm" if path.startswith("/dev/nvidia-uvm") else ""


def _minors(host: HostRoot) -> list[int]:
    texts = (host.text(f"{GPUS}/{address}/information") or "" for address in host.names(GPUS))
    return [int(found.group(1)) for found in map(MINOR.search, texts) if found]
