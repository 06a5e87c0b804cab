# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of hosts and nodes: who is who, and what has to be patched."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.nodes import Host, match_node, plan_nodes


def node(name, *, hostname=None, address=None, labels=None):
    addresses = [{"type": "InternalIP", "address": address}] if address else []
    meta = {"name": name, "labels": {"kubernetes.io/hostname": hostname or name, **(labels or {})}}
    return {"metadata": meta, "status": {"addresses": addresses}}


def facts(mig=None):
    gpu = {
        "index": 0, "uuid": "GPU-0", "name": "NVIDIA H100 80GB HBM3", "memory_mib": 81559, "compute_capability": "9.0",
        "pci_class": "0x030200", "mig": {"capable": True, "enabled": mig is not None, "devices": mig or []},
    }  # fmt: skip
    return {"gpus": [gpu], "driver": {"loaded_version": "595.71.05", "cuda_version": 13020}, "machine": "x"}


def host(name="a", **more):
    given = {"node": "", "names": (name,), "addresses": (), "state": "ready", "facts": facts(), **more}
    return Host(name=name, **given)


NODES = [node("a", address="198.51.100.1"), node("ip-2", hostname="b", address="198.51.100.2"), node("c")]

# host -> node
MATCHES = {
    "by name": (host("a"), "a"),
    "by hostname label": (host("b"), "ip-2"),
    "by address": (host("gpu7", addresses=("198.51.100.2",)), "ip-2"),
    "name wins over address": (host("c", addresses=("198.51.100.1",)), "c"),
    "explicit wins over all": (host("a", node="c"), "c"),
    "explicit and absent is no other": (host("a", node="z"), None),
    "nobody": (host("q"), None),
}


@pytest.mark.parametrize(("wanted", "name"), MATCHES.values(), ids=MATCHES)
def test_match(wanted, name):
    found = match_node(wanted, NODES)
    assert (found["metadata"]["name"] if found else None) == name


def test_what_a_host_knows_of_its_layout_is_handed_on():
    _plan, (wish,) = plan_nodes([host(observed_at="t", relaid=True)], NODES, mig_strategy="single")
    assert (wish.observed_at, wish.relaid) == ("t", True)


def test_the_mig_instances_of_a_host_are_handed_on_to_the_exporter():
    mig = [{"profile": "1g.10gb", "gpu_instance": number, "memory_mib": 9728, "attributes": {}} for number in (7, 8)]
    _plan, (wish,) = plan_nodes([host(facts=facts(mig))], NODES, mig_strategy="single")
    assert list(wish.gpu_instances) == [{"gpu": "GPU-0", "id": number, "profile": "1g.10gb"} for number in (7, 8)]


