# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of components: settings, nodes and token, and the services that read them. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._catalog import driver_components as catalog
from .._catalog.components import FABRIC_MANAGER, GRIDD, IMEX
from .._catalog.driver_services import PERSISTENCED_DROP_IN, drop_in_for
from .._catalog.packages import PERSISTENCED_UNIT
from .component_findings import find_restart_in_use
from .component_wish import ComponentWish
from .components import ComponentHost, Components, has_nodes
from .facts import Holder, Service
from .model import Step
from .services import UnitWish, outdated, plan_unit
from .work import Call, Work, join_work, remove_file, write_file

FABRIC_MODULES_LOAD = "/etc/modules-load.d/gpu-fleet-fabric.conf"
LINEINFILE = "ansible.builtin.lineinfile"
PATHS = {FABRIC_MANAGER: catalog.FABRIC_MANAGER_CONFIG, GRIDD: catalog.GRIDD_CONFIG}
OURS = (catalog.IMEX_NODES, catalog.GRIDD_TOKEN, PERSISTENCED_DROP_IN, FABRIC_MODULES_LOAD)

# Whose restart ends jobs on the GPUs (fabricmanager.cfg, ABORT_CUDA_JOBS_ON_FM_EXIT; IMEX guide).
DISRUPTS = {FABRIC_MANAGER: "gpu_workloads", IMEX: "gpu_workloads", GRIDD: "nothing"}
REASONS = {
    FABRIC_MANAGER: "CUDA starts only when the fabric manager has configured the NVLink switches",
    IMEX: "GPUs of other hosts in the NVLink domain are reached through it",
    GRIDD: "a vGPU is slowed down without a licence",
}


def plan_files(wish: ComponentWish, components: Components, seen: ComponentHost, owned: Iterable[str]) -> Work:
    """Settings, nodes and token of the components that are wanted; what is wanted no more is put back."""
    wanted = {
        FABRIC_MANAGER: wish.fabric_manager_config if FABRIC_MANAGER in components.wanted else {},
        GRIDD: wish.gridd_config if GRIDD in components.wanted else {},
    }
    parts = [plan_settings(PATHS[name], rows, seen=seen) for name, rows in wanted.items()]
    if IMEX in components.wanted and wish.imex_nodes:
        text = "".join(f"{node}\n" for node in wish.imex_nodes)
        reason = "IMEX reads the addresses of its NVLink domain from here"
        parts.append(
            write_file(
                catalog.IMEX_NODES, text, found=seen.texts.get(catalog.IMEX_NODES), action="write_nodes", reason=reason
            )
        )
    if GRIDD in components.wanted and wish.gridd_token:
        parts.append(plan_token(wish.gridd_token, found=seen.texts.get(catalog.GRIDD_TOKEN)))
    parts.append(_plan_fabric_modules(components, seen, owned))
    return join_work(parts)


def plan_settings(path: str, wanted: Mapping[str, str], *, seen: ComponentHost) -> Work:
    """Keys of a file that belongs to a package, each by itself; comments and other keys stay."""
    found = seen.settings.get(path) or {}
    parts = [_set_key(path, key, value, found.get(key)) for key, value in wanted.items() if found.get(key) != value]
    parts += [_restore_key(path, key, found.get(key), seen) for key in _owned_keys(path, seen) if key not in wanted]
    return join_work(parts)


def _owned_keys(path: str, seen: ComponentHost) -> list[str]:
    prefix = f"setting:{path}:"
    return [name[len(prefix) :] for name in seen.before if name.startswith(prefix)]


def _set_key(path: str, key: str, value: str, found: str | None) -> Work:
    step = Step("set_key", f"{path}:{key}", found, value, "the service reads it when it starts")
    # The first start writes the file where a package has a template only.
    args = {**_line(path, key), "line": f"{key}={value}", "create": path == catalog.GRIDD_CONFIG}
    return Work((step,), (Call(LINEINFILE, args),), objects={f"setting:{path}:{key}": (found, value)})


def _restore_key(path: str, key: str, found: str | None, seen: ComponentHost) -> Work:
    name, before = f"setting:{path}:{key}", seen.before[f"setting:{path}:{key}"]
    if found == before or seen.settings.get(path) is None:
        return Work(gone=(name,))
    step = Step("restore_key", f"{path}:{key}", found, before, "the value from before this collection set another")
    state: dict[str, Any] = {"state": "absent"} if before is None else {"line": f"{key}={before}"}
    return Work((step,), (Call(LINEINFILE, {**_line(path, key), **state}),))


def _line(path: str, key: str) -> dict[str, Any]:
    return {"path": path, "regexp": rf"^\s*{key}\s*="}


def plan_token(token: str, *, found: str | None) -> Work:
    """The client configuration token for its reader alone; neither steps nor records hold it."""
    if found is not None and found.strip() == token:
        return Work()
    path = catalog.GRIDD_TOKEN
    before = None if found is None else "another token"
    step = Step("write_token", path, before, "the token", "nvidia-gridd shows it to the licence server")
    folder = {"path": path.rsplit("/", 1)[0], "state": "directory", "mode": "0755"}
    args = {"dest": path, "mode": "0400", "owner": "root", "group": "root"}
    calls = (Call("ansible.builtin.file", folder), Call("ansible.builtin.copy", args, secret="gridd_token"))
    return Work((step,), calls, objects={f"file:{path}": (before, "the token")})


