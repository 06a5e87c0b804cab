# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel modules of the driver, their device nodes and /dev/char links. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .._catalog.driver_services import UNITS, unit_of
from .facts import DriverVersion, Holder, LoadedModule
from .model import Finding, Plan, Step

# In the order of loading; unloading goes backwards (open-gpu-kernel-modules: each one uses symbols of those before).
ORDER = (
    "nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem", "nvidia_fs", "gdrdrv", "nvidia_vgpu_vfio",
)  # fmt: skip

# What a host without screens needs. nvidia_uvm is loaded by nobody else on a headless host (NVIDIA/nvidia-docker#423).
SERVER = ("nvidia", "nvidia_uvm", "nvidia_modeset")

# Debian's own packages load the module under this name.
ALIASES = {"nvidia_current": "nvidia", "nvidia_current_open": "nvidia"}

DEV_CHAR = "/dev/char"

LOADED, UNLOADED, RELOADED = "loaded", "unloaded", "reloaded"


@dataclass(frozen=True)
class ModuleHost:
    """What was read: loaded modules, the loaded driver, the one on disk, holders, nodes that lack, and links.

    ``nodes``: path of a device node -> (major, minor), None where the node is wanted and absent.
    ``links``: /dev/char path -> text of the link, None where there is none. ``running``: services that hold the driver
    without work of users, in the order of stopping; ``stopped``: what a killed run left stopped, in that order too.
    ``parameters``: those of loaded modules that are not what the modules would get now, each as words.
    """

    modules: Mapping[str, LoadedModule]
    loaded: DriverVersion | None
    on_disk: DriverVersion | None
    holders: tuple[Holder, ...]
    nodes: Mapping[str, tuple[int, int] | None]
    links: Mapping[str, str | None]
    release: str
    running: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Module names in the order of loading, dashes as underscores; unknown ones last."""
    found = dict.fromkeys(n.replace("-", "_") for n in names)
    return tuple(sorted(found, key=lambda n: ORDER.index(n) if n in ORDER else len(ORDER)))


def is_stale(host: ModuleHost) -> bool:
    """Whether the loaded module is not what would be loaded now: version, flavour or parameters."""
    if host.loaded is None or host.on_disk is None:
        return False
    if host.parameters:
        return True
    return (host.loaded.version, host.loaded.flavour) != (host.on_disk.version, host.on_disk.flavour)


def uncounted_references(modules: Mapping[str, LoadedModule]) -> str:
    """Modules of the driver with references that no other module explains: processes, the console. '' for none."""
    held = ((m, m.references - len(m.users)) for n, m in modules.items() if ALIASES.get(n, n) in ORDER)
    return ", ".join(f"{m.name} has {count} references of processes or the console" for m, count in held if count > 0)


def blockers(holders: Iterable[Holder]) -> tuple[Holder, ...]:
    """Holders that are not services which may be stopped and started again."""
    return tuple(h for h in holders if service_of(h) is None)


def service_of(holder: Holder) -> str | None:
    """The service of the driver that a process belongs to: the same program in a container is somebody else's."""
    if holder.container or holder.pod:
        return None
    if holder.unit:
        return holder.unit if holder.unit in UNITS else None
    return unit_of(holder.name)


def plan_modules(host: ModuleHost, *, state: str, wanted: Sequence[str], links: bool) -> Plan:
    """The steps to ``state``: loaded (what lacks), unloaded (all of the driver), reloaded (only where stale).

    Services that hold the driver are stopped before the first module goes, and started again after a reload.
    """
    present = _present(host)
    if state == UNLOADED:
        return _guarded(host, _stop(host, present) + _unload(host, present, reason="the driver is to go"))
    reload = state == RELOADED and is_stale(host)
    missing = to_load(host, wanted) if reload else [n for n in wanted if n not in present]
    if missing and host.on_disk is None:
        return Plan(findings=(_no_module(host),))
    if not missing:
        return Plan(steps=_nodes(host) + (_links(host) if links else ()) + start_again(host.stopped))
    steps = unload_steps(host, reason=_stale_reason(host)) if reload else ()
    steps += tuple(_load(host, name) for name in in_order(missing)) + after_load(links)
    return _guarded(host, steps + start_again((*(host.running if reload else ()), *host.stopped)))


def to_load(host: ModuleHost, wanted: Sequence[str]) -> tuple[str, ...]:
    """What a reload loads: all that is wanted, and all that was there before."""
    return in_order((*wanted, *_present(host)))


def unload_steps(host: ModuleHost, *, reason: str) -> tuple[Step, ...]:
    """Services stop, then all modules of the driver go, the last loaded first."""
    return _stop(host, _present(host)) + _unload(host, _present(host), reason=reason)


