# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides how containerd learns of NVIDIA's runtime handlers. Private to this collection.

Source: containerd docs/cri/config.md; NVIDIA Container Toolkit 1.20.0, nvidia-ctk runtime configure.
"""

from __future__ import annotations

import copy
import posixpath
from typing import Any

from .engine import (
    ABSENT,
    TEMPLATES,
    Document,
    EnginePlan,
    EngineState,
    EngineWish,
    FileChange,
    Handler,
    is_created,
    lookup,
    make_plan,
    plan_engine,
    prune,
    table,
    tables,
    undo,
    with_patterns,
)
from .model import Finding

# version of the configuration -> name of the CRI plugin's table
PLUGINS = {1: "cri", 2: "io.containerd.grpc.v1.cri"}
PLUGIN = "io.containerd.cri.v1.runtime"
NEWEST_VERSION = 4

# containerd 2.0, which brought this version of the configuration, has CDI on by default.
FIRST_WITH_CDI = 3

# Names under which the CRI plugin can be switched off.
CRI_NAMES = ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images")

NRI = "io.containerd.nri.v1.nri"

RUNC = "io.containerd.runc.v2"
# Types that run an OCI program which can be replaced; others (kata, runsc) bring their own.
RUNC_TYPES = ("io.containerd.runc.v1", RUNC, "io.containerd.runtime.v1.linux")

WITHOUT_TEMPLATE = {
    "runtime_type": RUNC,
    "runtime_root": "",
    "runtime_engine": "",
    "privileged_without_host_devices": False,
}

ADDED = "pods with this runtime class, and the device plugin, need the handler"
SWITCHED = "the engine injects devices of CDI specs, or runs NRI plugins, only where that is switched on"
IMPORTED = "containerd reads the drop-in only where the main file imports it"


def plan_containerd(wish: EngineWish, state: EngineState) -> EnginePlan:
    """Steps to the wanted handlers, or to none of ours."""
    return plan_engine(wish, state, _decide)


def _decide(wish: EngineWish, state: EngineState) -> EnginePlan:
    version = config_version(state.source or state.main or state.dumped)
    if not 1 <= version <= NEWEST_VERSION:
        return make_plan((), [_unknown_version(version, wish.config_path)])
    if wish.state == ABSENT:
        return make_plan(_removal(wish, state, version))
    # Version 1 knows no merging at all, so a drop-in would have no effect.
    in_place = not wish.drop_in_path or version == 1
    if wish.nri_enabled and version == 1:
        return make_plan((), [_no_nri(wish.config_path)])
    if not wish.handlers and state.drop_in is None and _has_all(wish, state, version):
        return make_plan((), _remarks(wish, state, version))
    files = _in_place(wish, state, version) if in_place else _with_drop_in(wish, state, version)
    return make_plan(files, _remarks(wish, state, version))


def _has_all(wish: EngineWish, state: EngineState, version: int) -> bool:
    """Whether CDI and NRI are as wanted without any file of ours; what does not exist cannot be switched on."""
    document = state.dumped if state.dumped is not None else state.main
    there = effective(document)
    by_default = version >= FIRST_WITH_CDI if there["cdi_enabled"] is None else there["cdi_enabled"]
    cdi = not wish.cdi_enabled or by_default or not knows_cdi_switch(state)
    return cdi and (not wish.nri_enabled or there["nri_enabled"] is True)


def config_version(document: Document | None) -> int:
    """The configuration's version. Without the key it is 1; nothing at all is free to become 2.

    A file that does nothing but disable CRI (Docker's packages bring it) has nothing that depends on version 1.
    """
    if not document:
        return 2
    version = document.get("version")
    if version is None:
        return 2 if set(document) == {"disabled_plugins"} and set(document["disabled_plugins"]) <= {"cri"} else 1
    return version if isinstance(version, int) else 0


def plugin_name(version: int) -> str:
    """The key of the CRI plugin's table below plugins."""
    return PLUGINS.get(version, PLUGIN)


def handlers_of(document: Document | None) -> dict[str, str]:
    """Name -> program of all runtime handlers of a configuration.

    Empty text where the type decides about the program.
    """
    runtimes = tables(document, "plugins", plugin_name(config_version(document)), "containerd", "runtimes")
    return {
        name: str(lookup(entry, "options", "BinaryName") or lookup(entry, "options", "Runtime") or "")
        for name, entry in runtimes.items()
    }


def effective(document: Document | None) -> dict[str, Any]:
    """What a configuration amounts to for GPUs. ``cdi_enabled`` None: not said, the default of the version holds."""
    plugin = lookup(document, "plugins", plugin_name(config_version(document)))
    return {
        "handlers": handlers_of(document),
        "default_runtime": lookup(plugin, "containerd", "default_runtime_name"),
        "cdi_enabled": lookup(plugin, "enable_cdi"),
        "cdi_spec_dirs": lookup(plugin, "cdi_spec_dirs"),
        "nri_enabled": _switch(lookup(document, "plugins", NRI, "disable")),
    }


def _switch(disable: Any) -> bool | None:
    return not disable if isinstance(disable, bool) else None


def _with_drop_in(wish: EngineWish, state: EngineState, version: int) -> list[FileChange]:
    plugin = plugin_name(version)
    main = _enabled(copy.deepcopy(state.main or {}))
    main.setdefault("version", version)
    pattern = f"{posixpath.dirname(wish.drop_in_path)}/*.toml"
    if pattern not in main.get("imports", []):
        main["imports"] = [*main.get("imports", []), pattern]
    # containerd before 2.1 replaces a plugin's table by an imported one, so the drop-in has the whole of it.
    section = copy.deepcopy(lookup(state.source, "plugins", plugin) or {})
    drop_in: Document = {**copy.deepcopy(state.drop_in or {}), "version": version}
    others = {n: t for n, t in table(drop_in, "plugins").items() if n not in CRI_NAMES}
    drop_in["plugins"] = {**others, plugin: section}
    for name, entry in (lookup(state.drop_in, "plugins", plugin, "containerd", "runtimes") or {}).items():
        table(section, "containerd", "runtimes").setdefault(name, entry)
    configure(section, wish, state, version)
    with_nri(drop_in, wish, state)
    return [
        FileChange(wish.drop_in_path, state.drop_in, drop_in, ADDED if wish.handlers else SWITCHED),
        FileChange(wish.config_path, state.main, main, IMPORTED),
    ]


def _in_place(wish: EngineWish, state: EngineState, version: int) -> list[FileChange]:
    main = _enabled(copy.deepcopy(state.main or {}))
    main.setdefault("version", version)
    configure(table(main, "plugins", plugin_name(version)), wish, state, version)
    if wish.nri_enabled:
        table(main, "plugins", NRI)["disable"] = False
    return [FileChange(wish.config_path, state.main, main, ADDED if wish.handlers else SWITCHED)]


def configure(
    section: Document, wish: EngineWish, state: EngineState, version: int, *, source: Document | None = None
) -> None:
    """Puts the handlers, the default and CDI into the CRI plugin's table.

    ``source``: table containerd from which handlers inherit, where it is not in the section.
    """
    containerd = table(section, "containerd")
    runtimes = table(containerd, "runtimes") if wish.handlers else {}
    template = _template(source or containerd, wish) or _template(_built_in(state, version), wish)
    for handler in wish.handlers:
        runtimes[handler.name] = _entry(template, handler, version)
        if wish.annotations:
            found = runtimes[handler.name].get("container_annotations", [])
            runtimes[handler.name]["container_annotations"] = with_patterns(found, wish.patterns)
    if wish.set_as_default:
        containerd["default_runtime_name"] = wish.handlers[0].name
    elif containerd.get("default_runtime_name") in wish.names:
        del containerd["default_runtime_name"]
    if wish.cdi_enabled and knows_cdi_switch(state):
        (containerd if version == 1 else section)["enable_cdi"] = True
    if not containerd:
        del section["containerd"]


def with_nri(drop_in: Document, wish: EngineWish, state: EngineState) -> None:
    """Switches the Node Resource Interface on in our drop-in, or leaves it to the other files."""
    plugins = table(drop_in, "plugins")
    if wish.nri_enabled:
        # Before 2.1 an imported table takes the place of the other one.
        plugins[NRI] = {**copy.deepcopy(lookup(state.source, "plugins", NRI) or {}), "disable": False}
    else:
        plugins.pop(NRI, None)


def _template(containerd: Document, wish: EngineWish) -> Document | None:
    """The entry whose options a handler inherits: cgroup driver, sandboxer, annotations and so on."""
    runtimes = containerd.get("runtimes") or {}
    default = str(containerd.get("default_runtime_name") or "")
    names = [] if default.startswith("nvidia") or default in wish.names else [default]
    for name in [*names, *TEMPLATES]:
        entry = runtimes.get(name)
        if isinstance(entry, dict) and entry.get("runtime_type", RUNC) in (*RUNC_TYPES, ""):
            return entry
    return None


def _built_in(state: EngineState, version: int) -> Document:
    """What the engine has without any file.

    The handlers inherit it where the files say nothing, SystemdCgroup above all.
    """
    if plugin_name(config_version(state.dumped)) != plugin_name(version):
        return {}
    return _without_zeros(lookup(state.dumped, "plugins", plugin_name(version), "containerd") or {})


def _without_zeros(document: Document) -> Document:
    """A dump spells out every key; those that say nothing are left out."""
    rows = {n: _without_zeros(v) if isinstance(v, dict) else v for n, v in document.items()}
    return {n: v for n, v in rows.items() if v}


def knows_cdi_switch(state: EngineState) -> bool:
    """Whether enable_cdi means anything: containerd before 1.7 has no CDI, and from 2.3 on it is always on."""
    plugin = _dumped_plugin(state.dumped)
    return plugin is None or "enable_cdi" in plugin


def _dumped_plugin(dumped: Document | None) -> Document | None:
    return None if dumped is None else lookup(dumped, "plugins", plugin_name(config_version(dumped)))


def _entry(template: Document | None, handler: Handler, version: int) -> Document:
    entry = copy.deepcopy(WITHOUT_TEMPLATE if template is None else template)
    entry["runtime_type"] = entry.get("runtime_type") or RUNC
    options = table(entry, "options")
    options["BinaryName"] = handler.path
    if version == 1:
        options["Runtime"] = handler.path
    return entry


def _enabled(main: Document) -> Document:
    """Handlers belong to the CRI plugin, so it may not be switched off."""
    disabled = main.get("disabled_plugins")
    if isinstance(disabled, list) and any(name in CRI_NAMES for name in disabled):
        main["disabled_plugins"] = [name for name in disabled if name not in CRI_NAMES]
    return main


def _removal(wish: EngineWish, state: EngineState, version: int) -> list[FileChange]:
    plugin = plugin_name(version)
    main = undo(state.main or {}, [o for o in state.owned if o.path == wish.config_path])
    section = lookup(main, "plugins", plugin)
    if isinstance(section, dict):
        _forget(section, wish)
    main = prune(main, state.main or {})
    reason = "state is absent"
    created = is_created(wish.config_path, state.owned)
    after = None if state.main is None or (created and not set(main) - {"version"}) else main
    files = [FileChange(wish.config_path, state.main, after, reason)]
    if wish.drop_in_path and state.drop_in is not None:
        files.append(FileChange(wish.drop_in_path, state.drop_in, drop_in_left(wish, state, plugin), reason))
    return files


def drop_in_left(wish: EngineWish, state: EngineState, plugin: str) -> Document | None:
    """The drop-in without our handlers; None where no handler of somebody else is in it."""
    left = copy.deepcopy(state.drop_in or {})
    others = lookup(state.source, "plugins", plugin, "containerd", "runtimes") or {}
    runtimes = lookup(left, "plugins", plugin, "containerd", "runtimes") or {}
    if not [name for name in runtimes if name not in wish.names and name not in others]:
        return None
    _forget(lookup(left, "plugins", plugin), wish)
    left["plugins"].pop(NRI, None)
    return left


def _forget(section: Document, wish: EngineWish) -> None:
    containerd = section.get("containerd")
    if not isinstance(containerd, dict):
        return
    for name in wish.names:
        (containerd.get("runtimes") or {}).pop(name, None)
    if containerd.get("default_runtime_name") in wish.names:
        del containerd["default_runtime_name"]


def _remarks(wish: EngineWish, state: EngineState, version: int) -> list[Finding]:
    directories = lookup(state.source, "plugins", plugin_name(version), "cdi_spec_dirs")
    unseen = isinstance(directories, list) and not {"/var/run/cdi", "/run/cdi"} & set(directories)
    too_old = wish.cdi_enabled and config_version(state.dumped) < 3 and not knows_cdi_switch(state)
    found = [_unseen(directories, wish.config_path)] if unseen else []
    return found + ([_without_cdi()] if too_old else [])


def _unseen(directories: list[str], path: str) -> Finding:
    return Finding(
        id="GPU-CTR-103",
        severity="warning",
        summary="containerd does not look for CDI specs where they are written",
        wanted="/var/run/cdi in cdi_spec_dirs",
        found=f"cdi_spec_dirs = {directories} ({path})",
        remedy="add /var/run/cdi to cdi_spec_dirs, or set toolkit_cdi_path to a file in one of these directories",
        source="https://github.com/NVIDIA/nvidia-container-toolkit/issues/434",
    )


def _without_cdi() -> Finding:
    return Finding(
        id="GPU-CTR-112",
        severity="warning",
        summary="this containerd has no CDI, so GPUs come through the handler only",
        wanted="containerd 1.7 or later",
        found="containerd config dump knows no enable_cdi",
        remedy="update containerd, or set toolkit_runtime_cdi_enabled: false",
        source="https://github.com/containerd/containerd/blob/main/docs/cri/config.md",
    )


def _no_nri(path: str) -> Finding:
    return Finding(
        id="GPU-CTR-113",
        severity="error",
        summary="a configuration of version 1 cannot switch the Node Resource Interface on",
        wanted="nri_enabled: true",
        found=f"version 1 ({path})",
        remedy="convert the file with: containerd config migrate, or set nri_enabled: false",
        source="https://containerd.io/docs/2.2/nri",
    )


def _unknown_version(version: int, path: str) -> Finding:
    return Finding(
        id="GPU-CTR-104",
        severity="error",
        summary="this version of containerd's configuration is unknown",
        wanted=f"version = 1 to {NEWEST_VERSION}",
        found=f"version = {version or 'no integer'} ({path})",
        remedy="update gpu.fleet, or convert the file with: containerd config migrate",
        source="https://github.com/containerd/containerd/blob/main/docs/cri/config.md",
    )
