#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits for a DaemonSet node by node, and proves what it is for."""

from __future__ import annotations

DOCUMENTATION = r"""
module: operand_rollout
short_description: Wait for a DaemonSet with a reason for every node, and prove what it is for
version_added: 0.1.0
description:
  - Waits until every expected node has a ready pod of the newest revision, and until the proof holds.
  - Zero pods are not ready unless no node is expected. A node is expected because the inventory says so, or because its
    labels select it.
  - Says for every node that is not ready why, what a known message of engine, runtime or plugin means, and the last
    lines of the log where a container crashes (on ten nodes at most, since they will be the same).
  - Deletes a ready pod that started before the GPUs of its node were as they are now and disagrees with the proof, so
    that its DaemonSet replaces it. NVIDIA's operands count the devices only when they start, so a new MIG layout would
    not reach the cluster otherwise. It is done once a node and run, and pods that have a GPU keep it.
  - A device plugin that has all devices but holds some for unhealthy is left alone.
  - A look that an API server does not answer is repeated. A pod is asked once for its proof, eight pods at a time.
  - Does not fail where nodes are not ready; look at RV(ready).
  - In check mode it looks once, does not wait, and shows in RV(plan) which pods it would replace.
options:
  name:
    description: Name of the DaemonSet. Its pods carry it as label C(app).
    type: str
    required: true
  namespace:
    description: Namespace of the DaemonSet.
    type: str
    required: true
  expected:
    description: The nodes that have to get a pod, with what their hosts predict, as M(gpu.fleet.node_labels) returns
      it.
    type: list
    elements: dict
    default: []
    suboptions:
      node:
        description: Name of the node.
        type: str
        required: true
      resources:
        description: Extended resources that the node has to allocate.
        type: dict
        default: {}
      labels:
        description: Labels that GFD has to find.
        type: dict
        default: {}
      gpus:
        description: UUIDs of the GPUs that need a series.
        type: list
        elements: str
        default: []
      observed_at:
        description: When the host's GPUs were looked at. Pods that started later are not replaced; without it, none is.
        type: str
        default: ''
      relaid:
        description: Whether the MIG layout was changed in this run, so that a pod that started before is replaced.
        type: bool
        default: false
      host:
        description: Not used. It is here so that rows of M(gpu.fleet.node_labels) can be given as they are.
        type: str
      operands:
        description: Not used, as O(expected[].host).
        type: bool
      reason:
        description: Not used, as O(expected[].host).
        type: str
  relaid:
    description:
      - Names of nodes of which the MIG layout would be changed by now, were it not for check mode. Their ready pods are
        in RV(plan) then. Not used otherwise.
    type: list
    elements: str
    default: []
  replaced:
    description: In check mode, whether the DaemonSet itself would be changed by now, which replaces all pods.
    type: bool
    default: false
  proof:
    description:
      - What a ready pod has to show. V(allocatable) is the node's allocatable resources, V(labels) the labels in the
        log of
        GFD, V(series) the exporter's metrics through the API server's proxy, V(none) nothing.
    type: str
    choices: [none, allocatable, labels, series]
    default: none
  port:
    description: Port of the metrics.
    type: int
    default: 9400
  timeout:
    description: Seconds to wait. V(0) takes a bound from the number of nodes and the update strategy.
    type: int
    default: 0
  poll:
    description: Seconds between two looks.
    type: int
    default: 2
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._plan
  - kubernetes.core.k8s_auth_options
attributes:
  platform:
    platforms: all
requirements:
  - kubernetes >= 24.2.0
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Wait until the device plugin advertises every GPU
  gpu.fleet.operand_rollout:
    name: nvidia-device-plugin-daemonset
    namespace: gpu-fleet
    proof: allocatable
    expected:
      - node: gpu-a
        resources: {nvidia.com/gpu: 2}
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
plan:
  description: The pods that were, or in check mode would be, replaced.
  type: dict
  returned: always
  sample:
    disrupts: nothing
    steps:
      - action: restart_pod
        target: Pod nvidia-device-plugin-daemonset-x7k2p on Node gpu-a
        before: running
        after: a new pod
        reason: the MIG layout of its node is another one than when it started
        disrupts: nothing
findings:
  description: Always empty.
  type: list
  elements: dict
  returned: always
  sample: []
ready:
  description: Whether all nodes are ready.
  type: bool
  returned: always
  sample: false
looked_once:
  description: Whether it only looked, because of check mode.
  type: bool
  returned: always
  sample: false
nodes:
  description: One row a node.
  type: list
  elements: dict
  returned: always
  sample:
    - {node: gpu-a, state: ready, reason: "", pod: nvidia-device-plugin-daemonset-x7k2p}
    - {node: gpu-b, state: not_ready, reason: "allocatable nvidia.com/gpu is 0, predicted 2", pod:
      nvidia-device-plugin-daemonset-m2q9d}
reasons:
  description: The reasons of the nodes that are not ready.
  type: list
  elements: str
  returned: always
  sample: ["gpu-b: allocatable nvidia.com/gpu is 0, predicted 2"]
waited:
  description: Seconds that passed.
  type: int
  returned: always
  sample: 14
"""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..module_utils._catalog.labels import TIMESTAMP
from ..module_utils._kubernetes import AnsibleK8SModule, Cluster, ClusterError, cluster_module
from ..module_utils._observe.texts.container_log import with_meaning
from ..module_utils._plan import rollout
from ..module_utils._plan.labels import is_gfd_key
from ..module_utils._plan.model import Plan, Step

