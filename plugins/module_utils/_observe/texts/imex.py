# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``nvidia-imex-ctl``: -q (one word), -N (tables) and -N -j (JSON). Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .documents import parse_json, table_of
from .plain import number
from .values import version

# States of a daemon, in the order in which it passes them; NVIDIA IMEX service guide.
DAEMON_STATES = (
    "INITIALIZING",
    "STARTING_AUTH_SERVER",
    "WAITING_FOR_PEERS",
    "WAITING_FOR_RECOVERY",
    "INIT_GPU",
    "READY",
    "SHUTTING_DOWN",
    "UNAVAILABLE",
)
READY, CONNECTED = "READY", "CONNECTED"
LETTERS = {
    "I": "INVALID",
    "N": "NEVER_CONNECTED",
    "R": "RECOVERING",
    "D": "DISCONNECTED",
    "A": "AUTHENTICATING",
    "!V!": "VERSION_MISMATCH",
    "!M!": "NODE_MAP_MISMATCH",
    "C": CONNECTED,
}
NODE = re.compile(
    r"^[ \t]*(?:(\*)[ \t]*)?Node #([0-9]{1,5})\s*(\*?)[ \t]+- (\S{1,100})[ \t]+(?:\((\S{1,100})\)[ \t]+)?"
    r"- ([A-Z_]{1,40})(?:[ \t]+- Version: (\S{1,30}))?[ \t]*$",
    re.MULTILINE,
)
DOMAIN = re.compile(r"^[ \t]*Domain State: ([A-Z_]{1,30})[ \t]*$", re.MULTILINE)
MATRIX_HEAD = re.compile(r"^\s*Nodes From\\To\s+([0-9 ]+)$")
MATRIX_ROW = re.compile(r"^\s*(?:\*\s*)?([0-9]{1,5})\*?\s+(\S.*)$")
LEGEND = re.compile(r"^(!?[A-Z]!?) - ", re.MULTILINE)


def read_imex(text: str) -> dict[str, Any]:
    """State of an IMEX domain as one node sees it.

    ``domain``: UP, DEGRADED, DOWN; ``daemon``: the word of -q; ``nodes``: rows of ``index``, ``host`` (the address,
    also where a name was asked for), ``host_name`` (None without -H), ``state``, ``version`` (None in older releases),
    ``local`` (marked with an asterisk). ``ready``: how many nodes are. ``connections``: rows of ``from``, ``to`` and
    ``state`` that are not CONNECTED. ``all_connected``: None where no connection is told; one node alone is always
    connected, so see ``single_node``. ``imex_version``: where all nodes have one. ``error``: a JSON text that could
    not be read.
    """
    stripped = text.strip()
    is_json = stripped.startswith("{")
    parsed = parse_json(stripped if is_json else "{}")
    found = _from_json(parsed.table) if is_json else _from_text(text)
    daemon = stripped if stripped in DAEMON_STATES else None
    return {**_summary(*found), "daemon": daemon, "legend": LEGEND.findall(text), "error": parsed.error}


def _summary(domain: str | None, nodes: list[dict[str, Any]], links: list[tuple[int, int, str]]) -> dict[str, Any]:
    versions = {n["version"] for n in nodes}
    broken = [{"from": a, "to": b, "state": state} for a, b, state in links if state != CONNECTED]
    return {
        "domain": domain,
        "nodes": nodes,
        "ready": sum(n["state"] == READY for n in nodes),
        "connections": broken,
        "all_connected": not broken if links else None,
        "single_node": len(nodes) == 1,
        "imex_version": versions.pop() if len(versions) == 1 else None,
    }


def _from_text(text: str) -> tuple[str | None, list[dict[str, Any]], list[tuple[int, int, str]]]:
    nodes = []
    for before, index, after, host, name, state, release in NODE.findall(text):
        local = bool(before or after)
        nodes.append(_node(int(index), host, name or None, state, version(release), local))
    domain = DOMAIN.search(text)
    return domain.group(1) if domain else None, nodes, _matrix(text)


def _node(
    index: int | None, host: Any, host_name: Any, state: Any, release: str | None, local: bool | None
) -> dict[str, Any]:
    return {
        "index": index,
        "host": host,
        "host_name": host_name,
        "state": state,
        "version": release,
        "local": local,
    }


def _matrix(text: str) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    columns: list[int] = []
    for line in text.splitlines():
        head = MATRIX_HEAD.match(line)
        row = MATRIX_ROW.match(line) if columns else None
        if head:
            columns = [int(w) for w in head.group(1).split() if len(w) < 6]
        elif row:
            states = [LETTERS[w] for w in row.group(2).split() if w in LETTERS]
            found += [(int(row.group(1)), to, state) for to, state in zip(columns, states)]
    return found


def _from_json(document: Mapping[str, Any]) -> tuple[str | None, list[dict[str, Any]], list[tuple[int, int, str]]]:
    nodes, links = [], []
    for key, value in table_of(document.get("nodes")).items():
        index, row = number(str(key)), table_of(value)
        host, name, state, release = (_text(row.get(k)) for k in ("host", "hostName", "status", "version"))
        nodes.append(_node(index, host, name, state, version(release), None))
        for to, link in table_of(row.get("connections")).items():
            links.append((index or 0, number(str(to)) or 0, str(table_of(link).get("status"))))
    return _text(document.get("status")), nodes, links


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
