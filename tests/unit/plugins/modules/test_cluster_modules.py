# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What node_labels and operand_rollout ask of a cluster, which here is a few objects in memory."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._kubernetes import ClusterError
from ansible_collections.gpu.fleet.plugins.modules import node_labels, operand_rollout

NODES = ("a", "b", "c")
LOG, OLD_LOG = "nvidia.com/gpu.count=1\n", "nvidia.com/gpu.count=7\n"
INSTANCES = [{"gpu": "GPU-0", "id": 1, "profile": "3g.20gb"}]
EARLY, SEEN, LATE = "2026-11-30T22:00:00Z", "2026-11-30T22:10:00Z", "2026-11-30T22:10:01Z"


def series(number):
    return f'DCGM_FI_DEV_GPU_TEMP{{UUID="GPU-0",GPU_I_ID="{number}",GPU_I_PROFILE="3g.20gb"}} 31\n'


class Cluster:
    """Lists, patches and logs of three nodes with one pod each; `refused` and `broken` make some of it fail."""

    def __init__(self):
        self.asked = []
        self.labels = {name: {"l": "true"} for name in NODES}
        self.refused = {}
        self.broken = []
        self.logs = dict.fromkeys(NODES, LOG)
        self.metrics = dict.fromkeys(NODES, series(1))
        self.pods = {name: f"pod-{name}" for name in NODES}
        self.started = dict.fromkeys(NODES, EARLY)
        self.mends = True

    def list(self, kind, *, selector=""):
        self.asked.append(f"list {kind}")
        if self.broken and self.broken.pop(0):
            raise ClusterError(f"GET {kind}: 503 gone", 503)
        if kind == "DaemonSet":
            spec = {"template": {"spec": {"nodeSelector": {"l": "true"}}}}
            return [{"metadata": {"name": "d", "namespace": "n"}, "spec": spec}]
        return [{"metadata": {"name": name, "labels": self.labels[name]}} for name in NODES]

    def get(self, path, query=None):
        self.asked.append("list Pod")
        return {"items": [self.pod(name) for name in NODES]}

    def pod(self, name):
        running = {"name": "c", "state": {"running": {"startedAt": self.started[name]}}}
        conditions = [{"type": "Ready", "status": "True"}]
        status = {"phase": "Running", "conditions": conditions, "containerStatuses": [running]}
        return {"metadata": {"name": self.pods[name]}, "spec": {"nodeName": name}, "status": status}

    def delete(self, path):
        name = path.rpartition("/")[2].removeprefix("pod-")
        self.asked.append(f"delete {name}")
        if name in self.refused:
            raise ClusterError(f"DELETE {path}: {self.refused[name]} no", self.refused[name])
        self.pods[name], self.started[name] = f"new-{name}", LATE
        if self.mends:
            self.logs[name], self.metrics[name] = LOG, series(1)

    def text(self, path, query=None, *, timeout=30.0):
        name = path.partition("/pods/")[2].partition("/")[0].partition(":")[0].rpartition("-")[2]
        self.asked.append(f"log {name}")
        return self.metrics[name] if path.endswith("/metrics") else self.logs[name]

    def patch(self, path, body):
        name = path.rpartition("/")[2]
        self.asked.append(f"patch {name}")
        if name in self.refused:
            raise ClusterError(f"PATCH {path}: {self.refused[name]} no", self.refused[name])
        self.labels[name] = {**self.labels[name], **body["metadata"]["labels"]}


def rollout(cluster, *, proof="labels", seen=SEEN, check_mode=False, relaid=(), replaced=False, so_far=None):
    row = {
        "labels": {"nvidia.com/gpu.count": "1"}, "resources": {}, "gpus": ["GPU-0"], "gpu_instances": INSTANCES,
        "observed_at": seen, "relaid": False,
    }  # fmt: skip
    params = {
        "name": "d", "namespace": "n", "expected": [{"node": n, **row} for n in NODES], "proof": proof,
        "relaid": relaid, "replaced": replaced, "port": 9400, "so_far": so_far or {},
    }  # fmt: skip
    return operand_rollout.Rollout(cluster, params, check_mode=check_mode)


