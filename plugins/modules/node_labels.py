#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the node labels of the operator and of GPU Feature Discovery, predicted from host facts."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_labels
short_description: Label nodes with what the GPUs of their hosts predict
version_added: 0.1.0
description:
  - Predicts, from the results of M(gpu.fleet.gpu_info), the labels that the GPU Operator and GPU Feature Discovery
    would
    set, and the resources that the device plugin will advertise.
  - Reads all nodes by one list call, and patches a node once at most, and only where a label differs.
  - A request that an API server does not answer because it is busy or restarts is sent again, for about half a minute.
  - A node that is gone or refused does not keep the others from their labels. The task fails in the end and names it.
  - A host that is not ready gets no deploy label, so no operand lands on it. Values that people or tools have set in
    deploy labels, such as C(false) or C(paused-for-driver-upgrade), stay.
  - Labels that Node Feature Discovery owns are left to it.
options:
  hosts:
    description: The hosts of the inventory.
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
      state:
        description:
          - V(ready) for a host whose host states are all ready, V(not_ready) for one that was found not to be,
            V(ignored) for one without GPU, V(planned) in a plan for one that would become ready.
          - V(removed) for one that gpu.fleet is taken off. Its node loses the labels.
          - V(unknown) for one that could not be looked at, or whose plan was refused. Its node is left as it is.
        type: str
        choices: [ready, not_ready, ignored, planned, removed, unknown]
        default: ready
      facts:
        description: The result of M(gpu.fleet.gpu_info). Needed where O(hosts[].state=ready).
        type: dict
        default: {}
      observed_at:
        description: When M(gpu.fleet.gpu_info) looked at the GPUs last. Handed on in RV(nodes).
        type: str
        default: ''
      relaid:
        description: Whether this run changes, or in check mode would change, the MIG layout. Handed on in RV(nodes).
        type: bool
        default: false
      mig_config:
        description: Name of the MIG layout, for the label C(nvidia.com/mig.config). Empty leaves the label.
        type: str
        default: ''
      mig_state:
        description:
          - How the change of the MIG layout ended, for the label C(nvidia.com/mig.config.state). Empty leaves it.
          - With V(success), operands that a killed run left paused go on, and its cordon is taken away.
        type: str
        choices: ['', pending, rebooting, failed, success]
        default: ''
  mig_strategy:
    description: The device plugin's and GFD's MIG strategy.
    type: str
    choices: [none, single, mixed]
    default: single
extends_documentation_fragment:
  - gpu.fleet._attributes
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
- name: Label the node of this host
  gpu.fleet.node_labels:
    mig_strategy: mixed
    hosts:
      - name: "{{ inventory_hostname }}"
        names: ["{{ inventory_hostname }}"]
        facts: "{{ ansible_facts.gpu_fleet }}"
  delegate_to: localhost
"""

RETURN = r"""
nodes:
  description: One row a host that is a node.
  type: list
  elements: dict
  returned: always
  sample:
    - host: gpu-a
      node: gpu-a
      operands: true
      reason: ""
      labels: {nvidia.com/gpu.count: "2"}
      resources: {nvidia.com/gpu: 2}
      gpus: [GPU-5c6e1fc0-0000-4000-8000-000000000001]
      gpu_instances: []
      observed_at: "2026-11-30T22:12:24Z"
      relaid: false
labels:
  description: Node to the labels it has to have; null for one that has to go.
  type: dict
  returned: always
  sample: {gpu-a: {nvidia.com/gpu.present: "true", nvidia.com/gpu.count: "2"}}
changed_labels:
  description: Node to the labels that were, or in check mode would be, patched.
  type: dict
  returned: always
  sample: {gpu-a: {nvidia.com/gpu.count: "2"}}
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

from collections.abc import Sequence
from typing import Any

from ..module_utils._catalog.labels import MIG_STATES
from ..module_utils._kubernetes import Cluster, ClusterError, cluster_module
from ..module_utils._plan.model import Plan
from ..module_utils._plan.nodes import NodeWish, host_of, plan_nodes

