#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the Kubernetes objects of one operand to a cluster, and prunes what is no longer wanted."""

from __future__ import annotations

DOCUMENTATION = r"""
module: operand
short_description: Bring the Kubernetes objects of one operand to a cluster
version_added: 0.1.0
description:
  - Applies the objects of one state of the GPU Operator's order with server-side apply and field manager V(gpu.fleet).
  - Reads one list a kind. An object whose fields are all as wanted is not written, so an unchanged cluster sees no
    write.
  - Where an API server is busy or restarts, it looks again for about half a minute and writes what is left.
  - Objects of the same state that are no longer wanted are deleted, found by their labels.
  - An action plugin on the controller carries out the plan through M(kubernetes.core.k8s), and reads again to prove it.
options:
  name:
    description: The state whose objects these are, as the operator names it.
    type: str
    required: true
  objects:
    description: The definitions. None removes the operand.
    type: list
    elements: dict
    default: []
  force_conflicts:
    description: Whether to take over fields that another field manager owns.
    type: bool
    default: false
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
- name: Bring the device plugin to the cluster
  gpu.fleet.operand:
    name: state-device-plugin
    objects:
      - "{{ lookup('ansible.builtin.template', 'daemonset.yml.j2') | from_yaml }}"
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
plan:
  description: What was, or in check mode would be, done.
  type: dict
  returned: always
  sample:
    disrupts: nothing
    steps:
      - action: apply
        target: DaemonSet gpu-fleet/nvidia-device-plugin-daemonset
        before: "spec.template.metadata.annotations.gpu.fleet/config-hash: 6d1f9c1f7c1d2f30"
        after: "spec.template.metadata.annotations.gpu.fleet/config-hash: 2c0fd2e0a4b61ad1"
        reason: 2 field(s) differ from the role's definition
        disrupts: nothing
findings:
  description: Disagreements found, each with both sides and a remedy.
  type: list
  elements: dict
  returned: always
  sample: []
"""

from typing import Any

from ..module_utils._catalog.kinds import KINDS, MANAGED_BY, MANAGER
from ..module_utils._kubernetes import Cluster, ClusterError, cluster_module
from ..module_utils._plan.objects import plan_objects

OPTIONS = {
    "name": {"type": "str", "required": True},
    "objects": {"type": "list", "elements": "dict", "default": []},
    "force_conflicts": {"type": "bool", "default": False},
}


def observe(cluster: Cluster) -> list[dict[str, Any]]:
    """Everything of ours, and all objects of the kinds that may belong to somebody else: one list a kind."""
    return [
        found
        for kind in KINDS
        for found in cluster.list(kind.name, selector="" if kind.shared else f"{MANAGED_BY}={MANAGER}")
    ]


def main() -> None:
    module = cluster_module(OPTIONS)
    try:
        found = observe(Cluster(module))
    except ClusterError as error:
        module.fail_json(msg=str(error))
    decided = plan_objects(module.params["objects"], found, state=module.params["name"])
    result = {"changed": decided.plan.changed, "diff": decided.plan.diff(), **decided.plan.result()}
    if decided.plan.blocked:
        module.fail_json(msg=decided.plan.message(), **{**result, "changed": False})
    module.exit_json(apply=decided.apply, delete=decided.delete, **result)


if __name__ == "__main__":
    main()
