# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of DaemonSets, pods and nodes, and what is said about each node."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan import rollout

GENERATION = "deprecated.daemonset.template.generation"


def daemonset(**more):
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    pod = {"nodeSelector": {"l": "true"}, "tolerations": [toleration]}
    meta = {"name": "d", "generation": 2, "annotations": {GENERATION: "2"}}
    return {"metadata": meta, "spec": {"template": {"spec": pod}}, "status": {"observedGeneration": 2}, **more}


def node(*, labels=None, taints=(), ready="True"):
    conditions = [{"type": "Ready", "status": ready, "message": "kubelet stopped"}]
    meta = {"name": "n", "labels": {"l": "true"} if labels is None else labels}
    return {"metadata": meta, "spec": {"taints": list(taints)}, "status": {"conditions": conditions}}


def pod(*, ready="True", generation="2", node_name="n", phase="Running", **status):
    meta = {"name": "p", "creationTimestamp": "1", "labels": {"pod-template-generation": generation}}
    conditions = [{"type": "Ready", "status": ready}]
    return {
        "metadata": meta,
        "spec": {"nodeName": node_name},
        "status": {"phase": phase, "conditions": conditions, **status},
    }


def container(kind, **state):
    return {kind: [{"name": "c", "restartCount": 3, "lastState": {"terminated": {"exitCode": 2}}, "state": state}]}


UNSCHEDULED = pod(ready="False", phase="Pending", node_name="", conditions=[
    {"type": "PodScheduled", "status": "False", "message": "Insufficient cpu"},
])  # fmt: skip
UNSCHEDULED["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}],
}}}  # fmt: skip
GOING = copy.deepcopy(pod())
GOING["metadata"]["deletionTimestamp"] = "t"
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
NVIDIA_TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
CRASH = container("containerStatuses", waiting={"reason": "CrashLoopBackOff"})
NO_IMAGE = container("containerStatuses", waiting={"reason": "ImagePullBackOff", "message": "x:1 not found"})

# daemonset, pods, nodes -> word of the reason, None for ready
CASES = {
    "ready": (daemonset(), [pod()], [node()], None),
    "no DaemonSet": (None, [], [node()], "not in the cluster"),
    "no node": (daemonset(), [], [], "no such node"),
    "label missing": (daemonset(), [], [node(labels={})], "lacks the label l=true"),
    "foreign taint": (daemonset(), [], [node(taints=[{"key": "k", "effect": "NoExecute"}])], "taint k:NoExecute"),
    "tolerated taint": (daemonset(), [pod()], [node(taints=[NVIDIA_TAINT])], None),
    "cordoned node still gets its pod": (
        daemonset(), [pod()], [node(taints=[CORDON])], None,
    ),
    "node down": (daemonset(), [pod()], [node(ready="Unknown")], "kubelet stopped"),
    "controller lags": (daemonset(status={"observedGeneration": 1}), [pod()], [node()], "has not seen the newest"),
    "no pod": (daemonset(), [], [node()], "no pod yet"),
    "only a pod that goes": (daemonset(), [GOING], [node()], "no pod yet"),
    "not scheduled": (daemonset(), [UNSCHEDULED], [node()], "Insufficient cpu"),
    "crash": (daemonset(), [pod(ready="False", **CRASH)], [node()], "c crashes (3 restarts, last exit status 2)"),
    "image": (daemonset(), [pod(ready="False", **NO_IMAGE)], [node()], "ImagePullBackOff: x:1 not found"),
    "init waits": (
        daemonset(), [pod(ready="False", **container("initContainerStatuses", running={"startedAt": "t"}))], [node()],
        "init container c still runs",
    ),
    "evicted": (daemonset(), [pod(phase="Failed", reason="Evicted")], [node()], "Evicted"),
    "starting": (daemonset(), [pod(ready="False")], [node()], "not ready yet"),
    "old revision": (daemonset(), [pod(generation="1")], [node()], "earlier revision"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "pods", "nodes", "word"), CASES.values(), ids=CASES)
def test_judgement(found, pods, nodes, word):
    (row,) = rollout.judge(found, pods=pods, nodes=nodes, expected=["n"])
    assert row.state == ("ready" if word is None else "not_ready")
    assert (word or "") in row.reason
    assert bool(row.reason) is (word is not None)


def test_zero_expected_and_zero_selected_is_ready():
    assert rollout.judge(daemonset(), pods=[], nodes=[node(labels={})], expected=[]) == ()


def test_a_node_that_is_selected_counts_though_nobody_expected_it():
    (row,) = rollout.judge(daemonset(), pods=[], nodes=[node()], expected=[])
    assert row.state == "not_ready"


def test_every_node_is_judged_by_its_own_pod():
    other = node()
    other["metadata"]["name"] = "m"
    rows = rollout.judge(
        daemonset(), pods=[pod(), pod(node_name="m", ready="False")], nodes=[node(), other], expected=[]
    )
    assert {row.node: row.state for row in rows} == {"m": "not_ready", "n": "ready"}


# nodes, maxUnavailable -> seconds
BOUNDS = {"one": (1, "1", 180), "one by one": (4, 1, 360), "share": (1000, "10%", 720), "unset": (2, None, 240)}


@pytest.mark.parametrize(("nodes", "pace", "seconds"), BOUNDS.values(), ids=BOUNDS)
def test_bound(nodes, pace, seconds):
    assert rollout.rollout_seconds(nodes, pace) == seconds


NEVER_STARTED = {"exitCode": 128, "reason": "StartError", "message": "exec: no such file"}

# log, last state of container c -> what is told
WORDS = {
    "log": ("panic", NEVER_STARTED, "panic"),
    "empty": ("", NEVER_STARTED, "exec: no such file"),
    "refused": ("(no log: GET x: 400 y)", NEVER_STARTED, "exec: no such file"),
    "the kubelet has none": (
        "unable to retrieve container logs for containerd://1",
        NEVER_STARTED,
        "exec: no such file",
    ),
    "neither": ("", {"exitCode": 1}, ""),
    "no log and no message": ("(no log: GET x: 400 y)", {"exitCode": 1}, "(no log: GET x: 400 y)"),
}


@pytest.mark.parametrize("kind", ["initContainerStatuses", "containerStatuses"])
@pytest.mark.parametrize(("log", "last", "told"), WORDS.values(), ids=WORDS)
def test_last_words_without_a_log_are_the_kubelets(kind, log, last, told):
    rows = [
        {"name": "other", "lastState": {"terminated": {"message": "wrong"}}},
        {"name": "c", "lastState": {"terminated": last}},
    ]
    assert rollout.last_words(log, pod(**{kind: rows}), "c") == told


ROWS = [
    {"node": "a", "state": "ready", "reason": ""},
    *({"node": n, "state": "not_ready", "reason": "the node has no pod yet"} for n in "bcdef"),
    {"node": "g", "state": "not_ready", "reason": "no image"},
]


def test_progress_says_what_is_waited_for_since_when_and_until_when():
    said = rollout.progress("plugin", ROWS, waited=10, bound=240)
    assert said == (
        "plugin: 1 of 7 nodes ready after 10 s of 240 s; b, c, d and 2 more: the node has no pod yet; g: no image"
    )


def test_the_pauses_grow_to_a_minute():
    assert [rollout.pause_seconds(n) for n in range(6)] == [10, 20, 30, 60, 60, 60]