def _stop(host: ModuleHost, present: Sequence[str]) -> tuple[Step, ...]:
    reason = "it holds the driver's modules"
    return tuple(Step("stop", unit, "active", "inactive", reason) for unit in host.running) if present else ()


def start_again(stopped: Sequence[str]) -> tuple[Step, ...]:
    """What was stopped for the modules, the last one first."""
    reason = "it was stopped for the driver's modules"
    return tuple(Step("start", unit, "inactive", "active", reason) for unit in reversed(dict.fromkeys(stopped)))


def after_load(links: bool) -> tuple[Step, ...]:
    """The step for nodes and links that nobody can name before the modules are loaded: majors are given then."""
    if not links:
        return ()
    reason = "systemd finds a device by its numbers only through /dev/char (NVIDIA/nvidia-container-toolkit#48)"
    return (Step("link", DEV_CHAR, None, "known after load nvidia", reason),)


def _present(host: ModuleHost) -> tuple[str, ...]:
    return in_order(n for n in (ALIASES.get(m, m) for m in host.modules) if n in ORDER)


def _unload(host: ModuleHost, names: Sequence[str], *, reason: str) -> tuple[Step, ...]:
    version = describe(host.loaded)
    return tuple(Step("unload", name, version, None, reason, "gpu_workloads") for name in reversed(names))


def _load(host: ModuleHost, name: str) -> Step:
    return Step("load", name, None, describe(host.on_disk), "the module is not loaded")


def describe(found: DriverVersion | None) -> str | None:
    """Version and flavour as one text."""
    return None if found is None else f"{found.version} {found.flavour}"


def _stale_reason(host: ModuleHost) -> str:
    if host.parameters:
        return f"the loaded modules have other parameters: {'; '.join(host.parameters)}"
    return f"loaded is {describe(host.loaded)}, on disk is {describe(host.on_disk)}"


def _nodes(host: ModuleHost) -> tuple[Step, ...]:
    lacking = (path for path, numbers in host.nodes.items() if numbers is None)
    return tuple(Step("create_node", path, None, "character device", "clients open it") for path in lacking)


def _links(host: ModuleHost) -> tuple[Step, ...]:
    steps = []
    for link, text in wanted_links(host.nodes).items():
        found = host.links.get(link)
        if found is None or posixpath.normpath(posixpath.join("/dev/char", found)) != _target(text):
            reason = "systemd finds a device by its numbers only through /dev/char (NVIDIA/nvidia-container-toolkit#48)"
            steps.append(Step("link", link, found, text, reason))
    return tuple(steps)


def _target(text: str) -> str:
    return posixpath.normpath(posixpath.join("/dev/char", text))


def wanted_links(nodes: Mapping[str, tuple[int, int] | None]) -> dict[str, str]:
    """/dev/char/<major>:<minor> -> relative link text, as udev makes them for the devices that it knows."""
    there = ((path, numbers) for path, numbers in nodes.items() if numbers is not None)
    return {f"/dev/char/{n[0]}:{n[1]}": f"..{path[len('/dev') :]}" for path, n in there}


def _guarded(host: ModuleHost, steps: tuple[Step, ...]) -> Plan:
    """Nothing is unloaded under a process that uses it, and no process is ended."""
    if not any(s.action == "unload" for s in steps) or not blockers(host.holders):
        return Plan(steps=steps)
    return Plan(findings=(find_in_use(host, severity="error"),))


def find_in_use(host: ModuleHost, *, severity: str) -> Finding:
    """The loaded module has to go, and processes hold it."""
    held = blockers(host.holders)
    pids = " ".join(str(h.pid) for h in held)
    parameters = f"; {'; '.join(host.parameters)}" if host.parameters else ""
    return Finding(
        id="GPU-KRN-026",
        severity=severity,
        summary=f"the loaded driver {describe(host.loaded)} cannot be replaced: processes use it",
        wanted=f"{describe(host.on_disk) or 'no driver'} (modinfo -k {host.release} nvidia)",
        found=f"{describe(host.loaded)} (/proc/driver/nvidia/version), held by {', '.join(map(str, held))}{parameters}",
        remedy=f"end these processes ({pids}) and run again, or reboot the host (driver_reboot: if_required)",
        source="github.com/NVIDIA/nvidia-container-toolkit#394",
    )


def _no_module(host: ModuleHost) -> Finding:
    return Finding(
        id="GPU-KRN-018",
        severity="error",
        summary=f"there is no nvidia module for the running kernel {host.release}",
        wanted=f"a module that modprobe finds: modinfo -k {host.release} nvidia",
        found=f"none below /lib/modules/{host.release}",
        remedy=f"see why DKMS did not build it: dkms status; dkms autoinstall -k {host.release}",
        source="github.com/GoogleCloudPlatform/compute-gpu-installation#18",
    )
