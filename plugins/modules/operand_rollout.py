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
  - Shows what is waited for, the time that has passed and the limit, after 10 seconds, half a minute, and then every
    minute.
  - A new pod that disagrees with its host as the old one did is a finding.
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
      gpu_instances:
        description: The MIG instances that need a series, as C(gpu) (UUID of the GPU), C(id) and C(profile). A GPU with
          an instance needs no series of its own.
        type: list
        elements: dict
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
        log of GFD, V(none) nothing.
      - V(series) is the exporter's metrics through the API server's proxy, for every GPU or MIG instance, and for no
        instance of an earlier layout.
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
  pause_after:
    description:
      - Seconds after which it returns though nodes are not ready. V(0) never does.
      - The action plugin on the controller uses it to show what is waited for, and calls again with O(so_far). A task
        need not set it.
    type: int
    default: 0
  so_far:
    description: RV(so_far) of the call before, where O(pause_after) ended it.
    type: dict
    default: {}
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
  description: A warning where pods were replaced and the new ones disagree with their hosts like the old ones.
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
bound:
  description: Seconds that it waits at most, as O(timeout) or the number of nodes has it.
  type: int
  returned: always
  sample: 180
over:
  description: Whether all nodes are ready, the time is over, or check mode forbids to wait. False after a pause.
  type: bool
  returned: always
  sample: true
so_far:
  description: What this run has to know of its earlier looks, for O(so_far).
  type: dict
  returned: always
  sample: {waited: 14, bound: 180, proved: [], restarted: {}, steps: []}
"""

import time
from dataclasses import dataclass
from typing import Any

from ..module_utils._kubernetes import AnsibleK8SModule, Cluster, ClusterError, cluster_module
from ..module_utils._plan import rollout
from ..module_utils._rollout import Rollout

EXPECTED = {
    "node": {"type": "str", "required": True},
    "resources": {"type": "dict", "default": {}},
    "labels": {"type": "dict", "default": {}},
    "gpus": {"type": "list", "elements": "str", "default": []},
    "gpu_instances": {"type": "list", "elements": "dict", "default": []},
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
    "pause_after": {"type": "int", "default": 0},
    "so_far": {"type": "dict", "default": {}},
}


@dataclass(frozen=True)
class Waited:
    """How the last look was: ``over`` where no further one would help; ``waited`` and ``bound`` are seconds."""

    rows: list[rollout.NodeRollout]
    waited: int
    bound: int
    over: bool


def wait(module: AnsibleK8SModule, watched: Rollout) -> Waited:
    """Looks until all nodes are ready, the time is over, or it is to pause.

    Raises ClusterError where the first look fails, or one fails when the time is over.
    """
    params, begun = module.params, time.monotonic()
    start = begun - params["so_far"].get("waited", 0)
    bound, seen = float(params["timeout"] or params["so_far"].get("bound", 0)), bool(params["so_far"])
    while True:
        try:
            rows, speed = watched.look()
        except ClusterError:
            if module.check_mode or not seen or time.monotonic() - start >= bound:
                raise
            time.sleep(params["poll"])
            continue
        seen = True
        watched.restart(rows)
        bound = bound or rollout.rollout_seconds(max(len(rows), 1), speed)
        watched.deadline = start + bound
        now = time.monotonic()
        done = all(r.state == rollout.READY for r in rows)
        if done or module.check_mode or now - start >= bound:
            return Waited(rows if done else watched.all_explained(rows), int(now - start), int(bound), over=True)
        if params["pause_after"] and now - begun >= params["pause_after"]:
            return Waited(rows, int(now - start), int(bound), over=False)
        time.sleep(params["poll"])


def returns(module: AnsibleK8SModule, watched: Rollout, last: Waited) -> dict[str, Any]:
    left = [r for r in last.rows if r.state != rollout.READY]
    plan = watched.plan(last.rows if last.over else ())
    return {
        "changed": plan.changed,
        "diff": plan.diff(),
        "ready": not left,
        "looked_once": module.check_mode,
        "waited": last.waited,
        "bound": last.bound,
        "over": last.over,
        "so_far": {"waited": last.waited, "bound": last.bound, **watched.memory()},
        "nodes": [{"node": r.node, "state": r.state, "reason": r.reason, "pod": r.pod} for r in last.rows],
        "reasons": [f"{r.node}: {r.reason}" for r in left],
        **plan.result(),
    }


def main() -> None:
    module = cluster_module(OPTIONS)
    try:
        watched = Rollout(Cluster(module), module.params, check_mode=module.check_mode)
        last = wait(module, watched)
    except ClusterError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**returns(module, watched, last))


if __name__ == "__main__":
    main()
