# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a small fleet, as document and as lines for a terminal."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.report import (
    bad_hosts,
    make_report,
    plan_lines,
    report_lines,
    with_operands,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.states import NEVER_RAN

STEP = {
    "action": "install", "target": "nvidia-open 595.71.05", "before": None, "after": "595.71.05",
    "reason": "the host has no driver", "disrupts": "host",
}  # fmt: skip
FINDING = {
    "id": "GPU-KRN-026", "severity": "error", "summary": "versions differ", "wanted": "a", "found": "b",
    "remedy": "reboot", "source": "",
}  # fmt: skip


def result(state, reason="", **more):
    return {
        "state": state,
        "reason": reason,
        "plan": [],
        "findings": [],
        "reboot_required": False,
        "version": "",
        **more,
    }


RESULTS = {
    "gpu-a": {"prereq": result("ready"), "driver": result("ready", plan=[STEP], version="595.71.05")},
    "gpu-b": {
        "prereq": result("ready"),
        "driver": result("not_ready", "a reboot is required", reboot_required=True, findings=[FINDING, FINDING]),
    },
}
CLUSTER = {
    "node_labels": {
        "plan": [{**STEP, "action": "label", "target": "Node gpu-a", "disrupts": "nothing"}],
        "findings": [],
    }
}


def report(verb="site", cluster_reason=""):
    hosts = [*RESULTS, "gone"]
    return make_report(hosts, RESULTS, cluster=CLUSTER, cluster_reason=cluster_reason, verb=verb)


def test_document():
    found = report()
    assert found["schema"] == 1
    assert found["reboot_required"] == ["gpu-b"]
    assert found["versions"]["gpu-a"] == {"driver": "595.71.05"}
    assert [(f["host"], f["id"]) for f in found["findings"]] == [("gpu-b", "GPU-KRN-026")]
    assert [(s["host"], s["role"]) for s in found["plan"]] == [("gpu-a", "driver"), ("cluster", "node_labels")]
    assert found["conditions"][0]["type"] == "Ready"


def test_table_has_a_line_for_every_host_and_a_column_for_every_state_with_a_role():
    head, *rows = report_lines(report())[:4]
    assert head.split() == ["host", "prereq", "driver", "toolkit", "validation", "plugin", "exporter", "gfd", "mig"]
    assert [r.split()[:3] for r in rows] == [
        ["gpu-a", "ready", "ready"],
        ["gpu-b", "ready", "not_ready"],
        ["gone", "error", "error"],
    ]


def test_what_waits_for_something_else_is_not_said_again():
    lines = report_lines(report())
    assert [x for x in lines if "driver is not_ready" in x] == ["gpu-b: driver is not_ready: a reboot is required"]
    assert not [x for x in lines if "waits for" in x]


def test_findings_come_with_their_remedy():
    assert "error GPU-KRN-026 (gpu-b): versions differ. Remedy: reboot" in report_lines(report())


def test_reasons_that_several_hosts_share_are_said_once():
    results = {f"gpu-{i}": {"prereq": result("error", "no space left")} for i in range(5)}
    lines = report_lines(make_report(list(results), results, cluster={}, cluster_reason="", verb="site"))
    assert "gpu-0, gpu-1, gpu-2 and 2 more: prereq is error: no space left" in lines


def test_a_plan_shows_every_step_with_both_sides_reason_and_harm():
    text = "\n".join(report_lines(report("plan")))
    assert "driver: install nvidia-open 595.71.05 [disrupts host]" in text
    assert "none -> 595.71.05 (the host has no driver)" in text
    assert "cluster:" in text


def steps(**hosts):
    """Steps of the plan, host after host, from the targets of each."""
    return [
        {"host": name, "role": "driver", **STEP, "target": target}
        for name, targets in hosts.items()
        for target in targets
    ]


# host -> targets -> heads of the lists in the plan, with the number of their steps
GROUPS = {
    "one": ({"a": "xy"}, {"a:": 2}),
    "equal": ({"a": "xy", "b": "xy"}, {"a, b (2 hosts, each):": 2}),
    "equal, one between is not": ({"a": "xy", "b": "x", "c": "xy"}, {"a, c (2 hosts, each):": 2, "b:": 1}),
    "same steps in another order": ({"a": "xy", "b": "yx"}, {"a:": 2, "b:": 2}),
    "beside the cluster": ({"a": "x", "b": "x", "cluster": "z"}, {"a, b (2 hosts, each):": 1, "cluster:": 1}),
}


@pytest.mark.parametrize(("hosts", "heads"), GROUPS.values(), ids=GROUPS)
def test_plans_that_are_equal_are_shown_once_with_all_their_hosts(hosts, heads):
    lines = plan_lines(steps(**hosts))
    assert [line for line in lines if not line.startswith(" ")] == list(heads)
    numbers = [int(line.split(".")[0]) for line in lines if "driver: install" in line]
    assert numbers == [n + 1 for count in heads.values() for n in range(count)]


def test_a_plan_of_many_hosts_names_twenty():
    lines = plan_lines(steps(**{f"gpu-{n:03}": "x" for n in range(100)}))
    text = " ".join(lines)
    assert "gpu-019 and 80 more (100 hosts, each):" in text
    assert "gpu-020" not in text
    assert text.count("driver: install x") == 1


@pytest.mark.parametrize("key", ["before", "after", "reason", "disrupts", "role", "action", "target"])
def test_plans_that_differ_in_anything_shown_are_shown_apart(key):
    one, two = steps(a="x", b="x")
    assert plan_lines([one, two])[0].startswith("a, b ")
    assert plan_lines([one, {**two, key: "other"}])[0] == "a:"


