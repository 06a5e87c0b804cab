# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One DaemonSet's rollout, as the API server and its pods show it. Private to this collection."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from ._catalog.labels import TIMESTAMP
from ._kubernetes import Cluster, ClusterError
from ._observe.texts.container_log import with_meaning
from ._plan import proof, restart, rollout
from ._plan.labels import is_gfd_key
from ._plan.model import Plan, Step

LOG_LINES = 200
SHOWN_LINES = 5
EXPLAINED = 10  # nodes whose containers' last words are asked for
AT_ONCE = 8  # pods that are asked at a time
ASKED_PROOFS = ("labels", "series")


class Rollout:
    """One DaemonSet and what is expected of it."""

    def __init__(self, cluster: Cluster, params: dict[str, Any], *, check_mode: bool = False) -> None:
        self.cluster = cluster
        self.params = params
        self.expected = {row["node"]: row for row in params["expected"]}
        self.pods_path = f"/api/v1/namespaces/{params['namespace']}/pods"
        self.check_mode = check_mode
        self.planned = set(params["relaid"]) if check_mode else set()
        self.pods: dict[str, Mapping[str, Any]] = {}
        memory = params["so_far"]
        self.steps = [Step(**step) for step in memory.get("steps", ())]
        self.proved: set[str] = set(memory.get("proved", ()))
        # node -> why its pod could not be deleted, else empty
        self.restarted: dict[str, str] = dict(memory.get("restarted", {}))
        self.deadline = float("inf")

    def look(self) -> tuple[list[rollout.NodeRollout], Any]:
        """The judgement now, and the DaemonSet's maxUnavailable.

        Three list calls; what only a pod can prove is one request a pod, once, and several pods at a time.
        """
        found = self.cluster.list("DaemonSet", selector=f"app={self.params['name']}")
        mine = [d for d in found if d["metadata"]["namespace"] == self.params["namespace"]]
        daemonset = mine[0] if mine else None
        pods = self.cluster.get(self.pods_path, {"labelSelector": f"app={self.params['name']}"})["items"]
        nodes = self.cluster.list("Node")
        rows = rollout.judge(daemonset, pods=pods, nodes=nodes, expected=self.expected)
        by_name = {n["metadata"]["name"]: n for n in nodes}
        self.pods = {p["metadata"]["name"]: p for p in pods}
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(lambda row: self.prove(row, by_name), rows)), pace(daemonset)

    def prove(self, row: rollout.NodeRollout, nodes: Mapping[str, Mapping[str, Any]]) -> rollout.NodeRollout:
        """A ready row stays ready only where its proof holds and its pod may stay."""
        if row.state != rollout.READY or row.pod in self.proved:
            return row
        if row.node in self.planned:
            return rollout.NodeRollout(row.node, rollout.NOT_READY, restart.FORETOLD, row.pod, restart.FORETOLD)
        if row.node not in self.expected:
            return row
        reason, refused = self.missing(row, nodes[row.node]), self.restarted.get(row.node, "")
        why = self.restart_reason(row, nodes[row.node], reason)
        told = "; ".join(filter(None, (reason or why, refused)))
        if not told and self.params["proof"] in ASKED_PROOFS:
            self.proved.add(row.pod)
        return rollout.NodeRollout(row.node, rollout.NOT_READY, told, row.pod, why) if told else row

    def restart_reason(self, row: rollout.NodeRollout, node: Mapping[str, Any], missing: str) -> str:
        """Why the row's pod has to be replaced; never twice a node."""
        if row.node in self.restarted:
            return ""
        return restart.restart_reason(self.pods[row.pod], node, self.expected[row.node], missing)

    def restart(self, rows: Iterable[rollout.NodeRollout]) -> None:
        """Deletes, except in check mode, the pods that have to be replaced. A refusal is told in the node's reason."""
        outdated = [row for row in rows if row.restart]
        if self.check_mode:
            self.steps = [] if self.params["replaced"] else [restart.restart_step(row) for row in outdated]
            return
        with ThreadPoolExecutor(AT_ONCE) as pool:
            refused = list(pool.map(self.delete, outdated))
        self.restarted.update(zip((row.node for row in outdated), refused))
        self.steps += [restart.restart_step(row) for row, told in zip(outdated, refused) if not told]

    def delete(self, row: rollout.NodeRollout) -> str:
        """Empty, or why the row's pod could not be deleted."""
        try:
            self.cluster.delete(f"{self.pods_path}/{row.pod}")
        except ClusterError as error:
            return f"its pod could not be replaced: {error}"
        return ""

    def missing(self, row: rollout.NodeRollout, node: Mapping[str, Any]) -> str:
        """What the proof lacks, or an empty text."""
        wish, kind = self.expected[row.node], self.params["proof"]
        if kind == "allocatable":
            return proof.prove_allocatable(node, wish["resources"])
        if kind in ASKED_PROOFS and time.monotonic() > self.deadline:
            return "the time was over before its pod could be asked for a proof"
        if kind == "labels":
            found = proof.parse_gfd_log(self.log(row.pod, LOG_LINES))
            return proof.prove_labels(found, gfd_only(wish["labels"]), ignored=(TIMESTAMP,))
        if kind == "series":
            return self.series(row.pod, wish)
        return ""

    def series(self, pod: str, wish: Mapping[str, Any]) -> str:
        """What the exporter's metrics lack, or an empty text."""
        try:
            text = self.cluster.text(f"{self.pods_path}/{pod}:{self.params['port']}/proxy/metrics", timeout=10.0)
        except ClusterError as error:
            return f"its metrics cannot be read: {error}"
        return proof.prove_series(text, wish["gpus"], wish["gpu_instances"])

    def log(self, pod: str, lines: int, **query: str) -> str:
        """The last ``lines`` lines of a pod's log, or why there is none."""
        try:
            return self.cluster.text(f"{self.pods_path}/{pod}/log", {"tailLines": lines, **query})
        except ClusterError as error:
            return f"(no log: {error})"

    def explained(self, row: rollout.NodeRollout) -> rollout.NodeRollout:
        """A crash with the last lines of the container that ended."""
        if "crashes" not in row.reason:
            return rollout.NodeRollout(row.node, row.state, with_meaning(row.reason, row.reason), row.pod)
        container = row.reason.split(" crashes")[0].split()[-1]
        text = self.log(row.pod, SHOWN_LINES, previous="true", container=container)
        text = rollout.last_words(text, self.pods[row.pod], container)
        words = " | ".join(text.splitlines())
        reason = with_meaning(f"{row.reason}; its last words: {words}", text)
        return rollout.NodeRollout(row.node, row.state, reason, row.pod)

    def all_explained(self, rows: Sequence[rollout.NodeRollout]) -> list[rollout.NodeRollout]:
        """The rows with what known messages mean, and for a few nodes that crash the last words of the container.

        All nodes that crash will have said the same.
        """
        left_out = [r for r in rows if "crashes" in r.reason][EXPLAINED:]
        return [r if r in left_out else self.explained(r) for r in rows]

    def plan(self, rows: Iterable[rollout.NodeRollout]) -> Plan:
        """The restarts so far, and where they did not help; ``rows`` of the last look of all, else none."""
        done = [node for node, refused in self.restarted.items() if not refused]
        names = {"name": self.params["name"], "namespace": self.params["namespace"]}
        return Plan(tuple(self.steps), restart.unhelped(rows, done, **names))

    def memory(self) -> dict[str, Any]:
        """What a later look of the same run must know, as plain data; ``params["so_far"]`` brings it back."""
        return {
            "proved": sorted(self.proved),
            "restarted": self.restarted,
            "steps": [asdict(step) for step in self.steps],
        }


def gfd_only(labels: Mapping[str, Any]) -> dict[str, Any]:
    """The labels that GFD sets itself; null stands for one that has to go."""
    return {k: v for k, v in labels.items() if v is not None and is_gfd_key(k)}


def pace(daemonset: Mapping[str, Any] | None) -> Any:
    """maxUnavailable of a DaemonSet's update strategy, a number or a share as ``10%``."""
    strategy = ((daemonset or {}).get("spec") or {}).get("updateStrategy") or {}
    return (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
