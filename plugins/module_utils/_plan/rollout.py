# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges, node by node, whether a DaemonSet has arrived and does what it is for. Private to this collection.

That a pod is Ready says little: the device plugin stays Ready without a device. So every judgement ends in a proof, see
proof.py, and a pod that can never pass it is replaced, see restart.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .words import some

READY, NOT_READY = "ready", "not_ready"
STUCK = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError")
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
Pod = Mapping[str, Any]
Node = Mapping[str, Any]


@dataclass(frozen=True)
class NodeRollout:
    """One node: ``state`` is ready or not_ready, ``reason`` one sentence, empty when ready; ``pod`` may be empty.

    ``restart`` says why the pod has to be replaced, empty where it has not.
    """

    node: str
    state: str
    reason: str
    pod: str = ""
    restart: str = ""


def judge(
    daemonset: Mapping[str, Any] | None, *, pods: Sequence[Pod], nodes: Sequence[Node], expected: Iterable[str]
) -> tuple[NodeRollout, ...]:
    """Every expected node, and every other one that the DaemonSet selects; before any proof."""
    wanted = list(expected)
    if daemonset is None:
        return tuple(NodeRollout(n, NOT_READY, "the DaemonSet is not in the cluster") for n in wanted)
    by_name = {n["metadata"]["name"]: n for n in nodes}
    selected = [n for n in by_name if not _missing_label(daemonset, by_name[n])]
    names = sorted({*wanted, *selected})
    on_node = _by_node(pods)
    return tuple(_judge_node(name, by_name.get(name), daemonset, on_node.get(name, ())) for name in names)


def _judge_node(name: str, node: Node | None, daemonset: Mapping[str, Any], pods: Iterable[Pod]) -> NodeRollout:
    pod = _newest(pods)
    for reason in (_node_reason(node, daemonset), _pod_reason(pod, daemonset)):
        if reason:
            return NodeRollout(name, NOT_READY, reason, pod["metadata"]["name"] if pod else "")
    return NodeRollout(name, READY, "", pod["metadata"]["name"] if pod else "")


def _node_reason(node: Node | None, daemonset: Mapping[str, Any]) -> str:
    if node is None:
        return "the cluster has no such node"
    missing = _missing_label(daemonset, node)
    if missing:
        return f"the node lacks the label {missing}"
    taint = _untolerated(node, daemonset)
    if taint:
        return f"the node's taint {taint} is not tolerated"
    ready = next((c for c in (node.get("status") or {}).get("conditions") or () if c["type"] == "Ready"), None)
    if ready is not None and ready["status"] != "True":
        return f"the node is not Ready: {ready.get('message') or ready.get('reason')}"
    status, meta = daemonset.get("status") or {}, daemonset["metadata"]
    if status.get("observedGeneration", 0) < meta.get("generation", 0):
        return "the controller has not seen the newest DaemonSet yet"
    return ""


def _missing_label(daemonset: Mapping[str, Any], node: Node) -> str:
    labels = node["metadata"].get("labels") or {}
    selector = daemonset["spec"]["template"]["spec"].get("nodeSelector") or {}
    return next((f"{k}={v}" for k, v in selector.items() if labels.get(k) != v), "")


# The DaemonSet controller itself adds these tolerations to every pod (Kubernetes documentation, DaemonSet, taints).
ALWAYS_TOLERATED = re.compile(
    r"node\.kubernetes\.io/(not-ready|unreachable|disk-pressure|memory-pressure|pid-pressure|unschedulable)"
)


def _untolerated(node: Node, daemonset: Mapping[str, Any]) -> str:
    tolerations = daemonset["spec"]["template"]["spec"].get("tolerations") or ()
    for taint in (node.get("spec") or {}).get("taints") or ():
        if taint.get("effect") == "PreferNoSchedule" or ALWAYS_TOLERATED.fullmatch(taint["key"]):
            continue
        if not any(_tolerates(t, taint) for t in tolerations):
            return f"{taint['key']}:{taint.get('effect')}"
    return ""


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    key = toleration.get("key") in (None, "", taint["key"])
    effect = toleration.get("effect") in (None, "", taint.get("effect"))
    value = toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")
    return key and effect and value