def _plan_fabric_modules(components: Components, seen: ComponentHost, owned: Iterable[str]) -> Work:
    """Modules of the kernel through which the fabric manager reaches NVLink 5 switches: at boot, and now."""
    names, found = components.kernel_modules, seen.texts.get(FABRIC_MODULES_LOAD)
    if not names:
        return _gone(FABRIC_MODULES_LOAD, found, owned, "no NVLink 5 switch needs these modules any more")
    reason = "the fabric manager reaches NVLink 5 switches through InfiniBand"
    text = "".join(f"{n}\n" for n in names)
    boot = write_file(FABRIC_MODULES_LOAD, text, found=found, action="load_at_boot", reason=reason)
    lacking = tuple(n for n in names if n not in seen.kernel_modules)
    steps = tuple(Step("load", n, None, "loaded", reason) for n in lacking)
    calls = tuple(Call("ansible.builtin.command", {"argv": ["modprobe", n]}) for n in lacking)
    return join_work([boot, Work(steps, calls)])


def _gone(path: str, found: str | None, owned: Iterable[str], reason: str) -> Work:
    if f"file:{path}" not in set(owned):
        return Work()
    return remove_file(path, found=found, action="remove_file", reason=reason)


def plan_services(
    components: Components,
    seen: ComponentHost,
    services: Mapping[str, Service],
    files: Work,
    *,
    wish: ComponentWish,
    running: bool,
    holders: Iterable[Holder],
) -> Work:
    """Units of the components; those whose files are newer than their start are started again, under no jobs."""
    held = tuple(holders)
    parts = []
    for row in catalog.COMPONENTS:
        if row.unit is None:
            continue
        unit = services.get(row.unit)
        if row.name == IMEX and not wish.imex_nodes:
            parts.append(_plan_imex_without_nodes(unit, components, seen, wish))
        elif row.name in components.wanted:
            parts.append(_plan_component(row, unit, seen, files, running=running, held=held))
        elif wish.component(row.name) == "false":
            parts.append(plan_unit(unit, UnitWish(row.unit, False, False, f"driver_components.{row.name} is false")))
    return join_work(parts)


def _plan_imex_without_nodes(
    unit: Service | None, components: Components, seen: ComponentHost, wish: ComponentWish
) -> Work:
    """IMEX is installed only, because NVIDIA's DRA driver may run it; packages of Enterprise Linux enable it.

    Where somebody else wrote the addresses, its service is theirs too.
    """
    word = wish.component(IMEX)
    if word != "false" and (IMEX not in components.wanted or has_nodes(seen)):
        return Work()
    reason = "driver_components.imex is false" if word == "false" else "driver_imex_nodes is empty"
    absent = unit is None or unit.loaded == "not-found"
    return plan_unit(
        unit, UnitWish("nvidia-imex.service", False, False, reason, coming=absent and IMEX in components.wanted)
    )


def _plan_component(
    row: catalog.Component,
    unit: Service | None,
    seen: ComponentHost,
    files: Work,
    *,
    running: bool,
    held: tuple[Holder, ...],
) -> Work:
    name = row.unit or ""
    restart = needs_restart(name, row.config, seen, files)
    disrupts = DISRUPTS[row.name]
    if restart and held and disrupts != "nothing" and unit is not None and unit.active == "active":
        found = find_restart_in_use(name, row.config, ", ".join(map(str, held)))
        return join_work([Work(findings=(found,)), plan_unit(unit, UnitWish(name, True, running, REASONS[row.name]))])
    return plan_unit(unit, UnitWish(name, True, running, REASONS[row.name], restart, disrupts))


def needs_restart(unit: str, paths: tuple[str, ...], seen: ComponentHost, files: Work) -> str:
    """Why a running unit has to be started again: its files change now, or did after its start. '' for no reason."""
    targets = {s.target.split(":")[0] for s in files.steps}
    if targets.intersection(paths) or outdated(unit, paths, started=seen.started, changed=seen.changed):
        return "its files are newer than its start"
    return ""


def plan_persistenced(
    unit: Service | None, seen: ComponentHost, *, distribution: str, wanted: bool, running: bool, owned: Iterable[str]
) -> Work:
    """The persistence daemon, with a drop-in where the distribution's unit does not keep persistence mode."""
    text = drop_in_for(distribution) if wanted else ""
    found = seen.texts.get(PERSISTENCED_DROP_IN)
    reason = "the unit of this distribution runs without persistence mode"
    if text:
        file = write_drop_in(text, found, reason)
    else:
        file = _gone(PERSISTENCED_DROP_IN, found, owned, "nothing of ours changes the unit any more")
    restart = needs_restart(PERSISTENCED_UNIT, (PERSISTENCED_DROP_IN,), seen, file) if text else ""
    why = "GPUs stay initialised while nobody uses them" if wanted else "driver_persistenced is false"
    wish = UnitWish(PERSISTENCED_UNIT, wanted, running, why, restart, drop_in=bool(text))
    return join_work([file, plan_unit(unit, wish)])


def write_drop_in(text: str, found: str | None, reason: str) -> Work:
    """The drop-in in its folder, which systemd does not make."""
    write = write_file(PERSISTENCED_DROP_IN, text, found=found, action="write_drop_in", reason=reason)
    if not write.steps:
        return write
    folder = {"path": PERSISTENCED_DROP_IN.rsplit("/", 1)[0], "state": "directory", "mode": "0755"}
    return Work(write.steps, (Call("ansible.builtin.file", folder), *write.calls), objects=write.objects)


def plan_no_files(seen: ComponentHost, owned: Iterable[str]) -> Work:
    """Puts back every setting and takes away every file that the record names."""
    record = set(owned)
    parts = [plan_settings(path, {}, seen=seen) for path in PATHS.values()]
    for path in OURS:
        if path == catalog.GRIDD_TOKEN and f"file:{path}" in record:
            there = None if seen.texts.get(path) is None else "the token"
            parts.append(
                remove_file(path, found=there, action="remove_token", reason="no licence client of ours reads it")
            )
        else:
            parts.append(_gone(path, seen.texts.get(path), record, "it came with this role"))
    return join_work(parts)
