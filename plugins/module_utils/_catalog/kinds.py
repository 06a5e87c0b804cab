# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Kubernetes kinds that operands are made of. Private to this collection.

A new kind is one row here. Reads go straight to the paths, so that no discovery has to be asked for.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """``path`` is the collection of all objects of the kind; ``shared`` objects may belong to somebody else."""

    name: str
    api_version: str
    path: str
    shared: bool = False


# In the order in which objects are created; deletion is the other way round.
KINDS = (
    Kind("Namespace", "v1", "/api/v1/namespaces", shared=True),
    Kind("RuntimeClass", "node.k8s.io/v1", "/apis/node.k8s.io/v1/runtimeclasses", shared=True),
    Kind("ServiceAccount", "v1", "/api/v1/serviceaccounts"),
    Kind("ConfigMap", "v1", "/api/v1/configmaps"),
    Kind("Service", "v1", "/api/v1/services"),
    Kind("DaemonSet", "apps/v1", "/apis/apps/v1/daemonsets"),
)
NODE = Kind("Node", "v1", "/api/v1/nodes", shared=True)
BY_NAME = {kind.name: kind for kind in (*KINDS, NODE)}

MANAGED_BY, MANAGER = "app.kubernetes.io/managed-by", "gpu.fleet"
STATE_LABEL = "gpu.fleet/state"
HASH_ANNOTATION = "gpu.fleet/applied-hash"
