# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of wanted and present objects, and what has to be applied or deleted."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.objects import differences, mark, plan_objects

PLUGIN, EXPORTER, SHARED = "state-device-plugin", "state-dcgm-exporter", "pre-requisites"


def daemonset(name="plugin", image="a:1"):
    pod = {
        "containers": [{"name": "c", "image": image, "env": [{"name": "A", "value": "1"}]}],
        "nodeSelector": {"l": "true"},
    }
    spec = {"template": {"spec": pod}}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": "ns"}, "spec": spec}


def cluster_object(kind, name, **more):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **more}


def present(definition, state, **more):
    """As the API server gives it back: our definition, and what the server adds."""
    found = copy.deepcopy(mark(definition, state=state))
    found["metadata"] |= {"uid": "u", "generation": 1, **more}
    found.setdefault("status", {"numberReady": 1})
    if definition["kind"] == "DaemonSet":
        found["spec"]["revisionHistoryLimit"] = 10
        found["spec"]["template"]["spec"]["containers"][0]["env"].append({"name": "BY_A_WEBHOOK", "value": "x"})
    return found


def drifted(definition, state, change):
    found = present(definition, state)
    change(found)
    return found


NAMESPACE = cluster_object("Namespace", "ns")
MINE = present(daemonset(), PLUGIN)

# wanted, found, state -> steps
CASES = {
    "fresh": ([daemonset()], [], PLUGIN, ["create DaemonSet ns/plugin"]),
    "as wanted; what the server and others add does not count": ([daemonset()], [MINE], PLUGIN, []),
    "new image": ([daemonset(image="a:2")], [MINE], PLUGIN, ["apply DaemonSet ns/plugin"]),
    "image changed by hand": (
        [daemonset()],
        [drifted(daemonset(), PLUGIN, lambda o: o["spec"]["template"]["spec"]["containers"][0].update(image="b:9"))],
        PLUGIN,
        ["apply DaemonSet ns/plugin"],
    ),
    "selector removed by hand": (
        [daemonset()],
        [drifted(daemonset(), PLUGIN, lambda o: o["spec"]["template"]["spec"].pop("nodeSelector"))],
        PLUGIN,
        ["apply DaemonSet ns/plugin"],
    ),
    "a field that the role no longer has": (
        [daemonset()],
        [present({**daemonset(), "extra": 1}, PLUGIN)],
        PLUGIN,
        ["apply DaemonSet ns/plugin"],
    ),
    "renamed": ([daemonset("new")], [MINE], PLUGIN, ["create DaemonSet ns/new", "delete DaemonSet ns/plugin"]),
    "disabled, another operand stays, so does the namespace": (
        [],
        [MINE, present(daemonset("x"), EXPORTER), present(NAMESPACE, SHARED)],
        PLUGIN,
        ["delete DaemonSet ns/plugin"],
    ),
    "last operand takes the namespace with it": (
        [],
        [MINE, present(NAMESPACE, SHARED)],
        PLUGIN,
        ["delete DaemonSet ns/plugin", "delete Namespace ns"],
    ),
    "a namespace of somebody else stays": ([], [MINE, NAMESPACE], PLUGIN, ["delete DaemonSet ns/plugin"]),
    "already being deleted": ([], [present(daemonset(), PLUGIN, deletionTimestamp="t")], PLUGIN, []),
    "nothing of another state is touched": ([], [present(daemonset("x"), EXPORTER)], PLUGIN, []),
}  # fmt: skip


@pytest.mark.parametrize(("wanted", "found", "state", "steps"), CASES.values(), ids=CASES)
def test_steps(wanted, found, state, steps):
    decided = plan_objects(wanted, found, state=state)
    assert [f"{s.action} {s.target}" for s in decided.plan.steps] == steps
    assert len(decided.apply) + len(decided.delete) == len(steps)


def test_a_change_shows_the_field_with_both_sides():
    (step,) = plan_objects([daemonset(image="a:2")], [MINE], state=PLUGIN).plan.steps
    assert step.before == "spec.template.spec.containers[c].image: a:1"
    assert step.after == "spec.template.spec.containers[c].image: a:2"


def test_what_is_applied_carries_manager_state_and_hash():
    (applied,) = plan_objects([daemonset()], [], state=PLUGIN).apply
    assert applied["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "gpu.fleet", "gpu.fleet/state": PLUGIN}
    assert len(applied["metadata"]["annotations"]["gpu.fleet/applied-hash"]) == 16


def test_labels_go_onto_a_foreign_namespace_without_making_it_ours():
    wanted = {**NAMESPACE, "metadata": {"name": "ns", "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
    (applied,) = plan_objects([wanted], [NAMESPACE], state=SHARED).apply
    assert applied["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "privileged"}


def runtime_class(handler):
    return cluster_object("RuntimeClass", "nvidia", handler=handler)


def test_a_foreign_runtime_class_is_used_as_it_is():
    decided = plan_objects([runtime_class("nvidia")], [runtime_class("nvidia")], state=SHARED)
    assert not decided.plan.changed
    assert not decided.plan.findings


def test_a_runtime_class_with_another_handler_blocks():
    decided = plan_objects([runtime_class("nvidia")], [runtime_class("runc")], state=SHARED)
    assert decided.plan.blocked
    assert "runc" in decided.plan.findings[0].found


# wanted, found -> paths that differ
DIFFERENCES = {
    "empty equals absent": ({"a": {}, "b": [], "c": None, "d": ""}, {}, []),
    "false is absent": ({"a": False}, {}, []),
    "order of a plain list counts": ({"a": ["x", "y"]}, {"a": ["y", "x"]}, ["a[0]", "a[1]"]),
    "length of a plain list counts": ({"a": ["x"]}, {"a": ["x", "y"]}, ["a"]),
    "named items may stand anywhere": (
        {"a": [{"name": "p", "v": 1}]},
        {"a": [{"name": "q"}, {"name": "p", "v": 1}]},
        [],
    ),
    "named item is missing": ({"a": [{"name": "p", "v": 1}]}, {"a": [{"name": "q"}]}, ["a[p].name", "a[p].v"]),
}


@pytest.mark.parametrize(("wanted", "found", "paths"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_differences(wanted, found, paths):
    assert [path for path, _old, _new in differences(wanted, found)] == paths
