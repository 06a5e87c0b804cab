# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""mig_nodes on a cluster of a few objects in memory, whose DaemonSet controller and eviction work at once."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._kubernetes import ClusterError
from ansible_collections.gpu.fleet.plugins.modules import mig_nodes

DEPLOY = "nvidia.com/gpu.deploy."
PAUSED = "paused-for-mig-change"
CONFIG, STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"
PLUGIN, EXPORTER = f"{DEPLOY}device-plugin", f"{DEPLOY}dcgm-exporter"
CORDON = "gpu.fleet/cordoned-for-mig-change"


def node(name, *, labels=None, cordoned=False, ready="True"):
    found = {PLUGIN: "true", EXPORTER: "false", f"{DEPLOY}driver": "true", "nvidia.com/gpu.present": "true"}
    return {
        "metadata": {"name": name, "labels": {**found, **(labels or {})}, "annotations": {}},
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def pod(name, where, *, gpu=True, owner="ReplicaSet", phase="Running", selector=None, labels=None):
    owners = [{"kind": owner, "controller": True}] if owner else []
    wants = {"limits": {"nvidia.com/mig-1g.10gb": "1"}} if gpu else {"limits": {"cpu": "1"}}
    return {
        "metadata": {"namespace": "ns", "name": name, "ownerReferences": owners, "labels": labels or {}},
        "spec": {
            "nodeName": where,
            "nodeSelector": selector or {},
            "containers": [{"name": "c", "resources": {} if selector else wants}],
        },
        "status": {"phase": phase},
    }


def plugin(where):
    return pod(f"plugin-{where}", where, owner="DaemonSet", selector={PLUGIN: "true"})


class Cluster:
    """``stays``: pods that do not go; ``forbids``: how often a disruption budget refuses."""

    def __init__(self, *objects, stays=(), forbids=0, comes=()):
        self.objects = {o["metadata"]["name"]: o for o in objects}
        self.stays, self.forbids, self.comes = stays, forbids, list(comes)
        self.asked = []

    def list(self, kind, *, selector=""):
        self.asked.append(f"list {kind}")
        return [copy.deepcopy(o) for o in self.objects.values() if "nodeName" not in o["spec"]]

    def get(self, path, query=None):
        self.asked.append(f"get {path}")
        if path == "/api/v1/pods":
            where = query["fieldSelector"].partition("=")[2]
            return {"items": [o for o in self.objects.values() if o["spec"].get("nodeName") == where]}
        return copy.deepcopy(self.objects[path.rpartition("/")[2]])

    def patch(self, path, body):
        name = path.rpartition("/")[2]
        self.asked.append(f"patch {name}")
        found = self.objects[name]
        for part in ("labels", "annotations"):
            found["metadata"][part].update((body.get("metadata") or {}).get(part) or {})
            found["metadata"][part] = {k: v for k, v in found["metadata"][part].items() if v is not None}
        found["spec"] = {k: v for k, v in {**found["spec"], **(body.get("spec") or {})}.items() if v is not None}
        for come in self.comes:
            self.objects[come["metadata"]["name"]] = come
        self.comes = []
        gone = [n for n, o in self.objects.items() if o["spec"].get("nodeName") == name and not self.selected(o, found)]
        for name in gone:
            if name not in self.stays:
                del self.objects[name]

    @staticmethod
    def selected(found, where):
        selector = found["spec"].get("nodeSelector") or {}
        return all(where["metadata"]["labels"].get(k) == v for k, v in selector.items())

    def evict(self, namespace, name):
        self.asked.append(f"evict {name}")
        if self.forbids:
            self.forbids -= 1
            return False
        if name not in self.stays:
            del self.objects[name]
        return True

    @property
    def patched(self):
        return [a for a in self.asked if a.startswith("patch")]

    def labels(self, name):
        return self.objects[name]["metadata"]["labels"]


def run(cluster, state, *hosts, check_mode=False, timeout=0, **more):
    rows = [{"node": "", "names": [h], "addresses": [], "config": "", "result": "", "name": h} for h in hosts]
    row = {key: more.pop(key) for key in ("config", "result", "node") if key in more}
    params = {
        "state": state, "hosts": [{**r, **row} for r in rows], "drain": False, "max_unavailable": "100%", "total": 0,
        "timeout": timeout, "poll": 0, "tell": True, **more,
    }  # fmt: skip
    nodes = mig_nodes.Nodes(cluster, params, check_mode=check_mode)
    {"read": lambda: None, "paused": nodes.pause, "resumed": nodes.resume}[state]()
    return nodes.result()


def reasons(result):
    return {row["node"]: row["reason"] for row in result["nodes"]}


def actions(result):
    return [f"{s['action']} {s['target']}" for s in result["plan"]["steps"]]


def test_operands_are_paused_and_the_node_is_cordoned_then_all_is_as_before():
    cluster = Cluster(node("a"), plugin("a"))
    before = copy.deepcopy(cluster.objects["a"])
    paused = run(cluster, "paused", "a")
    assert reasons(paused) == {"a": ""}
    assert cluster.labels("a") == {**before["metadata"]["labels"], PLUGIN: PAUSED, STATE: "pending"}
    assert cluster.objects["a"]["spec"] == {"unschedulable": True}
    assert "plugin-a" not in cluster.objects

    run(cluster, "resumed", "a", config="all-balanced", result="success")
    assert cluster.labels("a") == {**before["metadata"]["labels"], CONFIG: "all-balanced", STATE: "success"}
    assert (cluster.objects["a"]["spec"], cluster.objects["a"]["metadata"]["annotations"]) == ({}, {})
    writes = len(cluster.patched)
    assert not run(cluster, "resumed", "a", config="all-balanced", result="success")["changed"]
    assert len(cluster.patched) == writes


def test_where_a_layout_is_taken_away_no_label_tells_of_it():
    cluster = Cluster(node("a"), plugin("a"))
    before = copy.deepcopy(cluster.objects["a"])
    run(cluster, "paused", "a", tell=False)
    assert (cluster.labels("a")[PLUGIN], STATE in cluster.labels("a")) == (PAUSED, False)
    run(cluster, "resumed", "a", tell=False, config="all-disabled", result="success")
    assert cluster.objects["a"] == before


def test_paused_twice_writes_once():
    cluster = Cluster(node("a"), plugin("a"))
    run(cluster, "paused", "a")
    assert not run(cluster, "paused", "a")["changed"]
    assert cluster.patched == ["patch a"]


def test_a_foreign_cordon_and_foreign_pauses_stay():
    cluster = Cluster(node("a", cordoned=True, labels={PLUGIN: "paused-for-driver-upgrade"}))
    run(cluster, "paused", "a")
    run(cluster, "resumed", "a", result="success")
    assert cluster.objects["a"]["spec"] == {"unschedulable": True}
    assert cluster.labels("a")[PLUGIN] == "paused-for-driver-upgrade"


def test_check_mode_writes_nothing():
    cluster = Cluster(node("a"), plugin("a"))
    assert actions(run(cluster, "paused", "a", check_mode=True)) == ["pause Node a"]
    assert cluster.patched == []


def test_pods_with_gpus_are_refused_before_any_write():
    cluster = Cluster(node("a"), plugin("a"), pod("job", "a"), node("b"), plugin("b"))
    result = run(cluster, "paused", "a", "b")
    assert "ns/job" in reasons(result)["a"]
    assert "mig_drain" in reasons(result)["a"]
    assert reasons(result)["b"] == ""
    assert cluster.patched == ["patch b"]


def test_only_pods_with_gpus_are_evicted():
    cluster = Cluster(
        node("a"), plugin("a"), pod("job", "a"), pod("web", "a", gpu=False), pod("old", "a", phase="Succeeded")
    )
    result = run(cluster, "paused", "a", drain=True, timeout=60)
    assert reasons(result) == {"a": ""}
    assert actions(result) == ["pause Node a", "evict Pod ns/job"]
    assert {"web", "old"} <= set(cluster.objects)
    assert "job" not in cluster.objects


def test_a_disruption_budget_is_waited_for():
    cluster = Cluster(node("a"), pod("job", "a"), forbids=2)
    assert reasons(run(cluster, "paused", "a", drain=True, timeout=60)) == {"a": ""}
    assert cluster.asked.count("evict job") == 3


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (pod("bare", "a", owner=""), "without a controller"),
        (pod("agent", "a", owner="DaemonSet"), "of a DaemonSet"),
        (pod("m", "a", gpu=False, owner="DaemonSet", labels={"app": "nvidia-mig-manager"}), "mig-manager runs there"),
    ],
    ids=["bare pod", "daemon set", "mig-manager"],
)
def test_what_would_be_lost_or_come_back_is_refused(found, words):
    cluster = Cluster(node("a"), found)
    assert words in reasons(run(cluster, "paused", "a", drain=True))["a"]
    assert cluster.patched == []


