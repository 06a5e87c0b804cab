# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides how CRI-O learns of NVIDIA's runtime handlers. Private to this collection.

Source: crio.conf(5), crio.conf.d(5); NVIDIA Container Toolkit 1.20.0, nvidia-ctk runtime configure.
CRI-O has CDI on by itself and reads /etc/cdi and /var/run/cdi.
"""

from __future__ import annotations

import copy
from typing import Any

from .engine import (
    ABSENT,
    TEMPLATES,
    Document,
    EnginePlan,
    EngineState,
    EngineWish,
    FileChange,
    lookup,
    make_plan,
    plan_engine,
    prune,
    table,
    tables,
    undo,
    with_patterns,
)

ADDED = "pods with this runtime class, and the device plugin, need the handler"


def plan_crio(wish: EngineWish, state: EngineState) -> EnginePlan:
    """Steps to the wanted handlers, or to none of ours."""
    return plan_engine(wish, state, _decide)


def _decide(wish: EngineWish, state: EngineState) -> EnginePlan:
    if wish.state == ABSENT:
        return make_plan(_removal(wish, state))
    if wish.drop_in_path:
        # CRI-O merges its drop-ins key by key, so ours holds nothing but the handlers.
        drop_in = copy.deepcopy(state.drop_in or {})
        if not wish.handlers and not drop_in and not wish.nri_enabled:
            # CRI-O has CDI on by itself.
            return make_plan(())
        _configure(drop_in, wish, lookup(state.source, "crio", "runtime") or {})
        return make_plan([FileChange(wish.drop_in_path, state.drop_in, drop_in, ADDED)])
    main = copy.deepcopy(state.main or {})
    _configure(main, wish, lookup(state.source, "crio", "runtime") or {})
    return make_plan([FileChange(wish.config_path, state.main, main, ADDED)])


def effective(document: Document | None) -> dict[str, Any]:
    """What a configuration amounts to for GPUs."""
    runtime = lookup(document, "crio", "runtime")
    return {
        "handlers": {n: str(e.get("runtime_path", "")) for n, e in tables(runtime, "runtimes").items()},
        "default_runtime": lookup(runtime, "default_runtime"),
        "cdi_enabled": True,
        "cdi_spec_dirs": lookup(runtime, "cdi_spec_dirs"),
        "nri_enabled": lookup(document, "crio", "nri", "enable_nri"),
    }


def _configure(document: Document, wish: EngineWish, source: Document) -> None:
    runtime = table(document, "crio", "runtime")
    runtimes = table(runtime, "runtimes") if wish.handlers else {}
    template = _template(source, wish)
    for handler in wish.handlers:
        runtimes[handler.name] = {**template, "runtime_path": handler.path, "runtime_type": "oci"}
        if wish.annotations:
            found = template.get("allowed_annotations", [])
            runtimes[handler.name]["allowed_annotations"] = with_patterns(found, wish.annotations)
    if wish.nri_enabled:
        table(document, "crio", "nri")["enable_nri"] = True
    elif lookup(document, "crio", "nri") == {"enable_nri": True} and wish.drop_in_path:
        # The drop-in is all ours; without this key the other files say what holds.
        del document["crio"]["nri"]
    if wish.set_as_default:
        runtime["default_runtime"] = wish.handlers[0].name
    elif runtime.get("default_runtime") in wish.names:
        del runtime["default_runtime"]


def _template(source: Document, wish: EngineWish) -> Document:
    entries = source.get("runtimes") or {}
    default = str(source.get("default_runtime") or "")
    names = [] if default.startswith("nvidia") or default in wish.names else [default]
    for name in [*names, *TEMPLATES]:
        entry = entries.get(name)
        # Virtual machines and WebAssembly runtimes bring their own kind of program.
        if isinstance(entry, dict) and entry.get("runtime_type", "oci") in ("oci", ""):
            return copy.deepcopy(entry)
    return {}


def _removal(wish: EngineWish, state: EngineState) -> list[FileChange]:
    reason = "state is absent"
    files = []
    if wish.drop_in_path and state.drop_in is not None:
        left = copy.deepcopy(state.drop_in)
        _forget(left, wish)
        others = lookup(left, "crio", "runtime", "runtimes")
        files.append(FileChange(wish.drop_in_path, state.drop_in, left if others else None, reason))
    if state.main is not None:
        main = undo(state.main, [o for o in state.owned if o.path == wish.config_path])
        if not wish.drop_in_path:
            _forget(main, wish)
        files.append(FileChange(wish.config_path, state.main, prune(main, state.main), reason))
    return files


def _forget(document: Document, wish: EngineWish) -> None:
    runtime = lookup(document, "crio", "runtime")
    if not isinstance(runtime, dict):
        return
    for name in wish.names:
        (runtime.get("runtimes") or {}).pop(name, None)
    if runtime.get("default_runtime") in wish.names:
        del runtime["default_runtime"]
