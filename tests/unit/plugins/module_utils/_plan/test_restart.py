# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pods are replaced, and what is told where that did not help."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan import proof, restart, rollout

GPU, SMALL, BIG = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"
EARLY, SEEN, LATE = "2026-11-30T22:00:00Z", "2026-11-30T22:10:00Z", "2026-11-30T22:10:01Z"


def started(*times):
    rows = [{"name": f"c{i}", "state": {"running": {"startedAt": t}} if t else {}} for i, t in enumerate(times)]
    return {"metadata": {"name": "p"}, "status": {"containerStatuses": rows}}


def offers(allocatable, capacity=None):
    return {"status": {"allocatable": allocatable, "capacity": allocatable if capacity is None else capacity}}


def wish(resources=None, **more):
    return {"resources": resources or {}, "observed_at": SEEN, **more}


STALE = offers({SMALL: "4", BIG: "2", "cpu": "8"})
MOVED = wish({BIG: 4})
WRONG_LABEL, NO_SERIES = "GFD's label nvidia.com/gpu.count is '2', predicted '3'", "no DCGM_FI_DEV_GPU_TEMP for GPU-1"
METRICS = 'DCGM_FI_DEV_GPU_TEMP{UUID="GPU-0",GPU_I_ID="1",GPU_I_PROFILE="3g.20gb"} 31'
NO_INSTANCE = proof.prove_series("", ["GPU-0"], [{"gpu": "GPU-0", "id": 1, "profile": "3g.20gb"}])
OLD_INSTANCE = proof.prove_series(METRICS, ["GPU-0"], [{"gpu": "GPU-0", "id": 1, "profile": "4g.20gb"}])

# pod, node, wish, what the proof lacks (None: what prove_allocatable says) -> whether the pod is replaced
RESTARTS = {
    "plugin of an earlier layout": (started(EARLY), STALE, MOVED, None, True),
    "all is well": (started(EARLY), offers({BIG: "4"}), MOVED, None, False),
    "started after the layout was seen": (started(LATE), STALE, MOVED, None, False),
    "started in that second": (started(SEEN), STALE, MOVED, None, False),
    "one of two containers is new": (started(EARLY, LATE), STALE, MOVED, None, False),
    "not known when it started": (started(""), STALE, MOVED, None, False),
    "no container yet": (started(), STALE, MOVED, None, False),
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
    "exporter without a MIG instance": (started(EARLY), offers({}), wish(), NO_INSTANCE, True),
    "exporter of an earlier layout": (started(EARLY), offers({}), wish(), OLD_INSTANCE, True),
    "exporter that cannot be asked": (started(EARLY), offers({}), wish(), "its metrics cannot be read: x", False),
    "layout changed, counts are equal": (started(EARLY), offers({BIG: "4"}), wish({BIG: 4}, relaid=True), None, True),
    "layout changed, the pod is new": (started(LATE), offers({BIG: "4"}), wish({BIG: 4}, relaid=True), None, False),
}  # fmt: skip


@pytest.mark.parametrize(("found", "at", "wanted", "lacks", "replaced"), RESTARTS.values(), ids=RESTARTS)
def test_which_pods_are_replaced(found, at, wanted, lacks, replaced):
    said = proof.prove_allocatable(at, wanted["resources"]) if lacks is None else lacks
    assert bool(restart.restart_reason(found, at, wanted, said)) is replaced


def test_a_restart_says_what_and_why_and_disrupts_nothing():
    step = restart.restart_step(rollout.NodeRollout("n", "not_ready", "x", "p", "because"))
    assert (step.action, step.target, step.reason) == ("restart_pod", "Pod p on Node n", "because")
    assert step.disrupts == "nothing"


WRONG = "allocatable nvidia.com/gpu is 0, predicted 2"

# rows of the last look, nodes whose pod was replaced -> nodes that the finding names, none for no finding
HELPED = {
    "it helped": ([("a", "ready", "")], ["a"], None),
    "it did not": ([("a", "not_ready", WRONG)], ["a"], "a"),
    "nothing was replaced": ([("a", "not_ready", WRONG)], [], None),
    "the new pod is not there yet": ([("a", "not_ready", "the node has no pod yet")], ["a"], None),
    "some": ([("a", "ready", ""), ("b", "not_ready", OLD_INSTANCE)], ["a", "b"], "b"),
    "many": ([(n, "not_ready", WRONG) for n in "abcde"], list("abcde"), "a, b, c and 2 more"),
}


@pytest.mark.parametrize(("rows", "replaced", "named"), HELPED.values(), ids=HELPED)
def test_a_restart_that_did_not_help_is_a_finding(rows, replaced, named):
    last = [rollout.NodeRollout(node, state, reason, f"p-{node}") for node, state, reason in rows]
    found = restart.unhelped(last, replaced, name="plugin", namespace="gpu-fleet")
    assert [f.summary for f in found] == ([f"plugin: a new pod did not help on {named}"] if named else [])
    for finding in found:
        assert (finding.id, finding.severity) == ("GPU-K8S-107", "warning")
        assert f"kubectl logs -n gpu-fleet p-{named[0]}" in finding.remedy
