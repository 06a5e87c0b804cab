# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that are paused around a change of their MIG layout. Private to this collection."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ._catalog.labels import MIG_CONFIG, MIG_STATE
from ._kubernetes import Cluster
from ._plan import mig_nodes as rules
from ._plan.model import Plan, Step
from ._plan.nodes import NodeIndex, host_of


class Nodes:
    """The nodes of some hosts. ``refused`` is node -> why it may not be changed."""

    def __init__(self, cluster: Cluster, params: Mapping[str, Any], *, check_mode: bool = False) -> None:
        self.cluster, self.params, self.check_mode = cluster, params, check_mode
        self.steps: list[Step] = []
        self.refused: dict[str, str] = {}
        self.all = self._read()
        index = NodeIndex(self.all)
        found = ((row, index.find(host_of(row))) for row in params["hosts"])
        self.rows = {node["metadata"]["name"]: row for row, node in found if node is not None}
        self.nodes = {n["metadata"]["name"]: n for n in self.all if n["metadata"]["name"] in self.rows}

    def _read(self) -> list[dict[str, Any]]:
        """All nodes; a single host whose node is known is asked for by its name."""
        names = [row["node"] for row in self.params["hosts"]]
        if self.params["state"] == "resumed" and len(names) == 1 and names[0]:
            return [self.cluster.get(f"/api/v1/nodes/{names[0]}")]
        return self.cluster.list("Node")

    def pause(self) -> None:
        """Nothing is written to a node that is known not to be possible."""
        most, total = self.params["max_unavailable"], self.params["total"]
        self.refused = rules.over_the_floor(self.all, list(self.rows), most, total=total)
        for name in self._chosen():
            self._refuse(name, rules.why_not(self.pods(name), drain=self.params["drain"]))
        for name in self._chosen():
            reason = "operands and GPU pods have to be gone while the MIG layout changes"
            self._patch(
                "pause", self.nodes[name], rules.pause_patch(self.nodes[name], tell=self.params["tell"]), reason
            )
        if not self.check_mode:
            self._wait()
            self._give_back()

    def resume(self) -> None:
        """A node that is as it should be is not written."""
        for name, row in self.rows.items():
            told = {"config": row["config"], "state": row["result"]} if self.params["tell"] else {}
            patch = rules.resume_patch(self.nodes[name], **told)
            self._patch("resume", self.nodes[name], patch, "the change of the MIG layout is over")

    def pods(self, node: str) -> list[dict[str, Any]]:
        """All pods of a node."""
        return list(self.cluster.get("/api/v1/pods", {"fieldSelector": f"spec.nodeName={node}"})["items"])

    def result(self) -> dict[str, Any]:
        plan = Plan(tuple(self.steps))
        return {
            "changed": plan.changed,
            "diff": plan.diff(),
            "nodes": [self._row(n) for n in self.rows],
            **plan.result(),
        }

    def _row(self, name: str) -> dict[str, Any]:
        labels = rules.labels_of(self.nodes[name])
        said = {"config": labels.get(MIG_CONFIG, ""), "result": labels.get(MIG_STATE, "")}
        return {"host": self.rows[name]["name"], "node": name, **said, "reason": self.refused.get(name, "")}

    def _chosen(self) -> list[str]:
        return [name for name in self.rows if name not in self.refused]

    def _refuse(self, name: str, reason: str) -> None:
        if reason:
            self.refused[name] = f"node {name}: {reason}"

    def _patch(self, action: str, node: Mapping[str, Any], patch: dict[str, Any], reason: str) -> None:
        if not patch:
            return
        if not self.check_mode:
            self.cluster.patch(f"/api/v1/nodes/{node['metadata']['name']}", patch)
        self.steps.append(rules.patch_step(action, node, patch, reason))

    def _wait(self) -> None:
        """Until nothing is left on any chosen node; what is left when the time is over refuses its node."""
        end, left = time.monotonic() + self.params["timeout"], dict.fromkeys(self._chosen(), "")
        while left:
            left = {name: told for name in left if name not in self.refused for told in [self._left(name)] if told}
            if left and time.monotonic() >= end:
                for name, told in left.items():
                    self._refuse(name, f"after {self.params['timeout']} s there are still {told}")
                return
            if left:
                time.sleep(self.params["poll"])

    def _left(self, name: str) -> str:
        """What is still on the node, or an empty text. Pods that may go are asked to.

        A GPU pod can have come between the first look and the cordon, so every look decides anew.
        """
        pods = self.pods(name)
        self._refuse(name, rules.why_not(pods, drain=self.params["drain"]))
        if name in self.refused:
            return ""
        users, operands = rules.gpu_pods(pods), rules.operand_pods(pods)
        for pod in users:
            self._evict(pod)
        told = (("GPU pods", users), ("operands", operands))
        return " and ".join(f"{what} ({rules.named(found)})" for what, found in told if found)

    def _evict(self, pod: Mapping[str, Any]) -> None:
        meta = pod["metadata"]
        if meta.get("deletionTimestamp") or not self.cluster.evict(meta["namespace"], meta["name"]):
            return
        step = Step(
            "evict", f"Pod {meta['namespace']}/{meta['name']}", "running", None, "it uses a GPU", "gpu_workloads"
        )
        if step not in self.steps:
            self.steps.append(step)

    def _give_back(self) -> None:
        """Nodes that were paused and then refused go on as before; only the label tells of it."""
        paused = {step.target for step in self.steps if step.action == "pause"}
        for name in [n for n in self.refused if f"Node {n}" in paused]:
            node = self.cluster.get(f"/api/v1/nodes/{name}")
            state = "failed" if self.params["tell"] else ""
            self._patch("resume", node, rules.resume_patch(node, state=state), self.refused[name])