def test_a_ready_host_gets_labels_resources_and_operands():
    plan, (wish,) = plan_nodes([host()], NODES, mig_strategy="single")
    assert [s.target for s in plan.steps] == ["Node a"]
    assert wish.resources == {"nvidia.com/gpu": 1}
    assert wish.gpus == ("GPU-0",)
    assert wish.operands
    assert wish.changed["nvidia.com/gpu.deploy.device-plugin"] == "true"
    assert wish.changed["nvidia.com/gpu.deploy.mig-manager"] == "true"
    assert wish.changed["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"


PLUGIN, DRIVER = "nvidia.com/gpu.deploy.device-plugin", "nvidia.com/gpu.deploy.driver"
PAUSED = {
    PLUGIN: "paused-for-mig-change",
    DRIVER: "paused-for-driver-upgrade",
    "nvidia.com/mig.config.state": "pending",
}
CORDON = "gpu.fleet/cordoned-for-mig-change"


def left_by_a_kill():
    """A node in the middle of a change of its MIG layout."""
    found = node("a", labels=PAUSED)
    found["metadata"]["annotations"] = {CORDON: "true"}
    return {**found, "spec": {"unschedulable": True}}


def test_a_node_that_a_killed_mig_change_left_goes_on():
    there = left_by_a_kill()
    mig = {"mig_config": "all-balanced", "mig_state": "success"}
    plan, (wish,) = plan_nodes([host(**mig)], [there], mig_strategy="single")
    patch = wish.patch()
    assert patch["spec"] == {"unschedulable": None}
    assert patch["metadata"]["annotations"] == {CORDON: None}
    labels = patch["metadata"]["labels"]
    assert (labels[PLUGIN], labels["nvidia.com/mig.config"]) == ("true", "all-balanced")
    assert labels["nvidia.com/mig.config.state"] == "success"
    assert DRIVER not in labels
    assert "schedulable" in plan.steps[0].after


@pytest.mark.parametrize(
    "changes", [{}, {"state": "not_ready", "mig_state": "failed"}, {"state": "unknown", "mig_state": "success"}]
)
def test_a_node_whose_layout_is_not_known_to_be_right_stays_paused(changes):
    _plan, (wish,) = plan_nodes([host(**changes)], [left_by_a_kill()], mig_strategy="single")
    assert "spec" not in wish.patch()
    assert PLUGIN not in wish.changed


def test_a_removed_host_keeps_the_wish_and_loses_how_it_ended():
    there = node("a", labels={"nvidia.com/mig.config": "all-1g.10gb", "nvidia.com/mig.config.state": "success"})
    _plan, (wish,) = plan_nodes([host(state="removed", facts={})], [there], mig_strategy="single")
    assert wish.changed["nvidia.com/mig.config.state"] is None
    assert "nvidia.com/mig.config" not in wish.changed


def test_nobody_elses_cordon_is_taken_back():
    there = {**node("a"), "spec": {"unschedulable": True}}
    _plan, (wish,) = plan_nodes([host(mig_state="success")], [there], mig_strategy="single")
    assert "spec" not in wish.patch()


def test_a_host_without_a_layout_keeps_its_mig_labels():
    there = node("a", labels={"nvidia.com/mig.config": "all-1g.10gb", "nvidia.com/mig.config.state": "pending"})
    _plan, (wish,) = plan_nodes([host()], [there], mig_strategy="single")
    assert not [key for key in wish.changed if key.startswith("nvidia.com/mig.config")]


def test_a_node_that_has_its_labels_is_not_patched():
    _plan, (wish,) = plan_nodes([host()], NODES, mig_strategy="single")
    after = [node("a", labels=dict(wish.labels))]
    plan, (again,) = plan_nodes([host()], after, mig_strategy="single")
    assert not plan.changed
    assert again.changed == {}


def test_a_failed_host_loses_its_deploy_labels_and_keeps_what_it_is():
    before = [node("a", labels={"nvidia.com/gpu.deploy.device-plugin": "true", "nvidia.com/gpu.product": "X"})]
    _plan, (wish,) = plan_nodes([host(state="not_ready", facts={})], before, mig_strategy="single")
    assert wish.changed == {"nvidia.com/gpu.deploy.device-plugin": None, "nvidia.com/gpu.present": "true"}
    assert not wish.operands


def test_a_removed_host_leaves_no_label_of_ours_and_all_of_others():
    _plan, (ready,) = plan_nodes([host()], NODES, mig_strategy="single")
    others = {"nvidia.com/gpu.deploy.driver": "false", "kubernetes.io/os": "linux", "example.org/nvidia.com": "x"}
    before = [node("a", labels={**ready.labels, **others, "nvidia.com/gfd.timestamp": "1"})]
    plan, (wish,) = plan_nodes([host(state="removed", facts={})], before, mig_strategy="single")
    left = {k: v for k, v in before[0]["metadata"]["labels"].items() if k not in wish.changed}
    assert set(left) == {"kubernetes.io/hostname", "kubernetes.io/os", "example.org/nvidia.com"}
    assert set(wish.changed.values()) == {None}
    assert not wish.operands
    plan, _wishes = plan_nodes([host(state="removed", facts={})], [node("a", labels=left)], mig_strategy="single")
    assert plan.steps == ()


@pytest.mark.parametrize(
    "labels", [{}, {"nvidia.com/gpu.deploy.device-plugin": "true", "nvidia.com/gpu.present": "true"}]
)
def test_node_of_a_host_of_which_nothing_is_known_is_left_as_it_is(labels):
    plan, (wish,) = plan_nodes([host(state="unknown", facts={})], [node("a", labels=labels)], mig_strategy="single")
    assert (plan.steps, plan.findings, wish.changed, wish.operands) == ((), (), {}, False)


def test_two_hosts_cannot_be_one_node():
    plan, _wishes = plan_nodes([host("a"), host("b", node="a"), host("c")], NODES, mig_strategy="single")
    (finding,) = plan.errors
    assert finding.id == "GPU-K8S-106"
    assert finding.found.startswith("node a for a and b")
    assert "gpu_fleet_node_name of b" in finding.remedy


def test_in_a_plan_a_host_that_would_be_ready_shows_its_deploy_labels():
    _plan, (wish,) = plan_nodes([host(state="planned", facts={})], NODES, mig_strategy="single")
    assert wish.changed["nvidia.com/gpu.deploy.driver"] == "true"
    assert "nvidia.com/gpu.product" not in wish.changed


def test_a_layout_that_the_plugin_refuses_keeps_operands_off_the_node_and_says_why():
    two = [{"profile": p, "memory_mib": 1} for p in ("1g.10gb", "2g.20gb")]
    plan, (wish,) = plan_nodes([host(facts=facts(two))], NODES, mig_strategy="single")
    assert not wish.operands
    assert "GPU-K8S-101" in wish.reason
    assert [f.id for f in plan.findings] == ["GPU-K8S-101"]
    assert "nvidia.com/gpu.deploy.device-plugin" not in wish.changed


def test_a_host_that_is_no_node_is_a_warning_beside_others_that_are():
    plan, wishes = plan_nodes([host(), host("q"), host("r", node="z")], NODES, mig_strategy="single")
    assert [(f.id, f.severity) for f in plan.findings] == [("GPU-K8S-104", "warning")] * 2
    assert [w.node for w in wishes] == ["a"]
    assert not plan.blocked


def test_a_cluster_in_which_no_host_is_a_node_is_not_touched():
    plan, wishes = plan_nodes([host("q"), host("r", node="z")], NODES, mig_strategy="single")
    assert plan.blocked
    assert plan.findings[-1].id == "GPU-K8S-105"
    assert "gpu_fleet_cluster: false" in plan.findings[-1].remedy
    assert wishes == ()


def test_hosts_without_a_gpu_need_no_node():
    assert not plan_nodes([host("q", state="ignored", facts={})], NODES, mig_strategy="single")[0].blocked
