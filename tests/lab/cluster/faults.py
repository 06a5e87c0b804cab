# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of an API server by choice: what to spoil, for which requests, how often.

    Fault.parse("throttle:verb=patch,resource=nodes,count=5,seconds=1")
    Fault.parse("error:probability=0.05")

The rules are pure; `fault_proxy.py` carries them out before a real API server.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from dev import machine

# kind -> HTTP status, reason and message as the API server gives them; a status of 0 has no answer of its own.
ANSWERS = {
    "throttle": (429, "TooManyRequests", "Too many requests, please try again later."),
    "conflict": (409, "Conflict", "Operation cannot be fulfilled: the object has been modified"),
    "error": (500, "InternalError", "Internal error occurred: etcdserver: request timed out"),
    "unavailable": (503, "ServiceUnavailable", "the server is currently unable to handle the request"),
    "slow": (0, "", "the answer comes `seconds` later"),
    "gone": (0, "", "the connection is closed before the request reaches the API server"),
    "lost": (0, "", "the request is carried out, then the connection is closed without an answer"),
    "cut": (0, "", "the connection is closed in the middle of the answer"),
}
WANTED = "KIND[:verb=VERB][,resource=RESOURCE][,count=N][,skip=N][,probability=P][,seconds=S]"
_SPEC = re.compile(r"(?P<kind>\w+)(:(?P<options>\w+=[^,=]+(,\w+=[^,=]+)*))?")
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get", "HEAD": "get"}


@dataclass(frozen=True)
class Target:
    """What a request is about: its verb as in the audit log, `pods` or `pods/log`, and the name, empty for a list."""

    verb: str
    resource: str
    name: str


@dataclass(frozen=True)
class Fault:
    """One rule. Empty `verb` or `resource`: any. The first `skip` requests that match pass, then `count` are spoilt.

    `count` -1 has no end. `probability` of those is spoilt. `seconds`: Retry-After (0: none), or the delay of slow.
    """

    kind: str
    verb: str = ""
    resource: str = ""
    count: int = -1
    skip: int = 0
    probability: float = 1.0
    seconds: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Reads WANTED. machine.Unfit when it is something else."""
        match = _SPEC.fullmatch(text)
        if not match or match["kind"] not in ANSWERS:
            raise machine.Unfit(f"fault {text!r} is not {WANTED}, KIND one of {', '.join(ANSWERS)}")
        options = dict(part.split("=", 1) for part in (match["options"] or "").split(",") if part)
        unknown = sorted(set(options) - {"verb", "resource", "count", "skip", "probability", "seconds"})
        if unknown:
            raise machine.Unfit(f"fault {text!r}: no option {', '.join(unknown)}, wanted {WANTED}")
        try:
            return cls(
                kind=match["kind"],
                verb=options.get("verb", ""),
                resource=options.get("resource", ""),
                count=int(options.get("count", -1)),
                skip=int(options.get("skip", 0)),
                probability=float(options.get("probability", 1)),
                seconds=float(options.get("seconds", 1)),
            )
        except ValueError as error:
            raise machine.Unfit(f"fault {text!r}: {error}") from error

    def matches(self, target: Target) -> bool:
        return self.verb in ("", target.verb) and self.resource in ("", target.resource)


@dataclass
class Chooser:
    """Decides request by request. The same seed and the same requests in the same order give the same faults."""

    faults: Sequence[Fault]
    seed: int = 0
    _random: random.Random = field(init=False)
    _seen: list[int] = field(init=False)
    _spoilt: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._seen = [0] * len(self.faults)
        self._spoilt = [0] * len(self.faults)

    def choose(self, target: Target) -> Fault | None:
        """The fault that this request meets: that of the first rule which wants it; None for none."""
        for number, fault in enumerate(self.faults):
            if fault.matches(target) and self._wants(number, fault):
                return fault
        return None

    def _wants(self, number: int, fault: Fault) -> bool:
        self._seen[number] += 1
        if self._seen[number] <= fault.skip or self._spoilt[number] == fault.count:
            return False
        if fault.probability < 1 and self._random.random() >= fault.probability:
            return False
        self._spoilt[number] += 1
        return True


def target_of(method: str, url: str) -> Target:
    """What a request is about, by the API's paths (Kubernetes, API concepts: resource URIs)."""
    split = urlsplit(url)
    parts = [part for part in split.path.split("/") if part]
    rest: list[str] = parts[2:] if parts[:1] == ["api"] else parts[3:] if parts[:1] == ["apis"] else []
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    resource, name, below = (*rest, "", "", "")[:3]
    resource = "/".join(part for part in (resource, below) if part)
    verb = _VERBS.get(method, method.lower())
    if rest and not name:
        watched = parse_qs(split.query).get("watch", [""])[0] in ("1", "true")
        verb = {"get": "watch" if watched else "list", "delete": "deletecollection"}.get(verb, verb)
    return Target(verb, resource, name)


def status_body(fault: Fault, target: Target) -> bytes:
    """The Status object that comes with an HTTP status."""
    code, reason, message = ANSWERS[fault.kind]
    details = {"name": target.name, "kind": target.resource, "retryAfterSeconds": int(fault.seconds)}
    return json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": details,
            "code": code,
        }
    ).encode()
