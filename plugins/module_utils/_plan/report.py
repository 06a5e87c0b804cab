# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns the results of a run into the report: a document for programs, and texts for a terminal. Private to this
collection.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .._catalog.states import ERROR, NOT_READY, ORDERED
from .states import Results, conditions, decide_states

SCHEMA = 1
WIDTH = 118
SHORT = 60
MOST_HOSTS = 20
# How much of what two texts have in common stands before the place where they part.
CONTEXT = 20
CLUSTER = "cluster"


def make_report(
    hosts: Sequence[str],
    results: Mapping[str, Results],
    *,
    cluster: Mapping[str, Mapping[str, Any]],
    cluster_reason: str,
    verb: str,
    roles: Sequence[str] = (),
) -> dict[str, Any]:
    """The document. ``cluster`` maps role to its plan (steps) and findings, which belong to no single host.

    ``roles`` are those that tags chose, none stands for all: another one has a state only where its host was looked at.
    """
    cells = decide_states(hosts, results, cluster_reason=cluster_reason, roles=roles)
    return {
        "schema": SCHEMA,
        "verb": verb,
        "hosts": list(hosts),
        "roles": list(roles),
        "states": [asdict(c) for c in cells],
        "conditions": conditions(cells),
        "findings": list(_findings(hosts, results, cluster)),
        "plan": list(_plan(hosts, results, cluster)),
        "reboot_required": [h for h in hosts if _any(results.get(h) or {}, "reboot_required")],
        "versions": {h: _versions(results.get(h) or {}) for h in hosts},
        "cluster": cluster_reason or "included",
    }


# Which words of a state are not good enough, by verb: a plan may leave a state not ready, status only looks.
BAD = {"site": (ERROR, NOT_READY), "plan": (ERROR,), "status": (), "uninstall": (ERROR, NOT_READY)}


def with_operands(
    hosts: Sequence[str], results: Mapping[str, Results], operands: Mapping[str, Results]
) -> dict[str, Results]:
    """The results of every host with those of the operands, which come as role -> host -> result.

    Where a host has one of its own for an operand, it has a wrong variable, and the operand was not asked about it.
    """
    joined: dict[str, Results] = {}
    for host in hosts:
        own = results.get(host) or {}
        added = {role: rows[host] for role, rows in operands.items() if host in rows and role not in own}
        joined[host] = {**own, **added}
    return joined


def bad_hosts(report: Mapping[str, Any]) -> dict[str, str]:
    """Host -> why it is not as the report's verb wants it. What tags left out may be as it is."""
    reasons: dict[str, list[str]] = {}
    for cell in report["states"]:
        asked = not report["roles"] or cell["role"] in report["roles"] or cell["value"] == ERROR
        if asked and cell["value"] in BAD[report["verb"]]:
            reasons.setdefault(cell["host"], []).append(cell["reason"])
    return {host: "; ".join(_first_causes(told)) for host, told in reasons.items()}


def _first_causes(reasons: Iterable[str]) -> list[str]:
    """Each reason once; that something waits for another state is said only where nothing else is."""
    told = list(dict.fromkeys(reason for reason in reasons if reason))
    return [reason for reason in told if not reason.startswith("waits for")] or told


def _rows(
    hosts: Sequence[str], results: Mapping[str, Results], cluster: Mapping[str, Mapping[str, Any]], key: str
) -> Iterable[tuple[str, str, Mapping[str, Any]]]:
    for host in hosts:
        for role, result in (results.get(host) or {}).items():
            yield from ((host, role, item) for item in result.get(key) or ())
    for role, result in cluster.items():
        yield from ((CLUSTER, role, item) for item in result.get(key) or ())


def _findings(
    hosts: Sequence[str], results: Mapping[str, Results], cluster: Mapping[str, Any]
) -> Iterable[dict[str, Any]]:
    seen: set[tuple[str, str, str]] = set()
    for host, role, item in _rows(hosts, results, cluster, "findings"):
        mark = (host, item["id"], item["summary"])
        if mark not in seen:
            seen.add(mark)
            yield {"host": host, "role": role, **item}