def module(*, timeout=30, check_mode=False, pause_after=0, so_far=None):
    params = {"timeout": timeout, "poll": 0, "pause_after": pause_after, "so_far": so_far or {}}
    return SimpleNamespace(params=params, check_mode=check_mode)


def states(rows):
    return {row.node: row.state for row in rows}


def test_a_pod_that_has_proved_itself_is_not_asked_again():
    cluster = Cluster()
    cluster.logs["b"] = ""
    watched = rollout(cluster)
    assert states(watched.look()[0]) == {"a": "ready", "b": "not_ready", "c": "ready"}
    cluster.asked.clear()
    cluster.logs["b"] = LOG
    assert states(watched.look()[0]) == dict.fromkeys(NODES, "ready")
    assert cluster.asked == ["list DaemonSet", "list Pod", "list Node", "log b"]


def test_without_a_proof_by_pods_no_pod_is_asked():
    cluster = Cluster()
    rollout(cluster, proof="allocatable").look()
    assert cluster.asked == ["list DaemonSet", "list Pod", "list Node"]


def test_when_the_time_is_over_pods_are_not_asked_any_more():
    cluster = Cluster()
    watched = rollout(cluster)
    watched.deadline = 0.0
    rows, _pace = watched.look()
    assert {row.reason for row in rows} == {"the time was over before its pod could be asked for a proof"}
    assert not [asked for asked in cluster.asked if asked.startswith("log")]


def test_a_look_that_fails_later_is_repeated():
    cluster = Cluster()
    cluster.logs["b"] = ""
    watched = rollout(cluster)
    cluster.broken = [False, False, True, True]

    def text(path, query=None, *, timeout=30.0):
        return LOG if not cluster.broken else ""

    cluster.text = text
    assert states(operand_rollout.wait(module(), watched).rows) == dict.fromkeys(NODES, "ready")


def test_a_first_look_that_fails_is_told():
    cluster = Cluster()
    cluster.broken = [True]
    with pytest.raises(ClusterError, match="503"):
        operand_rollout.wait(module(), rollout(cluster))


def deleted(cluster):
    return [asked for asked in cluster.asked if asked.startswith("delete")]


def targets(watched):
    return [(step.action, step.target) for step in watched.steps]


def test_a_pod_of_an_earlier_layout_is_replaced_and_the_new_one_proves_itself():
    cluster = Cluster()
    cluster.logs["b"] = OLD_LOG
    watched = rollout(cluster)
    last = operand_rollout.wait(module(), watched)
    assert states(last.rows) == dict.fromkeys(NODES, "ready")
    assert deleted(cluster) == ["delete b"]
    assert targets(watched) == [("restart_pod", "Pod pod-b on Node b")]
    assert watched.plan(last.rows).findings == ()


def test_an_exporter_that_names_the_instances_of_a_change_that_was_killed_is_replaced():
    cluster = Cluster()
    cluster.metrics["b"] = series(9)
    watched = rollout(cluster, proof="series")
    assert states(operand_rollout.wait(module(), watched).rows) == dict.fromkeys(NODES, "ready")
    assert deleted(cluster) == ["delete b"]


def test_where_all_is_well_nothing_is_deleted_and_no_pod_is_asked_twice():
    cluster = Cluster()
    watched = rollout(cluster)
    operand_rollout.wait(module(), watched)
    assert (deleted(cluster), watched.steps) == ([], [])
    assert len(cluster.asked) == 3 + len(NODES)


def test_a_pod_that_disagrees_for_another_reason_is_replaced_once_and_told():
    cluster = Cluster()
    cluster.logs["b"], cluster.mends = OLD_LOG, False
    watched = rollout(cluster)
    for _look in range(3):
        rows, _pace = watched.look()
        watched.restart(rows)
        cluster.started["b"] = EARLY  # and be it that old again
    assert deleted(cluster) == ["delete b"]
    assert [row.reason for row in rows if row.node == "b"] == [
        "GFD's label nvidia.com/gpu.count is '7', predicted '1'",
    ]  # fmt: skip
    assert [f.summary for f in watched.plan(rows).findings] == ["d: a new pod did not help on b"]


