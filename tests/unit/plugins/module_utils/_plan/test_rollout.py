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


# allocatable, predicted -> reason
ALLOCATABLE = {
    "equal": ({"cpu": "8", "nvidia.com/gpu": "2"}, {"nvidia.com/gpu": 2}, ""),
    "a name of earlier that is 0 does not count": ({"nvidia.com/gpu": "0", "nvidia.com/mig-1g.5gb": "7"}, {
        "nvidia.com/mig-1g.5gb": 7,
    }, ""),
    "one unhealthy": ({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": 2}, "nvidia.com/gpu is 1, predicted 2"),
    "too much": ({"nvidia.com/gpu": "8"}, {}, "nvidia.com/gpu is 8, predicted 0"),
    "nothing yet": ({}, {"nvidia.com/gpu": 1}, "nvidia.com/gpu is 0, predicted 1"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "predicted", "reason"), ALLOCATABLE.values(), ids=ALLOCATABLE)
def test_allocatable(found, predicted, reason):
    said = rollout.prove_allocatable({"status": {"allocatable": found}}, predicted)
    assert said == (f"allocatable {reason}" if reason else "")


# What gpu-feature-discovery v0.18 prints with --output-file= and without the NodeFeature API: three rounds.
LOG = """nvidia.com/gpu.count=1
nvidia.com/mig-1g.5gb.count=7
I1130 22:00:00.000000       1 main.go:227] Creating Labels
nvidia.com/gpu.count=1
nvidia.com/cuda.driver.rev=
I1130 22:01:00.000000       1 main.go:227] Sleeping for 60000000000
nvidia.com/gpu.count=2
W1130 22:01:01.000000       1 machine-type.go:34] Error getting machine type
nvidia.com/gfd.timestamp=1764540000
"""


def test_the_last_rounds_of_gfd_count_though_other_lines_stand_between():
    assert rollout.parse_gfd_log(LOG) == {
        "nvidia.com/gpu.count": "2", "nvidia.com/gfd.timestamp": "1764540000", "nvidia.com/cuda.driver.rev": "",
    }  # fmt: skip


def test_labels_are_compared_with_the_prediction():
    found = rollout.parse_gfd_log(LOG)
    assert rollout.prove_labels(found, {"nvidia.com/gpu.count": "2"}, ignored=()) == ""
    assert "'2', predicted '3'" in rollout.prove_labels(found, {"nvidia.com/gpu.count": "3"}, ignored=())
    assert rollout.prove_labels(found, {"nvidia.com/gfd.timestamp": "1"}, ignored=("nvidia.com/gfd.timestamp",)) == ""
    assert "not written" in rollout.prove_labels({}, {"a": "b"}, ignored=())


METRICS = """# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-0",device="nvidia0",modelName="Tesla T4",Hostname="n"} 34
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-1",device="nvidia1"} 300
"""


def test_every_gpu_needs_a_series():
    assert rollout.prove_series(METRICS, ["GPU-0"]) == ""
    assert rollout.prove_series(METRICS, ["GPU-0", "GPU-1"]) == "no DCGM_FI_DEV_GPU_TEMP for GPU-1"
    assert "GPU-0" in rollout.prove_series("", ["GPU-0"])


# nodes, maxUnavailable -> seconds
BOUNDS = {"one": (1, "1", 180), "one by one": (4, 1, 360), "share": (1000, "10%", 720), "unset": (2, None, 240)}


@pytest.mark.parametrize(("nodes", "pace", "seconds"), BOUNDS.values(), ids=BOUNDS)
def test_bound(nodes, pace, seconds):
    assert rollout.rollout_seconds(nodes, pace) == seconds


GPU, SMALL, BIG = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"
EARLY, SEEN, LATE = "2026-11-30T22:00:00Z", "2026-11-30T22:10:00Z", "2026-11-30T22:10:01Z"


def started(*times):
    rows = [{"name": f"c{i}", "state": {"running": {"startedAt": t}} if t else {}} for i, t in enumerate(times)]
    return pod(containerStatuses=rows)


def offers(allocatable, capacity=None):
    return {"status": {"allocatable": allocatable, "capacity": allocatable if capacity is None else capacity}}


def wish(resources=None, **more):
    return {"resources": resources or {}, "observed_at": SEEN, **more}


STALE = offers({SMALL: "4", BIG: "2", "cpu": "8"})
MOVED = wish({BIG: 4})
WRONG_LABEL, NO_SERIES = "GFD's label nvidia.com/gpu.count is '2', predicted '3'", "no DCGM_FI_DEV_GPU_TEMP for GPU-1"

# pod, node, wish, what the proof lacks (None: what prove_allocatable says) -> whether the pod is replaced
RESTARTS = {
    "plugin of an earlier layout": (started(EARLY), STALE, MOVED, None, True),
    "all is well": (started(EARLY), offers({BIG: "4"}), MOVED, None, False),
    "started after the layout was seen": (started(LATE), STALE, MOVED, None, False),
    "started in that second": (started(SEEN), STALE, MOVED, None, False),
    "one of two containers is new": (started(EARLY, LATE), STALE, MOVED, None, False),
    "not known when it started": (started(""), STALE, MOVED, None, False),
    "no container yet": (pod(), STALE, MOVED, None, False),
    "not known when the GPUs were seen": (started(EARLY), STALE, {**MOVED, "observed_at": ""}, None, False),
    "same resource, other number": (started(EARLY), offers({GPU: "14"}), wish({GPU: 8}), None, True),
    "a GPU is unhealthy": (started(EARLY), offers({GPU: "1"}, {GPU: "2"}), wish({GPU: 2}), None, False),
    "a GPU is unhealthy, beside a name of earlier": (
        started(EARLY), offers({GPU: "1", SMALL: "0"}, {GPU: "2", SMALL: "7"}), wish({GPU: 2}), None, False,
    ),
    "one unhealthy and one that the plugin does not know": (
        started(EARLY), offers({GPU: "1"}, {GPU: "2"}), wish({GPU: 3}), None, True,
    ),
    "plugin without any device": (started(EARLY), offers({}), wish({GPU: 2}), None, True),
    "GFD of an earlier layout": (started(EARLY), offers({}), wish(), WRONG_LABEL, True),
    "GFD has not written yet": (started(EARLY), offers({}), wish(), "GFD has not written labels to its log yet", False),
    "exporter without a GPU": (started(EARLY), offers({}), wish(), NO_SERIES, True),
    "exporter that cannot be asked": (started(EARLY), offers({}), wish(), "its metrics cannot be read: x", False),
    "layout changed, counts are equal": (started(EARLY), offers({BIG: "4"}), wish({BIG: 4}, relaid=True), None, True),
    "layout changed, the pod is new": (started(LATE), offers({BIG: "4"}), wish({BIG: 4}, relaid=True), None, False),
}  # fmt: skip


@pytest.mark.parametrize(("found", "at", "wanted", "lacks", "restart"), RESTARTS.values(), ids=RESTARTS)
def test_which_pods_are_replaced(found, at, wanted, lacks, restart):
    said = rollout.prove_allocatable(at, wanted["resources"]) if lacks is None else lacks
    assert bool(rollout.restart_reason(found, at, wanted, said)) is restart


def test_a_restart_says_what_and_why_and_disrupts_nothing():
    step = rollout.restart_step(rollout.NodeRollout("n", "not_ready", "x", "p", "because"))
    assert (step.action, step.target, step.reason) == ("restart_pod", "Pod p on Node n", "because")
    assert step.disrupts == "nothing"


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
