# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides whether CDI specs have to be written or removed. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .cdi_build import INFIXES, Built, build_spec
from .cdi_findings import HOOK_MISSING
from .cdi_foreign import ForeignSpec, judge_foreign, report_left
from .cdi_host import CdiHost
from .cdi_stale import Stale
from .cdi_wish import CdiWish, check_wish
from .model import Finding, Plan, Step

WRITE, REMOVE, SAVE, FORGET = "write_spec", "remove_spec", "save_options", "forget_options"
CREATE_NODE = "create_node"
WISH_PATH = "/var/lib/gpu-fleet/cdi/wish.yaml"
MODE = 0o644


@dataclass(frozen=True)
class ExistingSpec:
    """The file at the wanted path. ``document`` is None where it cannot be read as a spec.

    ``error`` says why, or why engines would ignore a file that can be read.
    """

    document: Mapping[str, Any] | None
    mode: int = MODE
    error: str = ""


@dataclass(frozen=True)
class CdiState:
    """Both sides: the wanted spec as this host gives it, and what is there.

    ``host`` is None where it was not observed (removal). ``saved``: the options that the boot-time unit has for
    this path, or None. ``foreign``: specs of the same kind at other paths; ``rank``: place of our directory in the
    engines' order.
    """

    host: CdiHost | None
    existing: ExistingSpec | None
    stale: tuple[Stale, ...] = ()
    saved: Mapping[str, Any] | None = None
    further: Mapping[str, ExistingSpec] = field(default_factory=dict)
    refused: tuple[Finding, ...] = field(default_factory=tuple)
    foreign: tuple[ForeignSpec, ...] = ()
    rank: int = 0


def build(wish: CdiWish, state: CdiState) -> Built:
    """The wanted spec; none where an option is wrong or the host was not observed."""
    refused = check_wish(wish) + state.refused
    if refused or state.host is None:
        return Built(None, refused)
    made = {path: row.node for path, row in state.host.creatable.items()}
    return build_spec(wish, replace(state.host, nodes={**made, **state.host.nodes}))


def plan_cdi(wish: CdiWish, state: CdiState, *, at_boot: bool, may_come: bool = False) -> Plan:
    """Steps to the wanted spec.

    ``at_boot``: the boot-time unit shall write the same. ``may_come``: check mode, in which an earlier step of the same
    run may bring driver and hook program; without a driver the plan then says so in place of an error.
    """
    if may_come and _waits_for_driver(state) and not check_wish(wish):
        return Plan(steps=(_later(wish, state), *_save(wish, state, at_boot)))
    built = build(wish, state)
    if built.spec is None:
        return Plan(findings=built.findings)
    steps = [*_create_nodes(state, built.spec), *_write(wish, state, built), *_save(wish, state, at_boot)]
    found = [f for f in built.findings if not (may_come and f.id == HOOK_MISSING)]
    return Plan(tuple(steps), (*found, *_foreign(wish, state, built.spec)))


def _foreign(wish: CdiWish, state: CdiState, spec: Mapping[str, Any]) -> tuple[Finding, ...]:
    return judge_foreign(wish.path, state.rank, [d["name"] for d in spec["devices"]], state.foreign)


def _create_nodes(state: CdiState, spec: Mapping[str, Any]) -> list[Step]:
    """Capability nodes come only when a program asks for them, so after a change of the MIG layout they are missing."""
    listed = {n["path"] for d in spec["devices"] for n in d["containerEdits"].get("deviceNodes", [])}
    rows = sorted((state.host.creatable if state.host else {}).items())
    return [
        Step(CREATE_NODE, path, None, f"{row.node.major}:{row.node.minor}", "a MIG device needs its capability node")
        for path, row in rows
        if path in listed
    ]


def _waits_for_driver(state: CdiState) -> bool:
    return state.host is not None and state.host.mode == "nvml" and state.host.nvml_absent