EXPECTED = {
    "node": {"type": "str", "required": True},
    "resources": {"type": "dict", "default": {}},
    "labels": {"type": "dict", "default": {}},
    "gpus": {"type": "list", "elements": "str", "default": []},
    "observed_at": {"type": "str", "default": ""},
    "relaid": {"type": "bool", "default": False},
    "host": {"type": "str"},
    "operands": {"type": "bool"},
    "reason": {"type": "str"},
}
OPTIONS = {
    "name": {"type": "str", "required": True},
    "namespace": {"type": "str", "required": True},
    "expected": {"type": "list", "elements": "dict", "default": [], "options": EXPECTED},
    "relaid": {"type": "list", "elements": "str", "default": []},
    "replaced": {"type": "bool", "default": False},
    "proof": {"type": "str", "choices": ["none", "allocatable", "labels", "series"], "default": "none"},
    "port": {"type": "int", "default": 9400},
    "timeout": {"type": "int", "default": 0},
    "poll": {"type": "int", "default": 2},
}
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
        self.steps: list[Step] = []
        self.proved: set[str] = set()
        self.restarted: dict[str, str] = {}  # node -> why its pod could not be deleted, else empty
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
            return rollout.NodeRollout(row.node, rollout.NOT_READY, rollout.FORETOLD, row.pod, rollout.FORETOLD)
        if row.node not in self.expected:
            return row
        reason, refused = self.missing(row, nodes[row.node]), self.restarted.get(row.node, "")
        restart = self.restart_reason(row, nodes[row.node], reason)
        told = "; ".join(filter(None, (reason or restart, refused)))
        if not told and self.params["proof"] in ASKED_PROOFS:
            self.proved.add(row.pod)
        return rollout.NodeRollout(row.node, rollout.NOT_READY, told, row.pod, restart) if told else row

    def restart_reason(self, row: rollout.NodeRollout, node: Mapping[str, Any], missing: str) -> str:
        """Why the row's pod has to be replaced; never twice a node."""
        if row.node in self.restarted:
            return ""
        return rollout.restart_reason(self.pods[row.pod], node, self.expected[row.node], missing)

    def restart(self, rows: Iterable[rollout.NodeRollout]) -> None:
        """Deletes, except in check mode, the pods that have to be replaced. A refusal is told in the node's reason."""
        outdated = [row for row in rows if row.restart]
        if self.check_mode:
            self.steps = [] if self.params["replaced"] else [rollout.restart_step(row) for row in outdated]
            return
        with ThreadPoolExecutor(AT_ONCE) as pool:
            refused = list(pool.map(self.delete, outdated))
        self.restarted.update(zip((row.node for row in outdated), refused))
        self.steps += [rollout.restart_step(row) for row, told in zip(outdated, refused) if not told]

    def delete(self, row: rollout.NodeRollout) -> str:
        """Empty, or why the row's pod could not be deleted."""
        try:
            self.cluster.delete(f"{self.pods_path}/{row.pod}")
        except ClusterError as error:
            return f"its pod could not be replaced: {error}"
        return ""

    def missing(self, row: rollout.NodeRollout, node: Mapping[str, Any]) -> str:
        """What the proof lacks, or an empty text."""
        wish, proof = self.expected[row.node], self.params["proof"]
        if proof == "allocatable":
            return rollout.prove_allocatable(node, wish["resources"])
        if proof in ASKED_PROOFS and time.monotonic() > self.deadline:
            return "the time was over before its pod could be asked for a proof"
        if proof == "labels":
            found = rollout.parse_gfd_log(self.log(row.pod, LOG_LINES))
            return rollout.prove_labels(found, gfd_only(wish["labels"]), ignored=(TIMESTAMP,))
        if proof == "series":
            return self.series(row.pod, wish["gpus"])
        return ""

    def series(self, pod: str, gpus: list[str]) -> str:
        """What the exporter's metrics lack, or an empty text."""
        try:
            text = self.cluster.text(f"{self.pods_path}/{pod}:{self.params['port']}/proxy/metrics", timeout=10.0)
        except ClusterError as error:
            return f"its metrics cannot be read: {error}"
        return rollout.prove_series(text, gpus)

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


