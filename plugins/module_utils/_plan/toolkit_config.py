# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides what in the toolkit's config.toml has to change. Private to this collection."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._catalog.toolkit_config import (
    FREE_LDCONFIG,
    LDCONFIG,
    PLAIN_LDCONFIG,
    REAL_LDCONFIG,
    SETTINGS,
    SUSE_USER,
    USER,
    Setting,
)
from .engine import ABSENT, Document, EnginePlan, FileChange, Owned, is_created, lookup, make_plan, prune, table, undo
from .model import Finding

CLOSE_NAMES = 3
WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
SOURCE = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html"


@dataclass(frozen=True)
class ConfigState:
    """The file, parsed; None where it is absent. ``error``: why it cannot be parsed.

    ``real_ldconfig``: ldconfig of this host is a wrapper. ``suse``: the host is a SUSE, or says that it is like one.
    """

    document: Document | None
    error: str = ""
    owned: tuple[Owned, ...] = field(default_factory=tuple)
    real_ldconfig: bool = False
    suse: bool = False


def plan_toolkit_config(path: str, state_wanted: str, settings: Mapping[str, Any], state: ConfigState) -> EnginePlan:
    """``settings``: dotted name -> value; None takes the key out, so that the toolkit's default holds.

    A file that is not there gets the toolkit's defaults for this host too, as its packages would write it.
    With ``state_wanted`` absent, every value that this collection has set goes back to what it was.
    """
    if state.error:
        return make_plan((), [_unreadable(path, state.error)])
    if state_wanted == ABSENT:
        return make_plan([FileChange(path, state.document, _without_ours(path, state), "state is absent", "nothing")])
    values, findings = cast_settings(settings)
    try:
        after = _with(_base(path, settings, state), values)
    except TypeError as error:
        return make_plan((), [*findings, _unreadable(path, str(error))])
    findings += _ldconfig(path, after)
    reason = "the settings are wanted so"
    kept = after if after or state.document is not None else None
    change = FileChange(path, state.document, kept, reason, "nothing")
    return make_plan([change], findings)


def cast_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Values in the types that the toolkit wants (survey answers are texts; lists may be given with colons between)."""
    values: dict[str, Any] = {}
    findings: list[Finding] = []
    for name, value in settings.items():
        row = SETTINGS.get(name)
        if row is None:
            # What is to go may be of a toolkit that was here before.
            values[name] = None
            findings += [] if value is None else [_unknown(name)]
            continue
        values[name] = None if value is None else _cast(row, value)
        if value is not None and not _fits(row, values[name]):
            findings.append(_refused(name, value, row))
    return values, findings


def current(settings: Mapping[str, Any], document: Document | None) -> dict[str, Any]:
    """Dotted name -> value that the file has now, None for a key that it lacks."""
    return {name: lookup(document, *name.split(".")) for name in settings}


def _cast(row: Setting, value: Any) -> Any:
    if row.kind == "bool" and isinstance(value, str):
        return WORDS.get(value.strip().lower(), value)
    if row.kind == "list" and isinstance(value, str):
        return [part for part in value.split(":") if part]
    return value


def _fits(row: Setting, value: Any) -> bool:
    if row.kind == "bool":
        return isinstance(value, bool)
    if row.kind == "list":
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    return isinstance(value, str) and (not row.values or value in row.values)


def _with(document: Document, values: Mapping[str, Any]) -> Document:
    after = copy.deepcopy(document)
    for name, value in values.items():
        *parents, key = name.split(".")
        if value is None:
            parent = lookup(after, *parents) if parents else after
            if isinstance(parent, dict):
                parent.pop(key, None)
        else:
            table(after, *parents)[key] = value
    return prune(after, document)


def _without_ours(path: str, state: ConfigState) -> Document | None:
    if state.document is None:
        return None
    after = undo(state.document, [o for o in state.owned if o.path == path])
    return None if not after and is_created(path, state.owned) else after


def _base(path: str, settings: Mapping[str, Any], state: ConfigState) -> Document:
    """What the settings are laid over: the file without what an earlier run has set and is wanted no longer."""
    defaults = default_settings(real_ldconfig=state.real_ldconfig, suse=state.suse)
    if state.document is None:
        return _with({}, defaults) if settings else {}
    ours = [(row, ".".join(row.key)) for row in state.owned if row.path == path and row.key]
    dropped = [row for row, name in ours if name not in settings and defaults.get(name) != row.ours]
    return undo(state.document, dropped)


def default_settings(*, real_ldconfig: bool, suse: bool) -> dict[str, Any]:
    """Dotted name -> value of a new file on this host."""
    rows = {name: row.default for name, row in SETTINGS.items() if row.default is not None}
    found: dict[str, Any] = {n: list(v) if isinstance(v, tuple) else v for n, v in rows.items()}
    found[LDCONFIG] = f"@{REAL_LDCONFIG if real_ldconfig else PLAIN_LDCONFIG}"
    return {**found, USER: SUSE_USER} if suse else found


def _ldconfig(path: str, after: Document) -> list[Finding]:
    value = lookup(after, *LDCONFIG.split("."))
    free = lookup(after, *FREE_LDCONFIG.split("."))
    if not isinstance(value, str) or value.startswith("@") or free is True:
        return []
    return [
        Finding(
            id="GPU-CTR-108",
            severity="error",
            summary="the toolkit would run ldconfig out of the container, and refuses to start containers so",
            wanted=f"{LDCONFIG} that begins with @ (the host's program)",
            found=f"{LDCONFIG} = {value} ({path})",
            remedy=f"set {LDCONFIG} to @{value}, or {FREE_LDCONFIG} to true",
            source="CVE-2024-0132; " + SOURCE,
        )
    ]


def _unreadable(path: str, error: str) -> Finding:
    return Finding(
        id="GPU-CTR-109",
        severity="error",
        summary=f"the toolkit's configuration cannot be read: {error}",
        wanted=f"TOML in {path}",
        found=error,
        remedy=f"repair {path} by hand, or remove it and run: nvidia-ctk config --in-place",
        source=SOURCE,
    )


def _unknown(name: str) -> Finding:
    """A slip of the pen in a name would change nothing, and nobody would be told."""
    close = difflib.get_close_matches(name, SETTINGS, n=CLOSE_NAMES) or _same_end(name)
    return Finding(
        id="GPU-CTR-110",
        severity="error",
        summary=f"the toolkit 1.20 does not know the setting {name}",
        wanted="one of the keys that nvidia-ctk config default prints",
        found=f"settings: {name}",
        remedy=f"correct the name (close to it: {', '.join(close)})" if close else "take it out, or correct the name",
        source=SOURCE,
    )


def _same_end(name: str) -> list[str]:
    """Settings whose last part is that of ``name``: the table was forgotten, or is another one."""
    end = name.rpartition(".")[2]
    return [known for known in SETTINGS if known.rpartition(".")[2] == end][:CLOSE_NAMES]


def _refused(name: str, value: Any, row: Setting) -> Finding:
    kinds = {"bool": "true or false", "list": "a list of texts", "str": "a text"}
    wanted = f"one of {', '.join(row.values)}" if row.values else kinds[row.kind]
    return Finding(
        id="GPU-CTR-111",
        severity="error",
        summary=f"the setting {name} cannot be {value!r}",
        wanted=f"{name}: {wanted}",
        found=f"settings: {name}: {value!r}",
        remedy=f"set {name} to {wanted}",
        source=SOURCE,
    )