@pytest.mark.parametrize(("stays", "words"), [("job", "GPU pods (ns/job)"), ("plugin-a", "operands (ns/plugin-a)")])
def test_a_node_that_does_not_become_empty_is_given_back(stays, words):
    cluster = Cluster(node("a"), plugin("a"), pod("job", "a"), stays=[stays])
    before = cluster.labels("a").copy()
    result = run(cluster, "paused", "a", drain=True)
    assert words in reasons(result)["a"]
    assert cluster.labels("a") == {**before, STATE: "failed"}
    assert cluster.objects["a"]["spec"] == {}


def test_a_pod_that_comes_before_the_cordon_is_seen():
    cluster = Cluster(node("a"), comes=[pod("late", "a")])
    result = run(cluster, "paused", "a", timeout=60)
    assert "ns/late" in reasons(result)["a"]
    assert cluster.objects["a"]["spec"] == {}


def test_the_floor_counts_nodes_that_are_away_for_other_reasons():
    cluster = Cluster(*(node(n) for n in "abcd"), node("x", cordoned=True), node("y", ready="False"), node("z"))
    result = run(cluster, "paused", *"abcd", max_unavailable="50%")
    assert {n for n, r in reasons(result).items() if not r} == {"a"}
    assert "2 of 7 GPU nodes are unavailable already (x, y)" in reasons(result)["b"]


