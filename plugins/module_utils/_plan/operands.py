# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides what an operand's rollout means for one host. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._catalog.states import DISABLED, ERROR, IGNORED, NOT_READY, READY
from .role_result import published

# Begins like every reason that follows from another one, so that the report says only the first.
HOST_FIRST = "waits for the host's own states"
PLANNED = "would be brought to the cluster"


def operand_result(
    nodes: Sequence[Mapping[str, Any]],
    *,
    host: str,
    state: str,
    applied: Mapping[str, Any],
    rollout: Mapping[str, Any],
    version: str = "",
    hosts: Sequence[str] = (),
) -> dict[str, Any]:
    """The result that a role publishes for ``host``.

    ``nodes`` are rows of node_labels (empty where a role runs alone), ``applied`` is the result of operand and
    ``rollout`` that of operand_rollout. ``waits`` says whether a host that is not ready makes the role fail: not in
    check mode, and not where the host itself is not ready. ``cluster`` has the steps of both modules, and the findings,
    which belong to no single host. ``hosts`` in the result has the results of all ``hosts``, for playbooks that run the
    role for one.
    """
    judge = _Judge(nodes, state, rollout)
    found, reason, waits = judge.of(host)
    restarts = (rollout.get("plan") or {}).get("steps") or ()
    findings = [*applied["findings"], *(rollout.get("findings") or ())]
    return {
        **published(found, reason, version=version),
        "waits": waits,
        "cluster": {"plan": [*applied["plan"]["steps"], *restarts], "findings": findings},
        "hosts": {name: published(*judge.of(name)[:2], version=version) for name in hosts},
    }


def error_result(hosts: Sequence[str], error: str, *, findings: Sequence[Any] = ()) -> dict[str, dict[str, Any]]:
    """The results of ``hosts`` where the operand failed as a whole, with the findings of the module that failed."""
    return {name: published(ERROR, error, findings=findings) for name in hosts}


class _Judge:
    """State, reason, and whether to fail, host by host; what is looked up is indexed once."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]], state: str, rollout: Mapping[str, Any]) -> None:
        self.state = state
        self.rollout = rollout
        self.rows = {row["host"]: row for row in nodes}
        self.seen = {row["node"]: row for row in rollout.get("nodes") or ()}

    def of(self, host: str) -> tuple[str, str, bool]:
        if self.state == "absent":
            return DISABLED, "", False
        if "nodes" not in self.rollout:
            return NOT_READY, PLANNED, False
        fails = not self.rollout["looked_once"]
        if not self.rows:
            ready = self.rollout["ready"]
            return (READY, "", False) if ready else (NOT_READY, "; ".join(self.rollout["reasons"]), fails)
        row = self.rows.get(host)
        if row is None:
            return IGNORED, "the host is no node of the cluster", False
        if not row["operands"]:
            return (ERROR, row["reason"], False) if row["reason"] else (NOT_READY, HOST_FIRST, False)
        seen = self.seen.get(row["node"])
        if seen is None:
            return NOT_READY, f"node {row['node']} was not looked at", fails
        return seen["state"], seen["reason"], fails and seen["state"] != READY
