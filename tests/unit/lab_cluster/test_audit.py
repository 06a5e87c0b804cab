# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counting requests out of the API server's audit log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.cluster import audit


def event(
    verb: str, resource: str = "pods", *, subresource: str = "", user: str = "admin", code: int = 200, agent: str = "x"
) -> str:
    target = {
        "resource": resource,
        "namespace": "default",
        "name": "a",
        **({"subresource": subresource} if subresource else {}),
    }
    return json.dumps(
        {
            "verb": verb,
            "objectRef": target,
            "user": {"username": user},
            "userAgent": agent,
            "responseStatus": {"code": code},
        }
    )


LINES = [
    event("list"),
    event("get", user="system:node:gpu1"),
    event("patch", "nodes", subresource="status", agent="OpenAPI-Generator/37.0.2/python"),
    event("patch", "daemonsets", code=409),
    event("create", "selfsubjectaccessreviews", code=201),
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "audit.log"
    path.write_text("\n".join(LINES) + "\n")
    return path


def test_a_request_has_its_subresource() -> None:
    assert audit.parse(LINES[2]).resource == "nodes/status"


def test_discovery_has_no_resource() -> None:
    assert audit.parse('{"verb": "get", "requestURI": "/api"}') == audit.Request("get", "", "", "", "", "", 0)


@pytest.mark.parametrize(
    ("chosen", "wanted"),
    [
        ({}, {"list": 1, "get": 1, "patch": 2, "create": 1}),
        ({"user": "admin"}, {"list": 1, "patch": 2, "create": 1}),
        ({"agent": "OpenAPI-Generator"}, {"patch": 1}),
        ({"user": "nobody"}, {}),
    ],
)
def test_counts_by_verb(log: Path, chosen: dict[str, str], wanted: dict[str, int]) -> None:
    assert audit.requests_by_verb(log, **chosen) == wanted


def test_only_what_came_after_a_position(log: Path) -> None:
    since = audit.position(log)
    with log.open("a") as handle:
        handle.write(event("delete") + "\n")
    assert [r.verb for r in audit.requests(log, since)] == ["delete"]


def test_a_line_still_being_written_waits_for_the_next_call(log: Path) -> None:
    with log.open("a") as handle:
        handle.write('{"verb": "del')
    assert len(audit.requests(log)) == len(LINES)


def test_a_log_that_is_not_there_yet_ends_at_0(tmp_path: Path) -> None:
    assert audit.position(tmp_path / "audit.log") == 0


def test_writes_are_those_that_changed_an_object(log: Path) -> None:
    assert [(r.verb, r.resource) for r in audit.writes(audit.requests(log))] == [("patch", "nodes/status")]


def test_the_table_counts_by_verb_resource_and_agent(log: Path) -> None:
    assert audit.table(audit.requests(log))[("patch", "nodes/status", "OpenAPI-Generator/37.0.2/python")] == 1


def test_counts_by_kind_and_by_object(log: Path) -> None:
    found = audit.requests(log)
    assert audit.kinds(found)["list", "pods"] == 1
    assert audit.objects(found, "patch", "nodes/status") == {"a": 1}


def test_a_run_is_said_in_one_sentence(log: Path) -> None:
    said = audit.said(audit.requests(log))
    assert said == "1 list (1 pods), 1 get (1 pods), 2 patch (1 nodes/status, 1 daemonsets), 1 writes, 1 refused"


def test_a_run_without_requests_made_0_writes() -> None:
    assert audit.said([]) == "0 writes"
