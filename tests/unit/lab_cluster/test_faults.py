# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which request meets which fault."""

from __future__ import annotations

import json

import pytest

from dev import machine
from lab.cluster.faults import ANSWERS, Chooser, Fault, Target, status_body, target_of

PATCH, LIST = Target("patch", "nodes", "gpu1"), Target("list", "nodes", "")


@pytest.mark.parametrize(
    ("method", "url", "wanted"),
    [
        ("GET", "/api/v1/nodes", Target("list", "nodes", "")),
        ("GET", "/api/v1/nodes?labelSelector=a%3Db", Target("list", "nodes", "")),
        ("GET", "/api/v1/nodes?watch=true", Target("watch", "nodes", "")),
        ("GET", "/api/v1/nodes/gpu1", Target("get", "nodes", "gpu1")),
        ("PATCH", "/api/v1/nodes/gpu1?fieldManager=gpu.fleet", Target("patch", "nodes", "gpu1")),
        ("PATCH", "/api/v1/nodes/gpu1/status", Target("patch", "nodes/status", "gpu1")),
        ("GET", "/api/v1/namespaces", Target("list", "namespaces", "")),
        ("GET", "/api/v1/namespaces/gpu-fleet", Target("get", "namespaces", "gpu-fleet")),
        ("GET", "/api/v1/namespaces/gpu-fleet/pods", Target("list", "pods", "")),
        ("GET", "/api/v1/namespaces/gpu-fleet/pods/a/log?tailLines=200", Target("get", "pods/log", "a")),
        ("GET", "/api/v1/namespaces/gpu-fleet/pods/a:9400/proxy/metrics", Target("get", "pods/proxy", "a:9400")),
        ("DELETE", "/apis/apps/v1/namespaces/n/daemonsets/d", Target("delete", "daemonsets", "d")),
        ("DELETE", "/apis/apps/v1/namespaces/n/daemonsets", Target("deletecollection", "daemonsets", "")),
        ("POST", "/apis/apps/v1/namespaces/n/daemonsets", Target("create", "daemonsets", "")),
        ("GET", "/apis/apps/v1/daemonsets", Target("list", "daemonsets", "")),
        ("GET", "/version", Target("get", "", "")),
        ("GET", "/apis/apps/v1", Target("get", "", "")),
    ],
)
def test_a_request_is_named_as_in_the_audit_log(method: str, url: str, wanted: Target) -> None:
    assert target_of(method, url) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("error", Fault("error")),
        ("throttle:verb=patch,count=3,seconds=0", Fault("throttle", verb="patch", count=3, seconds=0)),
        ("slow:resource=pods/log,probability=0.5,skip=2", Fault("slow", resource="pods/log", probability=0.5, skip=2)),
    ],
)
def test_a_fault_is_read_from_its_text(text: str, wanted: Fault) -> None:
    assert Fault.parse(text) == wanted


@pytest.mark.parametrize("text", ["", "explode", "error:", "error:verb", "error:colour=red", "error:count=many"])
def test_another_text_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(machine.Unfit, match=f"fault {text!r}"):
        Fault.parse(text)


@pytest.mark.parametrize(
    ("text", "targets", "wanted"),
    [
        ("error:count=2", [PATCH] * 4, [True, True, False, False]),
        ("error:skip=1,count=1", [PATCH] * 3, [False, True, False]),
        ("error:verb=list", [PATCH, LIST], [False, True]),
        ("error:resource=nodes/status", [PATCH, LIST], [False, False]),
        ("error:verb=patch,count=1", [LIST, PATCH, LIST, PATCH], [False, True, False, False]),
        ("error:probability=0", [PATCH] * 3, [False] * 3),
    ],
)
def test_only_what_a_rule_names_is_spoilt(text: str, targets: list[Target], wanted: list[bool]) -> None:
    chooser = Chooser([Fault.parse(text)])
    assert [chooser.choose(target) is not None for target in targets] == wanted


def test_the_first_rule_that_wants_a_request_has_it() -> None:
    chooser = Chooser([Fault.parse("error:verb=list"), Fault.parse("slow"), Fault.parse("gone")])
    assert [fault.kind for target in (PATCH, LIST) if (fault := chooser.choose(target))] == ["slow", "error"]


def test_the_same_seed_gives_the_same_faults() -> None:
    def drawn(seed: int) -> list[bool]:
        chooser = Chooser([Fault.parse("error:probability=0.3")], seed)
        return [chooser.choose(PATCH) is not None for _request in range(200)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert 30 < sum(drawn(1)) < 90


@pytest.mark.parametrize("kind", [kind for kind, (status, _reason, _text) in ANSWERS.items() if status])
def test_an_answer_is_a_status_object(kind: str) -> None:
    body = json.loads(status_body(Fault(kind), PATCH))
    assert (body["kind"], body["code"], body["reason"]) == ("Status", ANSWERS[kind][0], ANSWERS[kind][1])
