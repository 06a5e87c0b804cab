# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that the API server got, read from its audit log (level Metadata, one JSON object a line)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules: [{level: Metadata}]
"""
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
# Asking "may I" and sending events changes no object that anybody manages.
NO_OBJECTS = frozenset({"events", "subjectaccessreviews", "selfsubjectaccessreviews", "tokenreviews", "leases"})


@dataclass(frozen=True)
class Request:
    """One request: `resource` as `pods` or `nodes/status`, "" for discovery; `code` is the HTTP status, 0 unknown."""

    verb: str
    resource: str
    namespace: str
    name: str
    user: str
    agent: str
    code: int


def position(log: Path) -> int:
    """Where the log ends now, in bytes: pass it as `since` later to see only what came after."""
    return log.stat().st_size if log.exists() else 0


def requests(log: Path, since: int = 0) -> list[Request]:
    """The requests from the byte `since` on; a half-written last line is left for the next call."""
    with log.open("rb") as handle:
        handle.seek(since)
        text = handle.read()
    complete = text[: text.rfind(b"\n") + 1]
    return [parse(line) for line in complete.splitlines() if line]


def parse(line: bytes | str) -> Request:
    """One line of the log. Raises ValueError when it is no JSON object of an audit event."""
    event = json.loads(line)
    target = event.get("objectRef", {})
    resource = "/".join(filter(None, (target.get("resource", ""), target.get("subresource", ""))))
    return Request(
        verb=event["verb"],
        resource=resource,
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        user=event.get("user", {}).get("username", ""),
        agent=event.get("userAgent", ""),
        code=event.get("responseStatus", {}).get("code", 0),
    )


def requests_by_verb(log: Path, since: int = 0, *, user: str = "", agent: str = "") -> Counter[str]:
    """How many requests of each verb came from `user` (exact name), with `agent` in the user agent ("" = any)."""
    found = requests(log, since)
    return Counter(r.verb for r in found if (not user or r.user == user) and agent in r.agent)


def kinds(found: Iterable[Request]) -> Counter[tuple[str, str]]:
    """Counts by verb and resource: `kinds(found)["list", "nodes"]`."""
    return Counter((r.verb, r.resource) for r in found)


def objects(found: Iterable[Request], verb: str, resource: str) -> Counter[str]:
    """How often each object met a verb, by name: the most patches that one node got is `max(...values())`."""
    return Counter(r.name for r in found if (r.verb, r.resource) == (verb, resource))


def said(found: Iterable[Request]) -> str:
    """One sentence for people: `7 list (3 nodes, 2 pods, 2 daemonsets), 4 get (4 pods/log), 0 writes`."""
    seen = [r for r in found if r.resource.split("/")[0] not in NO_OBJECTS]
    parts = []
    for verb, number in sorted(Counter(r.verb for r in seen).items(), key=lambda row: (row[0] in WRITES, -row[1])):
        resources = Counter(r.resource or "discovery" for r in seen if r.verb == verb).most_common()
        parts.append(f"{number} {verb} ({', '.join(f'{count} {name}' for name, count in resources)})")
    refused = sum(r.code >= 400 for r in seen)
    return ", ".join([*parts, f"{len(writes(seen))} writes", *([f"{refused} refused"] if refused else [])])


def writes(found: Iterable[Request]) -> list[Request]:
    """Those that changed an object and were not refused."""
    return [r for r in found if r.verb in WRITES and r.code < 400 and r.resource.split("/")[0] not in NO_OBJECTS]


def table(found: Iterable[Request]) -> Counter[tuple[str, str, str]]:
    """Counts by verb, resource and the first word of the user agent."""
    return Counter((r.verb, r.resource, r.agent.split(" ")[0]) for r in found)
