# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a CDI spec, also the beginning of one. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from ..._plan.cdi_rules import minimum_version
from ..._plan.cdi_stale import spec_driver_version
from .documents import Parsed, parse_json, parse_yaml, rows_of, table_of, texts_of

# Lines that may be lost at the end of a copy before it counts as broken.
LOST_LINES = 3
CONTROL = "/dev/nvidia"
NEEDED = ("cdiVersion", "kind", "devices")


def read_cdi_spec(text: str) -> dict[str, Any]:
    """What the spec injects.

    ``cdi_version`` as written; ``minimum_version``: what the content needs (None for a part); ``cdi_kind``: vendor and
    class; ``devices``: names; ``device_nodes`` of all devices and of none in particular, paths; ``control_nodes``: the
    common ones below /dev/nvidia, without that beginning (``ctl``, ``uvm``, ``modeset`` ...); ``env``; ``hooks``:
    names of subcommands, of which ``first_hook`` is the first; ``hook_path``: its program (None in a part);
    ``mounts``: how many; ``driver_version`` that the spec was made for, None where nothing in it says so. ``cut``:
    keys that every spec has are missing at the end. ``valid``, else ``error``.
    """
    parsed = _parse(text)
    spec = _sound(parsed.table)
    common = spec["containerEdits"]
    edits = [common, *(d["containerEdits"] for d in spec["devices"])]
    hooks = [h for e in edits for h in e["hooks"]]
    names = [name for name in map(_hook_name, hooks) if name]
    whole = all(key in parsed.table for key in NEEDED)
    return {
        "cdi_version": spec["cdiVersion"],
        "minimum_version": minimum_version(spec) if whole else None,
        "cdi_kind": spec["kind"],
        "devices": [d["name"] for d in spec["devices"]],
        "device_nodes": list(dict.fromkeys(n["path"] for e in edits for n in e["deviceNodes"])),
        "control_nodes": [n["path"][len(CONTROL) :].lstrip("-") for n in common["deviceNodes"] if _is_control(n)],
        "env": common["env"],
        "hooks": list(dict.fromkeys(names)),
        "first_hook": names[0] if names else None,
        "hook_path": next((h["path"] for h in hooks if h["path"]), None),
        "mounts": sum(len(e["mounts"]) for e in edits),
        "driver_version": spec_driver_version(spec),
        "cut": not whole,
        "valid": parsed.error is None and bool(parsed.table),
        "error": parsed.error,
    }


def _parse(text: str) -> Parsed:
    """JSON is YAML too, but JSON's own errors are clearer. A copy may end in the middle of a line."""
    if text.lstrip().startswith("{"):
        return parse_json(text)
    parsed = parse_yaml(text)
    lines = text.splitlines()
    for lost in range(1, min(LOST_LINES, len(lines) - 1) + 1):
        if parsed.error is None:
            break
        shorter = parse_yaml("\n".join(lines[:-lost]))
        parsed = shorter if shorter.error is None and shorter.table else parsed
    return parsed


def _is_control(node: Mapping[str, Any]) -> bool:
    return str(node["path"]).startswith(CONTROL) and "/" not in node["path"][len(CONTROL) :]


def _hook_name(hook: Mapping[str, Any]) -> str | None:
    """nvidia-cdi-hook create-symlinks ..., or nvidia-ctk hook create-symlinks ..."""
    words = [w for w in hook["args"][1:] if w != "hook"]
    return words[0] if words else posixpath.basename(hook["path"]) or None


def _sound(document: Mapping[str, Any]) -> dict[str, Any]:
    """The spec with every key that is looked at in the type that the specification wants."""
    devices = rows_of(document.get("devices"))
    return {
        **document,
        "cdiVersion": _text(document.get("cdiVersion")),
        "kind": _text(document.get("kind")),
        "devices": [
            {**d, "name": str(d.get("name")), "containerEdits": _edits(d.get("containerEdits"))} for d in devices
        ],
        "containerEdits": _edits(document.get("containerEdits")),
    }


def _edits(value: Any) -> dict[str, Any]:
    edits = table_of(value)
    rows = {key: rows_of(edits.get(key)) for key in ("deviceNodes", "mounts", "hooks")}
    rdt = edits.get("intelRdt")
    return {
        **edits,
        "intelRdt": rdt if isinstance(rdt, Mapping) else None,
        "env": texts_of(edits.get("env")),
        "deviceNodes": [{**n, "path": n["path"]} for n in rows["deviceNodes"] if isinstance(n.get("path"), str)],
        "mounts": rows["mounts"],
        "hooks": [{**h, "path": _text(h.get("path")) or "", "args": texts_of(h.get("args"))} for h in rows["hooks"]],
    }


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int, float)) else None
