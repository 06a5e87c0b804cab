# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of published results, and the state table that follows."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.operands import error_result, operand_result
from ansible_collections.gpu.fleet.plugins.module_utils._plan.states import (
    conditions,
    decide_states,
    host_state,
    results_of_validation,
)


def result(state="ready", reason=""):
    return {"state": state, "reason": reason, "plan": [], "findings": [], "reboot_required": False, "version": ""}


HOST = {role: result() for role in ("prereq", "driver", "mig", "toolkit", "validation")}
ALL = {**HOST, **{role: result() for role in ("device_plugin", "dcgm", "gfd")}}
FAILED = {"prereq": result(), "driver": result("error", "no package")}
NO_GPU = {"driver": result("ignored", "PCI has no NVIDIA GPU")}


def values(results, **more):
    cells = decide_states(["h"], {"h": results}, **more)
    return {c.role: (c.value, c.reason) for c in cells if c.role}


def test_every_state_of_the_operator_is_there():
    assert len(decide_states(["a", "b"], {})) == 40


# results, reason why the cluster is left out -> values that decide the case
CASES = {
    "all ready": (ALL, "", {"driver": ("ready", ""), "gfd": ("ready", "")}),
    "driver failed, the rest waits": (FAILED, "", {
        "driver": ("error", "no package"), "toolkit": ("not_ready", "waits for driver"),
        "device_plugin": ("not_ready", "waits for driver"),
    }),
    "no GPU": (NO_GPU, "", {"toolkit": ("ignored", "the host has no NVIDIA GPU"), "gfd": (
        "ignored", "the host has no NVIDIA GPU",
    )}),
    "no cluster": (HOST, "no kubeconfig", {"driver": ("ready", ""), "device_plugin": ("disabled", "no kubeconfig")}),
}  # fmt: skip


@pytest.mark.parametrize(("results", "without", "expected"), CASES.values(), ids=CASES)
def test_values(results, without, expected):
    found = values(results, cluster_reason=without)
    assert {role: found[role] for role in expected} == expected


def test_a_host_that_published_nothing_is_an_error():
    assert values({})["driver"][0] == "error"


# results of two hosts -> reason of the true condition
CONDITIONS = {
    "all ready": ({"a": ALL, "b": NO_GPU}, "Ready", "Reconciled"),
    "no GPU at all": ({"a": NO_GPU}, "Ready", "NoGPUNodes"),
    "an operand": ({"a": {**ALL, "gfd": result("not_ready", "x")}}, "Error", "OperandNotReady"),
    "a driver": ({"a": {**HOST, "driver": result("not_ready", "reboot")}}, "Error", "DriverNotReady"),
    "an error": ({"a": ALL, "b": FAILED}, "Error", "ReconcileFailed"),
}


@pytest.mark.parametrize(("results", "kind", "reason"), CONDITIONS.values(), ids=CONDITIONS)
def test_conditions(results, kind, reason):
    rows = conditions(decide_states(list(results), results))
    (true,) = [r for r in rows if r["status"] == "True"]
    assert (true["type"], true["reason"]) == (kind, reason)
    assert sorted(r["type"] for r in rows) == ["Error", "Ready"]


# results, planned -> whether operands may land
LAND = {
    "ready": (HOST, False, "ready"),
    "mig disabled is fine": ({**HOST, "mig": result("disabled")}, False, "ready"),
    "failed": (FAILED, False, "unknown"),
    "failed in a plan": (FAILED, True, "unknown"),
    "found not ready, then failed": (
        {**HOST, "driver": result("not_ready"), "mig": result("error")},
        False,
        "not_ready",
    ),
    "reboot required": ({**HOST, "driver": result("not_ready")}, False, "not_ready"),
    "would become ready": ({**HOST, "driver": result("not_ready")}, True, "planned"),
    "stopped half way": ({"prereq": result()}, False, "not_ready"),
    "no GPU": (NO_GPU, False, "ignored"),
    "nothing": ({}, True, "unknown"),
}


@pytest.mark.parametrize(("results", "planned", "word"), LAND.values(), ids=LAND)
def test_host_state(results, planned, word):
    assert host_state(results, planned=planned) == word