def test_an_empty_plan_says_so():
    roles = ("prereq", "driver", "mig", "toolkit", "validation")
    results = {"a": {role: result("ready", "") for role in roles}}
    lines = report_lines(make_report(["a"], results, cluster={}, cluster_reason="left out", verb="plan"))
    assert "Nothing would change." in lines
    assert lines[0] == "State after this plan, as far as it can be foretold"


def test_a_host_that_failed_has_no_empty_plan():
    results = {"a": {"prereq": result("error", "mig_strategy is wrong")}}
    lines = report_lines(make_report(["a"], results, cluster={}, cluster_reason="left out", verb="plan"))
    assert "No whole plan could be made for: a" in lines
    assert "Nothing would change." not in lines


def test_site_counts_its_steps():
    assert "Steps carried out: 2, on 1 host(s) and the cluster." in report_lines(report("site"))


def test_status_names_no_number_of_steps_as_it_does_not_plan_the_hosts():
    drift = [x for x in report_lines(report("status")) if x.startswith("Drift")]
    assert drift == ["Drift: playbook gpu.fleet.plan shows what would bring it back."]


LONG = "plugins.io.containerd.cri.v1.runtime.containerd.runtimes.nvidia.options."
PARTED = "...options.BinaryName"
CHANGES = {
    "short": ("absent", "present", "absent -> present"),
    "nothing before": (None, "x" * 70, f"none -> {'x' * 57}..."),
    "they part late": (
        f"{LONG}BinaryName: a",
        f"{LONG}BinaryName: b",
        "...options.BinaryName: a -> ...options.BinaryName: b",
    ),
    "one goes on": (LONG, f"{LONG}x", "...imes.nvidia.options. -> ...imes.nvidia.options.x"),
    "they part early, and are long": (f"a{LONG}", f"b{LONG}", f"a{LONG[:56]}... -> b{LONG[:56]}..."),
    "both fit": (LONG[:58], LONG[:60], f"{LONG[:58]} -> {LONG[:60]}"),
    "equal": (LONG, LONG, f"{LONG[:57]}... -> {LONG[:57]}..."),
}


@pytest.mark.parametrize(("before", "after", "shown"), CHANGES.values(), ids=CHANGES)
def test_both_sides_of_a_step_are_cut_so_that_their_difference_is_seen(before, after, shown):
    lines = plan_lines([{"host": "h", "role": "toolkit", **STEP, "before": before, "after": after}])
    assert " ".join(x.strip() for x in lines[2:]) == f"{shown} (the host has no driver)"


def test_lines_fit_a_terminal():
    long = {**STEP, "reason": "because " * 60, "after": "x" * 500}
    lines = plan_lines([{"host": "h", "role": "driver", **long}])
    assert max(len(x) for x in lines) <= 118


def test_a_cluster_that_was_left_out_is_said():
    assert "Cluster: no kubeconfig" in report_lines(report(cluster_reason="no kubeconfig"))


@pytest.mark.parametrize(
    ("verb", "bad"),
    [
        (
            "site",
            {"gpu-a": "its role did not run", "gpu-b": "a reboot is required", "gone": NEVER_RAN},
        ),
        ("plan", {"gone": NEVER_RAN}),
        ("status", {}),
    ],
)
def test_hosts_are_bad_as_the_verb_sees_it_and_say_each_reason_once(verb, bad):
    assert bad_hosts(report(verb)) == bad


def test_what_tags_left_out_has_a_state_only_where_it_was_looked_at_and_makes_no_host_bad():
    results = {"a": {"driver": result("ready"), "toolkit": result("not_ready", "no toolkit")}}
    found = make_report(["a", "gone"], results, cluster={}, cluster_reason="", verb="site", roles=["driver", "gfd"])
    shown = {(s["host"], s["role"]): s["value"] for s in found["states"] if s["role"]}
    assert shown == {
        ("a", "driver"): "ready", ("a", "toolkit"): "not_ready", ("a", "gfd"): "not_ready",
        ("gone", "driver"): "error", ("gone", "gfd"): "error",
    }  # fmt: skip
    # gfd was asked for and waits for what was not.
    assert bad_hosts(found) == {"a": "waits for toolkit", "gone": NEVER_RAN}
    found["roles"] = ["driver"]
    assert set(bad_hosts(found)) == {"gone"}
    assert report_lines(found)[1].split() == ["a", "-", "ready", "not_ready", "-", "-", "-", "not_ready", "-"]


def test_a_host_that_could_not_be_looked_at_is_bad_whatever_tags_chose():
    results = {"a": {"prereq": result("error", "unreachable")}}
    found = make_report(["a"], results, cluster={}, cluster_reason="", verb="site", roles=["gfd"])
    assert bad_hosts(found) == {"a": "unreachable"}


def test_results_of_operands_join_those_of_their_hosts():
    joined = with_operands(["gpu-a", "gone"], RESULTS, {"gfd": {"gpu-a": result("ready"), "other": result("error")}})
    assert list(joined["gpu-a"]) == ["prereq", "driver", "gfd"]
    assert joined["gone"] == {}
    assert "gfd" not in RESULTS["gpu-a"]


def test_a_wrong_variable_of_an_operand_is_not_hidden_by_the_operands_result():
    own = {"gpu-a": {"gfd": result("error", "gfd_timeout is soon")}}
    joined = with_operands(["gpu-a"], own, {"gfd": {"gpu-a": result("not_ready", "waits for the host's own states")}})
    found = make_report(["gpu-a"], joined, cluster={}, cluster_reason="", verb="plan")
    assert bad_hosts(found) == {"gpu-a": "gfd_timeout is soon"}