def gfd_only(labels: Mapping[str, Any]) -> dict[str, Any]:
    """The labels that GFD sets itself; null stands for one that has to go."""
    return {k: v for k, v in labels.items() if v is not None and is_gfd_key(k)}


def pace(daemonset: Mapping[str, Any] | None) -> Any:
    """maxUnavailable of a DaemonSet's update strategy, a number or a share as ``10%``."""
    strategy = ((daemonset or {}).get("spec") or {}).get("updateStrategy") or {}
    return (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)


def wait(module: AnsibleK8SModule, watched: Rollout) -> tuple[list[rollout.NodeRollout], int]:
    """Looks until all nodes are ready or the time is over; the rows, and the seconds that passed.

    Raises ClusterError where the first look fails, or one fails when the time is over.
    """
    start = time.monotonic()
    bound, seen = float(module.params["timeout"]), False
    while True:
        try:
            rows, speed = watched.look()
        except ClusterError:
            if module.check_mode or not seen or time.monotonic() - start >= bound:
                raise
            time.sleep(module.params["poll"])
            continue
        seen = True
        watched.restart(rows)
        bound = bound or rollout.rollout_seconds(max(len(rows), 1), speed)
        watched.deadline = start + bound
        done = all(r.state == rollout.READY for r in rows)
        waited = time.monotonic() - start
        if done or module.check_mode or waited >= bound:
            return rows if done else explained(watched, rows), int(waited)
        time.sleep(module.params["poll"])


def explained(watched: Rollout, rows: list[rollout.NodeRollout]) -> list[rollout.NodeRollout]:
    """The rows with what known messages mean, and for a few nodes that crash the last words of the container.

    All nodes that crash will have said the same.
    """
    left_out = [r for r in rows if "crashes" in r.reason][EXPLAINED:]
    return [r if r in left_out else watched.explained(r) for r in rows]


def main() -> None:
    module = cluster_module(OPTIONS)
    try:
        watched = Rollout(Cluster(module), module.params, check_mode=module.check_mode)
        rows, waited = wait(module, watched)
    except ClusterError as error:
        module.fail_json(msg=str(error))
    left = [r for r in rows if r.state != rollout.READY]
    plan = Plan(tuple(watched.steps))
    module.exit_json(
        changed=plan.changed,
        diff=plan.diff(),
        ready=not left,
        looked_once=module.check_mode,
        waited=waited,
        nodes=[{"node": r.node, "state": r.state, "reason": r.reason, "pod": r.pod} for r in rows],
        reasons=[f"{r.node}: {r.reason}" for r in left],
        **plan.result(),
    )


if __name__ == "__main__":
    main()