def test_a_share_is_of_all_hosts_before_the_nodes_have_their_labels():
    cluster = Cluster(*(node(n, labels={"nvidia.com/gpu.present": ""}) for n in "abcd"))
    assert set(reasons(run(cluster, "paused", "a", "b", max_unavailable="50%", total=4)).values()) == {""}


def test_labels_are_read_by_one_call():
    cluster = Cluster(node("a", labels={CONFIG: "all-3g.40gb", STATE: "success"}), node("b"))
    rows = run(cluster, "read", "a", "b", "no-node")["nodes"]
    assert [(r["host"], r["config"], r["result"]) for r in rows] == [("a", "all-3g.40gb", "success"), ("b", "", "")]
    assert cluster.asked == ["list Node"]


def test_one_known_node_is_not_searched():
    cluster = Cluster(node("a"), node("b"))
    run(cluster, "resumed", "a", node="a", result="success")
    assert cluster.asked == ["get /api/v1/nodes/a", "patch a"]


def test_a_name_that_is_no_label_leaves_the_label():
    cluster = Cluster(node("a"))
    run(cluster, "resumed", "a", config="my layout!", result="success")
    assert CONFIG not in cluster.labels("a")


@pytest.mark.parametrize(
    ("most", "total", "number"), [("1", 9, 1), ("25%", 8, 2), ("25%", 3, 1), ("100%", 3, 3), ("5", 2, 5)]
)
def test_shares(most, total, number):
    assert mig_nodes.rules.share(most, total) == number


@pytest.mark.parametrize("most", ["0", "-1", "", "0%", "101%", "a", "1.5"])
def test_what_is_no_share(most):
    with pytest.raises(ValueError, match="neither a number"):
        mig_nodes.rules.share(most, 10)


def test_waves():
    assert mig_nodes.rules.waves(list("abcde"), "40%", 5) == [["a", "b"], ["c", "d"], ["e"]]
    assert mig_nodes.rules.waves([], "1", 5) == []


def test_an_api_server_that_fails_is_told():
    cluster = Cluster(node("a"))

    def patch(path, body):
        raise ClusterError("PATCH: 403 no", 403)

    cluster.patch = patch
    with pytest.raises(ClusterError, match="403"):
        run(cluster, "paused", "a")
