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
) -> dict[str, Any]:
    """The result that a role publishes for ``host``.

    ``nodes`` are rows of node_labels (empty where a role runs alone), ``applied`` is the result of operand and
    ``rollout`` that of operand_rollout. ``waits`` says whether a host that is not ready makes the role fail: not in
    check mode, and not where the host itself is not ready. ``cluster`` has the steps and findings that belong to no
    single host.
    """
    found, reason, waits = _judge(nodes, host, state, rollout)
    cluster = {"plan": applied["plan"]["steps"], "findings": applied["findings"]}
    return {**published(found, reason, version=version), "waits": waits, "cluster": cluster}


def _judge(
    nodes: Sequence[Mapping[str, Any]], host: str, state: str, rollout: Mapping[str, Any]
) -> tuple[str, str, bool]:
    if state == "absent":
        return DISABLED, "", False
    if "nodes" not in rollout:
        return NOT_READY, PLANNED, False
    fails = not rollout["looked_once"]
    if not nodes:
        return (READY, "", False) if rollout["ready"] else (NOT_READY, "; ".join(rollout["reasons"]), fails)
    row = next((n for n in nodes if n["host"] == host), None)
    if row is None:
        return IGNORED, "the host is no node of the cluster", False
    if not row["operands"]:
        return (ERROR, row["reason"], False) if row["reason"] else (NOT_READY, HOST_FIRST, False)
    seen = next((r for r in rollout["nodes"] if r["node"] == row["node"]), None)
    if seen is None:
        return NOT_READY, f"node {row['node']} was not looked at", fails
    return seen["state"], seen["reason"], fails and seen["state"] != READY
