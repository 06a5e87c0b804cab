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

from ..module_utils._catalog.labels import MIG_STATES
from ..module_utils._kubernetes import Cluster, ClusterError, cluster_module
from ..module_utils._mig_nodes import Nodes
from ..module_utils._plan import mig_nodes as rules

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