HOST = {
    "name": {"type": "str", "required": True},
    "node": {"type": "str", "default": ""},
    "names": {"type": "list", "elements": "str", "default": []},
    "addresses": {"type": "list", "elements": "str", "default": []},
    "state": {
        "type": "str",
        "choices": ["ready", "not_ready", "ignored", "planned", "removed", "unknown"],
        "default": "ready",
    },
    "facts": {"type": "dict", "default": {}},
    "observed_at": {"type": "str", "default": ""},
    "relaid": {"type": "bool", "default": False},
    "mig_config": {"type": "str", "default": ""},
    "mig_state": {"type": "str", "choices": ["", *MIG_STATES], "default": ""},
}
OPTIONS = {
    "hosts": {"type": "list", "elements": "dict", "required": True, "options": HOST},
    "mig_strategy": {"type": "str", "choices": ["none", "single", "mixed"], "default": "single"},
}


SHOWN = 5
# One node is gone, or a policy forbids this patch: the other nodes are labelled all the same.
REFUSED = (403, 404, 422)


def returns(plan: Plan, wishes: Sequence[NodeWish]) -> dict[str, Any]:
    shown = (
        "host",
        "node",
        "operands",
        "reason",
        "labels",
        "resources",
        "gpus",
        "gpu_instances",
        "observed_at",
        "relaid",
    )
    return {
        "changed": plan.changed,
        "diff": plan.diff(),
        "nodes": [{name: getattr(w, name) for name in shown} for w in wishes],
        "labels": {w.node: w.labels for w in wishes},
        "changed_labels": {w.node: w.changed for w in wishes if w.changed},
        **plan.result(),
    }


class Labels:
    """The nodes of the cluster, and the labels that the hosts of the inventory give them."""

    def __init__(self, cluster: Cluster, params: dict[str, Any]) -> None:
        self.cluster = cluster
        self.hosts = [host_of(row) for row in params["hosts"]]
        self.strategy = params["mig_strategy"]

    def decide(self) -> tuple[Plan, tuple[NodeWish, ...]]:
        """What differs now; one list call."""
        return plan_nodes(self.hosts, self.cluster.list("Node"), mig_strategy=self.strategy)

    def bring_about(self, *, check_mode: bool) -> dict[str, Any]:
        """Patches and proves it. ``msg`` in the result says what is gone again."""
        plan, wishes = self.decide()
        result = returns(plan, wishes)
        if not wishes and plan.blocked:
            return {**result, "msg": plan.message()}
        if check_mode or not plan.changed:
            return result
        refused = [text for wish in wishes if wish.patch() for text in [self.label(wish)] if text]
        left = self.decide()[0].steps
        gone = f"{left[0].target} was labelled, but {left[0].after} is gone again" if left and not refused else ""
        told = "; ".join(refused[:SHOWN]) + (f"; and {len(refused) - SHOWN} more" if len(refused) > SHOWN else "")
        return {**result, "msg": told or gone} if told or gone else result

    def label(self, wish: NodeWish) -> str:
        """Empty, or why this one node was refused. Raises ClusterError where the API server itself fails."""
        try:
            self.cluster.patch(f"/api/v1/nodes/{wish.node}", wish.patch())
        except ClusterError as error:
            if error.status not in REFUSED:
                raise
            return str(error)
        return ""


def main() -> None:
    module = cluster_module(OPTIONS)
    bare = [h["name"] for h in module.params["hosts"] if h["state"] == "ready" and "gpus" not in h["facts"]]
    if bare:
        module.fail_json(msg=f"hosts[].facts of {', '.join(bare)} is no result of gpu.fleet.gpu_info; run it before")
    try:
        result = Labels(Cluster(module), module.params).bring_about(check_mode=module.check_mode)
    except ClusterError as error:
        module.fail_json(msg=str(error))
    if "msg" in result:
        module.fail_json(**result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
