# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which pods of an operand are replaced because they have other devices than their host. Private to this
collection.

A pod that has counted its devices before the host's MIG layout was as it is now disagrees for ever.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any

from .model import Finding, Step
from .resources import is_gpu_resource
from .rollout import NOT_READY, NodeRollout
from .words import some

Pod = Mapping[str, Any]
Node = Mapping[str, Any]

# What a proof says of a pod that has other devices than the host; the rest is about pods that cannot be asked yet.
DISAGREES = re.compile(r"allocatable |GFD's label |(no )?DCGM_FI_")
RELAID = "the MIG layout of its node is another one than when it started"
FORETOLD = "the MIG layout of its node would be another one than when it started"


def restart_reason(pod: Pod, node: Node, wish: Mapping[str, Any], missing: str) -> str:
    """Why a ready pod has to be replaced, or an empty text.

    NVIDIA's operands enumerate devices when they start (the operator's mig-manager restarts them too). So a pod that
    started before ``wish["observed_at"]`` is replaced where its proof disagrees (``missing``), or where this run has
    changed the layout (``wish["relaid"]``: counts may be equal though the devices are others).
    """
    if not _older(pod, wish):
        return ""
    if wish.get("relaid"):
        return RELAID
    if not DISAGREES.match(missing) or _only_unhealthy(node, wish, missing):
        return ""
    return f"it started before the GPUs of its node were as they are now: {missing}"


def _older(pod: Pod, wish: Mapping[str, Any]) -> bool:
    """Whether all of the pod's containers started before the GPUs were looked at; both times are of the same host."""
    rows = (pod.get("status") or {}).get("containerStatuses") or ()
    times = [((row.get("state") or {}).get("running") or {}).get("startedAt") or "" for row in rows]
    observed = wish.get("observed_at") or ""
    return bool(observed and times) and all("" < started < observed for started in times)


def _only_unhealthy(node: Node, wish: Mapping[str, Any], missing: str) -> bool:
    """Whether the plugin has all devices and holds some for unhealthy (capacity counts them, allocatable does not).

    A plugin that starts anew would offer a broken GPU again.
    """
    if not missing.startswith("allocatable "):
        return False
    status = node.get("status") or {}
    has, offers, wanted = status.get("capacity") or {}, status.get("allocatable") or {}, wish["resources"]
    names = {name for name in (*offers, *wanted) if is_gpu_resource(name)}
    wrong = [name for name in names if int(offers.get(name, 0)) != wanted.get(name, 0)]
    return all(int(has.get(name, 0)) == wanted.get(name, 0) for name in wrong)


def restart_step(row: NodeRollout) -> Step:
    """The deletion of a row's pod, which its DaemonSet replaces. Pods that have a GPU keep it."""
    return Step("restart_pod", f"Pod {row.pod} on Node {row.node}", "running", "a new pod", row.restart)


def unhelped(
    rows: Iterable[NodeRollout], restarted: Container[str], *, name: str, namespace: str
) -> tuple[Finding, ...]:
    """A warning where a new pod disagrees as the old one did: then the cause is another one, and the next run will
    replace it again for nothing. ``rows`` are those of the last look, ``restarted`` the nodes whose pod was replaced.
    """
    left = [r for r in rows if r.node in restarted and r.state == NOT_READY and DISAGREES.match(r.reason)]
    if not left:
        return ()
    nodes = some([r.node for r in left])
    return (
        Finding(
            id="GPU-K8S-107",
            severity="warning",
            summary=f"{name}: a new pod did not help on {nodes}",
            wanted="what the host's GPUs predict (gpu.fleet.gpu_info on the host)",
            found=f"{left[0].reason} (node {left[0].node}, after its pod was replaced)",
            remedy=f"look at what it says: kubectl logs -n {namespace} {left[0].pod}; "
            "every further run replaces the pod once more until both agree",
            source="gpu.fleet",
        ),
    )