def plan_removal(wish: CdiWish, state: CdiState) -> Plan:
    """Steps after which neither the file nor the boot-time unit's options for it are there."""
    steps = []
    if state.existing is not None:
        steps.append(Step(REMOVE, wish.path, _describe(state.existing), None, "state is absent"))
    steps += [Step(REMOVE, p, _describe(found), None, "state is absent") for p, found in state.further.items()]
    if state.saved is not None:
        steps.append(
            Step(FORGET, WISH_PATH, f"options of {wish.path}", None, "the boot-time unit must not write it again")
        )
    return Plan(tuple(steps), report_left(wish.kind, state.foreign))


def _later(wish: CdiWish, state: CdiState) -> Step:
    before = _describe(state.existing) if state.existing else None
    after = "known after load nvidia"
    return Step(WRITE, wish.path, before, after, "the spec is made of what the loaded driver lists")


def _write(wish: CdiWish, state: CdiState, built: Built) -> list[Step]:
    wanted = wanted_specs(wish, built)
    steps = [
        _write_one(path, state if path == wish.path else _part(state, path), spec) for path, spec in wanted.items()
    ]
    gone = [Step(REMOVE, p, _describe(f), None, "no GPU is in it") for p, f in state.further.items() if p not in wanted]
    return [step for step in steps if step is not None] + gone


def wanted_specs(wish: CdiWish, built: Built) -> dict[str, Mapping[str, Any]]:
    """Path -> spec: the one that is asked for, and those of a part of the GPUs beside it."""
    stem, suffix = posixpath.splitext(wish.path)
    further = {f"{stem}{infix}{suffix}": spec for infix, spec in built.further.items()}
    return {} if built.spec is None else {wish.path: built.spec, **further}


def further_paths(wish: CdiWish) -> dict[str, str]:
    """Path -> kind of the specs that may be beside the wanted one."""
    stem, suffix = posixpath.splitext(wish.path)
    return {f"{stem}{infix}{suffix}": f"{wish.kind}{infix}" for infix in INFIXES.values()}


def _part(state: CdiState, path: str) -> CdiState:
    return replace(state, existing=state.further.get(path), stale=())


def _write_one(path: str, state: CdiState, spec: Mapping[str, Any]) -> Step | None:
    reason = _reason(state, spec)
    if reason is None:
        return None
    before = _describe(state.existing) if state.existing else None
    return Step(WRITE, path, before, _describe(ExistingSpec(spec)), reason)


def _reason(state: CdiState, spec: Mapping[str, Any]) -> str | None:
    """Why the file has to be written, or None."""
    existing = state.existing
    if existing is None:
        return "engines find no CDI devices of this kind at this path"
    if existing.document is None:
        return f"the file is no CDI spec: {existing.error}"
    if existing.document != spec:
        if state.stale:
            return f"the spec is stale: {', '.join(dict.fromkeys(s.reason for s in state.stale))}"
        if existing.error:
            return f"engines ignore the file: {existing.error}"
        return "the spec differs from what these options give on this host"
    if existing.mode != MODE:
        return f"engines of other users cannot rely on a file of mode {existing.mode:04o}"
    return None


def _describe(existing: ExistingSpec) -> str:
    if existing.document is None:
        return f"unreadable: {existing.error}"
    devices = [str(d.get("name")) for d in existing.document.get("devices") or []]
    text = f"{existing.document.get('kind')}, CDI {existing.document.get('cdiVersion')}: {', '.join(devices)}"
    return text if existing.mode == MODE else f"{text}, mode {existing.mode:04o}"


def _save(wish: CdiWish, state: CdiState, at_boot: bool) -> list[Step]:
    wanted = wish.saved()
    if not at_boot or state.saved == wanted:
        return []
    before = None if state.saved is None else f"other options of {wish.path}"
    reason = "/var/run does not survive a reboot; gpu-fleet-cdi.service writes the spec again with these options"
    return [Step(SAVE, WISH_PATH, before, f"options of {wish.path}", reason)]
