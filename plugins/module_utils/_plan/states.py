# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides the state table of a fleet from what its roles published. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._catalog.states import (
    BY_ROLE,
    CLUSTER_ROLES,
    DISABLED,
    ERROR,
    HOST_ROLES,
    IGNORED,
    NOT_READY,
    ORDERED,
    READY,
    State,
)
from .role_result import published

Results = Mapping[str, Mapping[str, Any]]
NO_ROLE = "this collection has no role for it yet"
NO_GPU = "the host has no NVIDIA GPU"
NEVER_RAN = "nothing was reported: the host was unreachable, or the run ended before"
GOOD = (READY, DISABLED, IGNORED)


@dataclass(frozen=True)
class HostState:
    """One cell of the table: ``state`` is the operator's name of the row, ``value`` one of the five words."""

    host: str
    state: str
    role: str
    value: str
    reason: str


def decide_states(
    hosts: Sequence[str], results: Mapping[str, Results], *, cluster_reason: str = "", roles: Sequence[str] = ()
) -> tuple[HostState, ...]:
    """All 20 states of every host, in the operator's order.

    Where ``roles`` were chosen, a state of another one is left out that has no result.

    ``results`` maps host to role to the role's published result. ``cluster_reason`` says why the cluster was left out,
    empty
    where it was not; its states are disabled then.
    """
    return tuple(
        _cell(host, row, results.get(host) or {}, cluster_reason)
        for host in hosts
        for row in ORDERED
        if not roles or not row.role or row.role in roles or row.role in (results.get(host) or {})
    )


def _cell(host: str, row: State, results: Results, cluster_reason: str) -> HostState:
    value, reason = _value(row, results, cluster_reason)
    return HostState(host, row.name, row.role, value, reason)


def _value(row: State, results: Results, cluster_reason: str) -> tuple[str, str]:
    if not row.role:
        return DISABLED, NO_ROLE
    ignored = any(r["state"] == IGNORED for role, r in results.items() if role in HOST_ROLES)
    if ignored and row.place == "cluster":
        return IGNORED, NO_GPU
    if row.role in results:
        return str(results[row.role]["state"]), str(results[row.role].get("reason") or "")
    if not results:
        return ERROR, NEVER_RAN
    if ignored:
        return IGNORED, NO_GPU
    if row.place == "cluster" and cluster_reason:
        return DISABLED, cluster_reason
    blocker = _blocker(results)
    return NOT_READY, f"waits for {blocker}" if blocker else "its role did not run"


def _blocker(results: Results) -> str:
    for role in (*HOST_ROLES, *CLUSTER_ROLES):
        if role in results and results[role]["state"] not in GOOD:
            return BY_ROLE[role].title
    return ""


def host_state(results: Results, *, planned: bool) -> str:
    """What node_labels wants to know of a host: ready, not_ready, ignored, planned or unknown.

    Only a host that was found to be not ready is not_ready. One that could not be looked at, or whose plan was refused,
    is unknown: a wrong variable must not drain a node that works.
    """
    states = [results[role]["state"] for role in HOST_ROLES if role in results]
    if IGNORED in states:
        return "ignored"
    if NOT_READY not in states and (ERROR in states or not states):
        return "unknown"
    if len(states) == len(HOST_ROLES) and all(s in (READY, DISABLED) for s in states):
        return "ready"
    return "planned" if planned else "not_ready"


def conditions(cells: Iterable[HostState]) -> list[dict[str, str]]:
    """The operator's two conditions, Ready and Error, for the whole fleet; one of them is True."""
    rows = list(cells)
    bad = [c for c in rows if c.value not in GOOD]
    broken = [c for c in bad if c.value == ERROR]
    gpus = any(c.value == READY for c in rows if c.role == "driver")
    if broken:
        return _pair("Error", "ReconcileFailed", _told(broken))
    if bad:
        reason = "DriverNotReady" if any(c.role == "driver" for c in bad) else "OperandNotReady"
        return _pair("Error", reason, _told(bad))
    return _pair("Ready", "Reconciled" if gpus else "NoGPUNodes", "all states are ready, disabled or ignored")


def _told(cells: Sequence[HostState]) -> str:
    names = sorted({c.state for c in cells})
    return f"states not ready: {', '.join(names)} on {len({c.host for c in cells})} host(s)"


def _pair(true: str, reason: str, message: str) -> list[dict[str, str]]:
    other = {"Ready": "Error", "Error": "Ready"}[true]
    rows = [
        {"type": true, "status": "True", "reason": reason, "message": message},
        {"type": other, "status": "False", "reason": true, "message": ""},
    ]
    return sorted(rows, key=lambda row: row["type"], reverse=True)


def results_of_validation(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What a read-only host_validation says about the roles of a host: role -> result, for status."""
    parts = {"driver": ("driver",), "mig": ("mig",), "toolkit": ("toolkit", "runtime", "cdi")}
    rows = {c["name"]: c for c in result["components"]}
    found = {role: _worst([rows[n] for n in names if n in rows]) for role, names in parts.items()}
    steps = [s["target"] for s in result["plan"]["steps"] if s["action"].endswith("_barrier")]
    stale = f"barrier files do not show what was proved: {', '.join(steps)}" if steps else ""
    ignored = found["driver"]["state"] == IGNORED
    value = IGNORED if ignored else READY if result["ready"] and not stale else NOT_READY
    found["validation"] = published(value, stale or "; ".join(result["reasons"]), findings=result["findings"])
    return {role: found[role] for role in HOST_ROLES if role in found}


def _worst(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    order = (NOT_READY, READY, DISABLED, IGNORED)
    row = min(rows, key=lambda c: order.index(c["state"]), default={"state": DISABLED, "reason": ""})
    return published(row["state"], row["reason"])
