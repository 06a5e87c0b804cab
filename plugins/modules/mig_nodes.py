#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps operands and GPU pods away from nodes while their MIG layout changes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mig_nodes
short_description: Prepare nodes for a change of their MIG layout, and let them go on
version_added: 0.1.0
description:
  - With O(state=paused) cordons nodes, sets the operator's deploy labels of operands that have GPUs open to
    C(paused-for-mig-change), evicts GPU pods where that is allowed, and waits until all of them are gone. A node whose
    pods may not or do not go is given back at once, and named in RV(nodes).
  - With O(state=resumed) takes that back. A cordon or a label that somebody else has set stays.
  - Writes the labels C(nvidia.com/mig.config) and C(nvidia.com/mig.config.state) as NVIDIA's mig-manager does, so that
    tools which read or set them go on working.
  - With O(state=read) only reads what these labels say.
  - Reads the nodes by one list call, the pods by one call a node that is changed, and patches only what differs.
options:
  state:
    description: What the nodes are to be.
    type: str
    choices: [read, paused, resumed]
    required: true
  hosts:
    description: Hosts of the inventory, for example from P(gpu.fleet.node_rows#filter).
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name in the inventory.
        type: str
        required: true
      node:
        description: Name of the node. Without it the node is found by name, then by address.
        type: str
        default: ''
      names:
        description: Names that the node may have.
        type: list
        elements: str
        default: []
      addresses:
        description: Addresses that the node may have.
        type: list
        elements: str
        default: []
      config:
        description: With O(state=resumed), the name of the layout for C(nvidia.com/mig.config). Empty leaves the label.
        type: str
        default: ''
      result:
        description: With O(state=resumed), the value for C(nvidia.com/mig.config.state). Empty leaves the label.
        type: str
        choices: ['', pending, rebooting, failed, success]
        default: ''
  drain:
    description:
      - Whether pods that use GPUs are evicted. Otherwise a node with such pods is refused.
      - Pods without a controller, and those of a DaemonSet, are refused in either case. Pod disruption budgets are
        respected. Pods without a GPU stay.
    type: bool
    default: false
  max_unavailable:
    description:
      - How many GPU nodes of the cluster may be unavailable at a time, as a number or a share such as V(25%). Nodes
        that are cordoned or not Ready for other reasons count. What goes beyond is refused.
    type: str
    default: 100%
  total:
    description:
      - How many GPU nodes O(max_unavailable) is at least a share of. Nodes count as GPU nodes by their label
        C(nvidia.com/gpu.present), which a new cluster does not have yet.
    type: int
    default: 0
  tell:
    description:
      - Whether mig-manager's labels are written. V(false) where a layout is taken away and nothing is to stay.
    type: bool
    default: true
  timeout:
    description: Seconds to wait until operands and pods are gone.
    type: int
    default: 300
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
notes:
  - Only pods that ask for a resource C(nvidia.com/...) count as pods that use GPUs. Pods with claims of Dynamic
    Resource Allocation are not seen; M(gpu.fleet.mig_config) refuses while their processes run.
seealso:
  - module: gpu.fleet.mig_config
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Keep everything away from the GPUs of this host
  gpu.fleet.mig_nodes:
    state: paused
    drain: true
    hosts: "{{ [hostvars[inventory_hostname]] | gpu.fleet.node_rows }}"
  delegate_to: localhost

- name: Let the node go on
  gpu.fleet.mig_nodes:
    state: resumed
    hosts:
      - name: "{{ inventory_hostname }}"
        names: ["{{ inventory_hostname }}"]
        config: all-balanced
        result: success
  delegate_to: localhost
"""

RETURN = r"""
nodes:
  description:
    - One row a host that is a node. C(reason) says why the GPUs of the node may not be changed, and is empty where they
      may. C(config) and C(result) are what mig-manager's labels said before.
  type: list
  elements: dict
  returned: always
  sample:
    - host: gpu-a
      node: gpu-a
      config: all-balanced
      result: success
      reason: ""
plan:
  description: What was, or in check mode would be, done.
  type: dict
  returned: always
  sample: {disrupts: nothing, steps: []}
findings:
  description: Disagreements found, each with both sides and a remedy.
  type: list
  elements: dict
  returned: always
  sample: []
"""

import time
from collections.abc import Mapping
from typing import Any

from ..module_utils._catalog.labels import MIG_CONFIG, MIG_STATE, MIG_STATES
from ..module_utils._kubernetes import Cluster, ClusterError, cluster_module
from ..module_utils._plan import mig_nodes as rules
from ..module_utils._plan.model import Plan, Step
from ..module_utils._plan.nodes import Host, NodeIndex

HOST = {
    "name": {"type": "str", "required": True},
    "node": {"type": "str", "default": ""},
    "names": {"type": "list", "elements": "str", "default": []},
    "addresses": {"type": "list", "elements": "str", "default": []},
    "config": {"type": "str", "default": ""},
    "result": {"type": "str", "choices": ["", *MIG_STATES], "default": ""},
}
OPTIONS = {
    "state": {"type": "str", "choices": ["read", "paused", "resumed"], "required": True},
    "hosts": {"type": "list", "elements": "dict", "required": True, "options": HOST},
    "drain": {"type": "bool", "default": False},
    "max_unavailable": {"type": "str", "default": "100%"},
    "total": {"type": "int", "default": 0},
    "tell": {"type": "bool", "default": True},
    "timeout": {"type": "int", "default": 300},
    "poll": {"type": "int", "default": 2},
}


class Nodes:
    """The nodes of some hosts. ``refused`` is node -> why it may not be changed."""

    def __init__(self, cluster: Cluster, params: Mapping[str, Any], *, check_mode: bool = False) -> None:
        self.cluster, self.params, self.check_mode = cluster, params, check_mode
        self.steps: list[Step] = []
        self.refused: dict[str, str] = {}
        self.all = self._read()
        index = NodeIndex(self.all)
        found = ((row, index.find(_host(row))) for row in params["hosts"])
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


def _host(row: Mapping[str, Any]) -> Host:
    return Host(row["name"], row["node"], tuple(row["names"]), tuple(row["addresses"]), "unknown", {})


def main() -> None:
    module = cluster_module(OPTIONS)
    try:
        rules.share(module.params["max_unavailable"], 1)
    except ValueError as error:
        module.fail_json(msg=f"max_unavailable: {error}")
    try:
        nodes = Nodes(Cluster(module), module.params, check_mode=module.check_mode)
        {"read": lambda: None, "paused": nodes.pause, "resumed": nodes.resume}[module.params["state"]]()
    except ClusterError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**nodes.result())


if __name__ == "__main__":
    main()