def test_a_wait_that_pauses_goes_on_with_what_it_knew():
    cluster = Cluster()
    cluster.logs["b"], cluster.mends = OLD_LOG, False
    watched = rollout(cluster)
    paused = operand_rollout.wait(module(pause_after=0.001), watched)
    assert (paused.over, paused.bound) == (False, 30)
    result = operand_rollout.returns(module(), watched, paused)
    assert result["findings"] == []  # not before the time is over
    asked = len(cluster.asked)
    again = rollout(cluster, so_far=result["so_far"])
    last = operand_rollout.wait(module(so_far={**result["so_far"], "waited": 31}), again)
    assert (last.over, last.waited) == (True, 31)
    assert deleted(cluster) == ["delete b"]
    assert targets(again) == [("restart_pod", "Pod pod-b on Node b")]
    assert [f.id for f in again.plan(last.rows).findings] == ["GPU-K8S-107"]
    assert cluster.asked[asked:] == ["list DaemonSet", "list Pod", "list Node", "log b"]


def test_a_look_that_fails_after_a_pause_is_repeated_too():
    cluster = Cluster()
    so_far = {"waited": 1, "bound": 30}
    cluster.broken = [True]
    last = operand_rollout.wait(module(so_far=so_far), rollout(cluster, so_far=so_far))
    assert states(last.rows) == dict.fromkeys(NODES, "ready")


def test_a_pod_that_may_not_be_deleted_is_told_and_the_others_are_replaced():
    cluster = Cluster()
    cluster.logs.update(a=OLD_LOG, b=OLD_LOG)
    cluster.refused = {"b": 403}
    watched = rollout(cluster)
    watched.restart(watched.look()[0])
    rows = {row.node: row for row in watched.look()[0]}
    assert targets(watched) == [("restart_pod", "Pod pod-a on Node a")]
    assert rows["a"].state == "ready"
    assert "its pod could not be replaced: DELETE" in rows["b"].reason


def test_check_mode_shows_what_it_would_replace():
    cluster = Cluster()
    cluster.logs["b"] = OLD_LOG
    watched = rollout(cluster, check_mode=True, relaid=["c"])
    operand_rollout.wait(module(check_mode=True), watched)
    assert deleted(cluster) == []
    assert [target for _action, target in targets(watched)] == ["Pod pod-b on Node b", "Pod pod-c on Node c"]


def test_check_mode_shows_no_restart_where_the_daemon_set_replaces_all_pods():
    watched = rollout(Cluster(), check_mode=True, relaid=["c"], replaced=True)
    operand_rollout.wait(module(check_mode=True), watched)
    assert watched.steps == []


def labels(cluster):
    gpu = {"index": 0, "uuid": "GPU-0", "name": "X", "mig": {"capable": False, "enabled": False, "devices": []}}
    facts = {"gpus": [gpu], "driver": {}, "machine": "x"}
    rows = [{"name": n, "node": n, "names": [], "addresses": [], "state": "ready", "facts": facts} for n in NODES]
    return node_labels.Labels(cluster, {"hosts": rows, "mig_strategy": "none"})


def patched(cluster):
    return [asked for asked in cluster.asked if asked.startswith("patch")]


def test_every_node_is_patched_once_and_never_again():
    cluster = Cluster()
    assert "msg" not in labels(cluster).bring_about(check_mode=False)
    assert patched(cluster) == ["patch a", "patch b", "patch c"]
    again = labels(cluster).bring_about(check_mode=False)
    assert (again["changed"], len(patched(cluster))) == (False, 3)


@pytest.mark.parametrize("status", [403, 404, 422])
def test_a_node_that_is_refused_does_not_keep_the_others_from_their_labels(status):
    cluster = Cluster()
    cluster.refused = {"b": status}
    result = labels(cluster).bring_about(check_mode=False)
    assert result["msg"] == f"PATCH /api/v1/nodes/b: {status} no"
    assert patched(cluster) == ["patch a", "patch b", "patch c"]


def test_an_api_server_that_fails_ends_it():
    cluster = Cluster()
    cluster.refused = {"a": 500}
    with pytest.raises(ClusterError):
        labels(cluster).bring_about(check_mode=False)
    assert patched(cluster) == ["patch a"]


def test_check_mode_patches_nothing():
    cluster = Cluster()
    assert labels(cluster).bring_about(check_mode=True)["changed"]
    assert patched(cluster) == []