def validation(*rows, steps=()):
    components = [{"name": n, "state": s, "reason": r} for n, s, r in rows]
    bad = [f"{n}: {r}" for n, s, r in rows if s == "not_ready"]
    plan = {"steps": [{"action": "write_barrier", "target": t} for t in steps]}
    return {"components": components, "ready": not bad, "reasons": bad, "plan": plan, "findings": []}


GOOD = (
    ("driver", "ready", ""),
    ("toolkit", "ready", ""),
    ("runtime", "ready", ""),
    ("cdi", "ready", ""),
    ("mig", "disabled", ""),
)


def states(proof):
    return {role: r["state"] for role, r in results_of_validation(proof).items()}


def test_status_of_a_proved_host():
    assert states(validation(*GOOD)) == {
        "driver": "ready", "mig": "disabled", "toolkit": "ready", "validation": "ready",
    }  # fmt: skip


def test_status_takes_the_worst_of_a_roles_components():
    proof = validation(*GOOD[:3], ("cdi", "not_ready", "stale"))
    assert states(proof)["toolkit"] == "not_ready"
    assert results_of_validation(proof)["toolkit"]["reason"] == "stale"
    assert states(proof)["validation"] == "not_ready"


def test_status_sees_barrier_files_that_do_not_fit():
    assert states(validation(*GOOD, steps=["toolkit-ready"]))["validation"] == "not_ready"


def row(**more):
    return {"host": "h", "node": "n", "operands": True, "reason": "", **more}


def seen(state="ready", reason="", **more):
    nodes = [{"node": "n", "state": state, "reason": reason}]
    return {"ready": state == "ready", "looked_once": False, "nodes": nodes, "reasons": [f"n: {reason}"], **more}


APPLIED = {"plan": {"steps": ["step"]}, "findings": ["finding"]}

# nodes, state, rollout -> state, whether the role fails
OPERANDS = {
    "ready": ([row()], "present", seen(), "ready", False),
    "not ready": ([row()], "present", seen("not_ready", "crash"), "not_ready", True),
    "not ready in check mode": ([row()], "present", seen("not_ready", "x", looked_once=True), "not_ready", False),
    "absent": ([row()], "absent", {"skipped": True}, "disabled", False),
    "host not ready": ([row(operands=False)], "present", seen(), "not_ready", False),
    "the plugin would refuse": ([row(operands=False, reason="GPU-K8S-101")], "present", seen(), "error", False),
    "no node of the cluster": ([row(host="other")], "present", seen(), "ignored", False),
    "role alone": ([], "present", seen(), "ready", False),
    "role alone, not ready": ([], "present", seen("not_ready", "x"), "not_ready", True),
    "rollout never ran": ([row()], "present", {"failed": True}, "not_ready", False),
}


@pytest.mark.parametrize(("nodes", "state", "rollout", "value", "waits"), OPERANDS.values(), ids=OPERANDS)
def test_operand_result(nodes, state, rollout, value, waits):
    found = operand_result(nodes, host="h", state=state, applied=APPLIED, rollout=rollout)
    assert (found["state"], found["waits"]) == (value, waits)
    assert found["cluster"] == {"plan": ["step"], "findings": ["finding"]}


def test_steps_and_findings_of_the_rollout_follow_those_of_the_objects():
    rollout = {**seen(), "plan": {"steps": ["restart"]}, "findings": ["did not help"]}
    found = operand_result([row()], host="h", state="present", applied=APPLIED, rollout=rollout)
    assert found["cluster"] == {"plan": ["step", "restart"], "findings": ["finding", "did not help"]}


def test_an_operand_has_a_result_for_every_host_that_is_asked_for():
    found = operand_result(
        [row(), row(host="g", operands=False)], host="h", state="present", applied=APPLIED, rollout=seen(),
        version="image:1", hosts=["h", "g", "other"],
    )["hosts"]  # fmt: skip
    assert {host: result["state"] for host, result in found.items()} == {
        "h": "ready", "g": "not_ready", "other": "ignored",
    }  # fmt: skip
    assert found["h"]["version"] == "image:1"


def test_an_operand_that_failed_as_a_whole_is_an_error_on_every_host():
    found = error_result(["g", "h"], "refused", findings=["finding"])
    assert found["g"] == found["h"]
    assert (found["g"]["state"], found["g"]["reason"], found["g"]["findings"]) == ("error", "refused", ["finding"])