def _plan(hosts: Sequence[str], results: Mapping[str, Results], cluster: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for host, role, item in _rows(hosts, results, cluster, "plan"):
        yield {"host": host, "role": role, **item}


def _any(results: Results, key: str) -> bool:
    return any(result.get(key) for result in results.values())


def _versions(results: Results) -> dict[str, str]:
    return {role: str(result["version"]) for role, result in results.items() if result.get("version")}


def shown_states() -> list[tuple[str, str]]:
    """(state name, title) of the columns: what this collection has a role for."""
    return [(s.name, s.title) for s in ORDERED if s.role]


def state_table(hosts: Sequence[str], cells: Iterable[Mapping[str, Any]]) -> list[str]:
    """One line a host, one column a state."""
    values = {(c["host"], c["state"]): c["value"] for c in cells}
    columns = shown_states()
    head = ["host", *(title for _name, title in columns)]
    body = [[host, *(values.get((host, name), "-") for name, _title in columns)] for host in hosts]
    widths = [max(len(row[i]) for row in (head, *body)) for i in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in (head, *body)]


def reason_lines(cells: Iterable[Mapping[str, Any]]) -> list[str]:
    """What stands behind every state that is not as it should be; the same reason on several hosts is said once."""
    titles = dict(shown_states())
    groups: dict[tuple[str, str, str], list[str]] = {}
    for cell in cells:
        if cell["value"] in (NOT_READY, ERROR) and cell["reason"] and not cell["reason"].startswith("waits for"):
            key = (titles.get(cell["state"], cell["state"]), cell["value"], cell["reason"])
            groups.setdefault(key, []).append(cell["host"])
    found = []
    for (title, value, reason), hosts in groups.items():
        found += _wrapped(f"{_hosts(hosts)}: {title} is {value}: {reason}")
    return found


def finding_lines(findings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every finding with its remedy, errors first."""
    order = {"error": 0, "warning": 1, "info": 2}
    groups: dict[tuple[int, str, str, str, str], list[str]] = {}
    for f in findings:
        key = (order[f["severity"]], f["severity"], f["id"], f["summary"], f["remedy"])
        groups.setdefault(key, []).append(f["host"])
    found = []
    for (_rank, severity, identifier, summary, remedy), hosts in sorted(groups.items()):
        found += _wrapped(f"{severity} {identifier} ({_hosts(hosts)}): {summary}. Remedy: {remedy}")
    return found


def plan_lines(plan: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every step under the hosts that need it: what, from what to what, why, and whom it disrupts. Hosts whose steps
    are all equal share one list.
    """
    steps: dict[str, list[tuple[str, ...]]] = {}
    for step in plan:
        steps.setdefault(step["host"], []).append(_step_lines(step))
    groups: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for host, own in steps.items():
        groups.setdefault(tuple(own), []).append(host)
    found: list[str] = []
    for own_steps, hosts in groups.items():
        found += _wrapped(f"{_plan_hosts(hosts)}:")
        for number, (what, *details) in enumerate(own_steps, start=1):
            found += _wrapped(f"{number:3}. {what}", indent="  ", hanging="       ")
            found += [line for text in details for line in _wrapped(text, indent="       ", hanging="       ")]
    return found


def _step_lines(step: Mapping[str, Any]) -> tuple[str, str]:
    """What is done to what, and both sides with the reason."""
    harm = "" if step["disrupts"] == "nothing" else f" [disrupts {step['disrupts']}]"
    change = " -> ".join(_shortened(step["before"], step["after"]))
    return f"{step['role']}: {step['action']} {step['target']}{harm}", f"{change} ({step['reason']})"


def _plan_hosts(hosts: Sequence[str]) -> str:
    """The hosts of one plan by name; a plan is read for one host, so more are named than elsewhere."""
    if len(hosts) > MOST_HOSTS:
        return f"{', '.join(hosts[:MOST_HOSTS])} and {len(hosts) - MOST_HOSTS} more ({len(hosts)} hosts, each)"
    return ", ".join(hosts) + (f" ({len(hosts)} hosts, each)" if len(hosts) > 1 else "")


def report_lines(report: Mapping[str, Any]) -> list[str]:
    """The whole report for a terminal of 120 columns."""
    lines = state_table(report["hosts"], report["states"])
    if report["verb"] == "plan":
        lines = ["State after this plan, as far as it can be foretold", *lines]
    sections = [("", reason_lines(report["states"])), ("Findings", finding_lines(report["findings"]))]
    if report["verb"] == "plan":
        sections.append(("Plan", plan_lines(report["plan"]) + _unplanned(report)))
    elif report["plan"]:
        sections.append(("", [_summary(report)]))
    if report["reboot_required"]:
        sections.append(("", [f"Reboot required: {', '.join(report['reboot_required'])}"]))
    if report["cluster"] != "included":
        sections.append(("", [f"Cluster: {report['cluster']}"]))
    for title, body in sections:
        lines += ["", *([title] if title and body else []), *body] if body else []
    return lines


def _unplanned(report: Mapping[str, Any]) -> list[str]:
    """What a plan without steps means, and whom a plan leaves out: a host that failed has no plan or half of one."""
    failed = sorted({c["host"] for c in report["states"] if c["value"] == ERROR})
    if failed:
        return [f"No whole plan could be made for: {', '.join(failed)}"]
    return [] if report["plan"] else ["Nothing would change."]


def _summary(report: Mapping[str, Any]) -> str:
    if report["verb"] == "status":
        # Status does not plan the hosts, so it cannot say how many steps there are.
        return "Drift: playbook gpu.fleet.plan shows what would bring it back."
    places = {s["host"] for s in report["plan"]}
    cluster = " and the cluster" if CLUSTER in places else ""
    return f"Steps carried out: {len(report['plan'])}, on {len(places - {CLUSTER})} host(s){cluster}."


def _shortened(before: Any, after: Any) -> tuple[str, str]:
    """Both sides of a step, cut so that the first place where they differ is seen."""
    old, new = (_flat(value) for value in (before, after))
    shared = next((n for n, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    # What is cut in front is the same on both sides; equal texts have nothing to show but their beginning.
    late = shared > SHORT - CONTEXT and max(len(old), len(new)) > SHORT and old != new
    skip = shared - CONTEXT if late else 0
    return _cut(old, skip), _cut(new, skip)


def _flat(value: Any) -> str:
    return "none" if value is None else " ".join(str(value).split())


def _cut(text: str, skip: int) -> str:
    shown = f"...{text[skip:]}" if skip else text
    return shown if len(shown) <= SHORT else f"{shown[: SHORT - 3]}..."


def _hosts(hosts: Sequence[str]) -> str:
    names = sorted(set(hosts))
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def _wrapped(text: str, *, indent: str = "", hanging: str = "    ") -> list[str]:
    flat = " ".join(text.split("\n"))
    return textwrap.wrap(
        flat, WIDTH, initial_indent=indent, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )
