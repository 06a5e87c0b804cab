# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides how the containerd of a Kubernetes distribution learns of the handlers. Private to this collection.

k3s, RKE2 and k0s lay a drop-in over their own settings key by key, so it holds nothing but what is wanted: a copy of
their settings would hold fast what they change at their next start.
"""

from __future__ import annotations

import copy
import posixpath

from .._catalog.engines import K0S, Distribution
from .containerd import ADDED, SWITCHED, config_version, configure, drop_in_left, effective, plugin_name, with_nri
from .engine import ABSENT, Document, EnginePlan, EngineState, EngineWish, FileChange, lookup, make_plan, table
from .model import Finding


def decide_distribution(wish: EngineWish, state: EngineState, row: Distribution) -> EnginePlan:
    """Steps to the wanted handlers in the distribution's drop-in, or to none of ours."""
    found = state.source or state.main or state.dumped
    version = config_version(found) if found else _first_version(wish, row)
    if wish.state == ABSENT:
        plugin = plugin_name(version)
        left = None if state.drop_in is None else drop_in_left(wish, state, plugin)
        return make_plan([FileChange(wish.drop_in_path, state.drop_in, left, "state is absent")])
    if row.managed and not state.managed:
        return make_plan((), [_not_managed(row)])
    if not version:
        return make_plan((), [_never_started(row)])
    if row.name != K0S and state.main is not None and not _imports(state.main, wish.drop_in_path):
        done = _is_done(wish, state)
        return make_plan((), () if done else [_no_drop_ins(row, wish)])
    drop_in: Document = {**copy.deepcopy(state.drop_in or {}), "version": version}
    section = table(drop_in, "plugins", plugin_name(version))
    source = lookup(state.source, "plugins", plugin_name(version), "containerd") or {}
    configure(section, wish, state, version, source=source)
    with_nri(drop_in, wish, state)
    return make_plan([FileChange(wish.drop_in_path, state.drop_in, drop_in, ADDED if wish.handlers else SWITCHED)])


def _first_version(wish: EngineWish, row: Distribution) -> int:
    """What a distribution will write that was never started, by the folder of the drop-in; 0 where it does not tell."""
    if len(row.drop_ins) < 2:
        return 0
    return max(2, next((version for version, path in row.drop_ins if path == wish.drop_in_path), 0))


def _never_started(row: Distribution) -> Finding:
    return Finding(
        id="GPU-CTR-115",
        severity="error",
        summary=f"the version of the settings of {row.name}'s containerd is unknown, as it was never started",
        wanted=f"version = 2 or 3 ({row.config})",
        found="no such file",
        remedy=f"start {row.name} once, then run this again",
        source=row.source,
    )


def _imports(main: Document, drop_in: str) -> bool:
    patterns = main.get("imports")
    return isinstance(patterns, list) and f"{posixpath.dirname(drop_in)}/*.toml" in patterns


def _is_done(wish: EngineWish, state: EngineState) -> bool:
    """k3s and RKE2 find NVIDIA's programs by themselves; nothing is left where that is all that is wanted."""
    there = effective(state.main)
    handlers = all(there["handlers"].get(h.name) == h.path for h in wish.handlers)
    default = not wish.set_as_default or there["default_runtime"] == wish.handlers[0].name
    cdi = not wish.cdi_enabled or there["cdi_enabled"] is True or config_version(state.main) >= 3
    return handlers and default and cdi and not wish.nri_enabled and not wish.annotations


def _not_managed(row: Distribution) -> Finding:
    path, words = row.managed or ("", "")
    return Finding(
        id="GPU-CTR-045",
        severity="error",
        summary=f"{row.name} does not read drop-ins, because somebody has taken over its containerd's settings",
        wanted=f"# {words} ({path})",
        found=f"{path} without these words",
        remedy=f"remove {path} and restart {row.name}; or set distribution: none and config_path: {path}",
        source="https://docs.k0sproject.io/stable/runtime/",
    )


def _no_drop_ins(row: Distribution, wish: EngineWish) -> Finding:
    folder = posixpath.dirname(wish.drop_in_path)
    template = f"{folder[: -len('.d')]}.tmpl"
    return Finding(
        id="GPU-CTR-047",
        severity="error",
        summary=f"this {row.name} reads no drop-ins, and writes its containerd's settings anew at every start",
        wanted=f"imports = ['{folder}/*.toml'] (the template of {row.name} since 2026-02)",
        found=f"{wish.config_path} without it",
        remedy=(
            f"update {row.name}; or restart it, if it was started before the toolkit was installed; or put the handlers"
            f' into {template} below {{{{ template "base" . }}}}'
        ),
        source="https://github.com/k3s-io/k3s/pull/13680",
    )