def _by_node(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """The pods of each node, also those that only want to go there."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        for name in _nodes_of(pod):
            found.setdefault(name, []).append(pod)
    return found


def _nodes_of(pod: Pod) -> set[str]:
    """A DaemonSet's pod that is not scheduled yet names its node in its affinity."""
    if pod["spec"].get("nodeName"):
        return {pod["spec"]["nodeName"]}
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    fields = [f for t in terms.get("nodeSelectorTerms") or () for f in t.get("matchFields") or ()]
    return {name for f in fields if f["key"] == "metadata.name" for name in f.get("values", ())}


def _newest(pods: Iterable[Pod]) -> Pod | None:
    alive = [p for p in pods if not p["metadata"].get("deletionTimestamp")]
    return max(alive, key=lambda p: p["metadata"].get("creationTimestamp") or "", default=None)


def _pod_reason(pod: Pod | None, daemonset: Mapping[str, Any]) -> str:
    if pod is None:
        return "the node has no pod yet"
    status = pod.get("status") or {}
    conditions = {c["type"]: c for c in status.get("conditions") or ()}
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False":
        return f"the pod is not scheduled: {scheduled.get('message')}"
    if status.get("phase") == "Failed":
        return f"the pod failed: {status.get('reason') or ''} {status.get('message') or ''}".rstrip()
    for kind, rows in (("init container", "initContainerStatuses"), ("container", "containerStatuses")):
        for row in status.get(rows) or ():
            reason = _container_reason(kind, row)
            if reason:
                return reason
    if conditions.get("Ready", {}).get("status") != "True":
        return f"the pod is {status.get('phase', 'unknown')}, not ready yet"
    wanted = (daemonset["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION)
    found = (pod["metadata"].get("labels") or {}).get("pod-template-generation")
    if wanted and found and wanted != found:
        return "the pod is of an earlier revision"
    return ""


def _container_reason(kind: str, row: Mapping[str, Any]) -> str:
    state, last = row.get("state") or {}, (row.get("lastState") or {}).get("terminated") or {}
    waiting = state.get("waiting") or {}
    if waiting.get("reason") == "CrashLoopBackOff":
        code = last.get("exitCode")
        return f"{kind} {row['name']} crashes ({row.get('restartCount', 0)} restarts, last exit status {code})"
    if waiting.get("reason") in STUCK:
        return f"{kind} {row['name']}: {waiting['reason']}: {waiting.get('message', '')}".rstrip(": ")
    if kind == "init container" and state.get("running"):
        return f"{kind} {row['name']} still runs"
    ended = state.get("terminated") or {}
    if ended and (kind == "container" or ended.get("exitCode")):
        return f"{kind} {row['name']} ended with exit status {ended.get('exitCode')}"
    return ""


ENDED_WITHOUT_LOG = re.compile(r"\s*(\(no log\b|unable to retrieve container logs\b|$)")


def last_words(log: str, pod: Pod, container: str) -> str:
    """The log of a container that ended; without one (it never started: exit status 128) the kubelet's message."""
    if not ENDED_WITHOUT_LOG.match(log):
        return log
    status = pod.get("status") or {}
    rows = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    row: Mapping[str, Any] = next((r for r in rows if r["name"] == container), {})
    return ((row.get("lastState") or {}).get("terminated") or {}).get("message") or log


def rollout_seconds(nodes: int, max_unavailable: Any, *, per_wave: int = 60, first: int = 120) -> int:
    """A bound for the whole rollout: the number of waves that the update strategy makes, times what one may take."""
    text = str(max_unavailable or "1")
    step = math.ceil(nodes * int(text[:-1]) / 100) if text.endswith("%") else int(text)
    return first + per_wave * math.ceil(nodes / max(step, 1))


# Seconds from one word about the waiting to the next.
PAUSES = (10, 20, 30)
EVERY = 60


def pause_seconds(round_number: int) -> int:
    """How long to wait silently, from round 0."""
    return PAUSES[round_number] if round_number < len(PAUSES) else EVERY


def progress(name: str, rows: Sequence[Mapping[str, Any]], *, waited: int, bound: int) -> str:
    """One line for people who wait: how many nodes are ready, since when, until when, and the commonest reason.

    ``rows`` are nodes as operand_rollout returns them: node, state, reason.
    """
    left = [row for row in rows if row["state"] != READY]
    by_reason: dict[str, list[str]] = {}
    for row in left:
        by_reason.setdefault(row["reason"], []).append(row["node"])
    told = [f"{some(nodes)}: {why}" for why, nodes in sorted(by_reason.items(), key=lambda item: -len(item[1]))]
    return (
        f"{name}: {len(rows) - len(left)} of {len(rows)} nodes ready after {waited} s of {bound} s; {some(told, '; ')}"
    )
