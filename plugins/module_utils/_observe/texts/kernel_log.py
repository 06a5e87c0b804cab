# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what kernel and driver logged about GPUs: Xid, SXid, failed loads, mismatches. Private to this collection.

Sources: the rows of _catalog/log_messages, and of _catalog/xids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..._catalog.log_messages import DAEMON_MESSAGES, ERROR, INFO, KERNEL_MESSAGES, NOTICE, LogMessage
from ..._catalog.xids import RECOVERY_ACTIONS, xid_of
from .log_lines import Record, split_log

Event = dict[str, Any]

MESSAGES = (*KERNEL_MESSAGES, *DAEMON_MESSAGES)
PATTERNS = tuple(re.compile(m.pattern) for m in MESSAGES)
# How people and journalctl say that the newest line comes first.
REVERSED = re.compile(r"newest (?:line )?first|journalctl\b.* (?:-\w*r\b|--reverse)")
GRAVITY = (ERROR, NOTICE, INFO)
# Lines that a copy can have more than the driver wrote.
WRAPPED = 4
# A line that begins so is a message of its own.
NAMED = re.compile(r"[\w.-]+(?: [0-9a-f:.]+)?: |\[")
# A host logs far more than this collection reads: one look at a line has to be enough for most.
RELEVANT = re.compile(r"nvrm|nvidia|module|symbol|firmware|pkcs", re.IGNORECASE)
PROGRAMS = frozenset(m.program for m in MESSAGES if m.program)
NUMBERS = frozenset(
    {"xid", "sxid", "pid", "count", "peer", "gpu_index", "probe_failed", "uid", "minor", "errno", "link", "timeout_s"}
) | {"nvlink_major", "uvm_major", "code_line", "legacy_branch"}

# NVLink 5 (Xid 144 to 150): unit, severity, crossbar and instance, link, then words of hardware state.
NVLINK5 = re.compile(
    r"(?P<unit>[A-Z][A-Z0-9_/]+) (?P<severity>Fatal|Nonfatal|Link Fatal) (?P<crossbar>XC\d) (?P<instance>i\d)"
    r" Link (?P<link>-?\d+)(?: \((?P<words>[^)]*)\)?)?"
)
GSP_TIMEOUT = re.compile(
    r"Timeout (?:after (?P<timeout_s>\d+)s of )?waiting for RPC response from GPU(?P<gpu_index>\d+) GSP!"
    r"(?: Expected function (?P<function>\d+ \([^)]*\)))?"
)
RECOVERY = re.compile(r"GPU recovery action changed from 0x\w+ \((?P<before>[^)]*)\) to 0x\w+ \((?P<recovery>[^)]*)\)?")
# Xid -> whether the memory error stayed in one application; what became of the row or page.
CONTAINED = {94: True, 95: False}
REMAPPING = {63: "pending", 64: "failed"}
SXID_DETAIL = re.compile(r"(?:Severity \d+ )?(?P<severity>Non-fatal|Fatal|Alarm)\b[, ]*(?:Link (?P<link>\d+)\b)?")
# The history of GSP calls as the first releases with GSP firmware print it; columns beyond these came later.
HISTORY_COLUMNS = frozenset({"function", "data0", "data1", "ts_start", "ts_end", "duration", "actively_polling"})


def read_kernel_log(text: str, source: str = "") -> dict[str, Any]:
    """What a log says about GPUs; other messages are passed over.

    ``events``: in the order of logging. Each has ``event`` (its name in _catalog/log_messages), ``severity``, ``line``
    (number in the text, from 1), ``text``, ``time`` (as written, None for none), of /dev/kmsg also ``kmsg_priority``,
    ``sequence`` and ``usec``, and the fields of its row. ``pci`` is as printed: an Xid has no function. Xid: ``xid``,
    ``meaning``, ``action`` (what NVIDIA says to do), ``pid`` and ``process`` (None: unknown or not told), ``detail``;
    of memory errors ``contained``, ``remapping`` (pending, failed); where told ``unit``, ``fatal``, ``link``,
    ``gpu_index``, ``function``, ``timeout_s``. SXid: ``sxid``, ``switch``, ``fatal``, ``link``, ``data``.

    ``event``: the one that explains most, None for a log without any; its fields are repeated beside it, and fields
    that it lacks are those of the others. ``xids``, ``sxids``, ``switches``, ``peers``: lists in the order of logging.
    ``xid``: the first. ``incidents``: rows of ``pci`` (without function), ``event``, ``line`` of the first and ``xids``
    of all about a GPU. ``loaded``, ``unloaded``: whether the log says so of the driver (None: says nothing).
    ``nouveau_involved``: a message names nouveau. ``newest_first``: the text was turned round, as its times or
    ``source`` asked for.
    """
    records, newest_first = split_log(text, newest_first=REVERSED.search(source) is not None)
    events = _events(records)
    failures = any(e["event"] in ("module_rejected", "module_not_found", "module_not_loaded") for e in events)
    loaded = any(e["event"] == "driver_loaded" for e in events)
    return {
        **_told(events),
        "events": events,
        "xids": [e["xid"] for e in events if e["event"] == "xid"],
        "xid": next((e["xid"] for e in events if e["event"] == "xid"), None),
        "sxids": [e["sxid"] for e in events if e["event"] == "sxid"],
        "switches": list(dict.fromkeys(e["switch"] for e in events if e["event"] == "sxid")),
        "incidents": _incidents(events),
        "peers": [e["peer"] for e in events if e.get("peer") is not None],
        "loaded": True if loaded else False if failures else None,
        "unloaded": loaded and any(e["event"] in ("nvlink_core_unloaded", "modeset_unloaded") for e in events),
        "nouveau_involved": any("nouveau" in e["text"] for e in events),
        "newest_first": newest_first,
    }


def _incidents(events: Sequence[Event]) -> list[dict[str, Any]]:
    """One for each GPU, by its bus: what follows a first Xid is mostly about the same failure."""
    found: dict[str, dict[str, Any]] = {}
    for event in events:
        if event["event"] in ("xid", "fallen_off_bus", "rm_init_failed") and event["pci"]:
            bus = event["pci"].partition(".")[0]
            row = found.setdefault(bus, {"pci": bus, "event": event["event"], "line": event["line"], "xids": []})
            row["xids"] += [event["xid"]] if event["event"] == "xid" else []
    return list(found.values())


def _told(events: Sequence[Event]) -> dict[str, Any]:
    """Fields of the event that explains most, then what only others know."""
    ranked = sorted(events, key=lambda e: (GRAVITY.index(e["severity"]), e["rank"]))
    told: dict[str, Any] = {}
    for event in ranked:
        for name, value in event.items():
            if value is not None and name not in ("event", "rank"):
                told.setdefault(name, value)
    for event in events:
        del event["rank"]
    return {**told, "event": next((e["event"] for e in ranked if e["severity"] != INFO), None)}


def _events(records: Sequence[Record]) -> list[Event]:
    """Every record is looked at once: lines that belong to the message before them are not messages of their own."""
    found: list[Event] = []
    number = 0
    while number < len(records):
        match = _match(records, number)
        number += match[1] if match else 1
        if match is None:
            continue
        event = match[0]
        if event["event"] == "sxid" and _continues(found, event):
            found[-1]["data"].append(event["detail"])
        elif event["event"] != "gsp_timeout" or not any(e["event"] in ("xid", "gsp_timeout") for e in found):
            found.append(event)
    return found


def _match(records: Sequence[Record], number: int) -> tuple[Event, int] | None:
    """The event that begins at a record, and how many records it takes."""
    first = records[number]
    if first.program not in PROGRAMS and not RELEVANT.search(first.text):
        return None
    by_driver = first.text.startswith("NVRM:")
    for rank, (message, pattern) in enumerate(zip(MESSAGES, PATTERNS)):
        if message.program not in ("", first.program) or (message.lines > 1 and not by_driver):
            continue
        several = records[number : number + message.lines + WRAPPED]
        joined, ends = _join(several) if message.lines > 1 else (first.text, [0])
        found = pattern.match(joined)
        if found:
            return _event(rank, message, found, first), 1 + sum(found.end() > end for end in ends[:-1])
    return None


def _join(records: Sequence[Record]) -> tuple[str, list[int]]:
    """The driver breaks its long messages; each further line says NVRM: again, where no mail or terminal broke it.

    Also where each record ends. A copy on one line has the NVRM: of its lines within.
    """
    joined = records[0].text
    ends = [len(joined)]
    for record in records[1:]:
        broken = record.time is None and record.program is None and not NAMED.match(record.text)
        if not (record.text.startswith("NVRM:") or broken):
            break
        joined += f" {record.text}"
        ends.append(len(joined))
    return _unmarked(joined), [len(_unmarked(joined[:end])) for end in ends]


def _unmarked(text: str) -> str:
    return text[:5] + re.sub(r" NVRM: ?", " ", text[5:])


def _event(rank: int, message: LogMessage, found: re.Match[str], record: Record) -> Event:
    fields = {name: _value(name, value) for name, value in found.groupdict().items()}
    event: Event = {
        "event": message.event,
        "rank": rank,
        "severity": message.severity,
        "line": record.line,
        "text": found.group(0),
        "time": record.time,
        **_kmsg(record),
        **message.means,
        **fields,
    }
    details = {"xid": _xid, "sxid": _sxid, "gsp_timeout": _history}.get(message.event)
    return {**event, **(details(event) if details else _banner(event))}


def _kmsg(record: Record) -> dict[str, int | None]:
    numbers = {"kmsg_priority": record.priority, "sequence": record.sequence, "usec": record.usec}
    return {name: value for name, value in numbers.items() if value is not None}


def _value(name: str, value: str | None) -> Any:
    if value is None or value == "<unknown>":
        return None
    if name in NUMBERS:
        return int(value)
    return value.lower() if name in ("pci", "device") else value


def _xid(event: Mapping[str, Any]) -> Event:
    row = xid_of(event["xid"])
    detail = event["detail"] or ""
    told: Event = {"meaning": row.meaning if row else None, "action": row.action if row else None}
    if event["xid"] in CONTAINED:
        told["contained"] = CONTAINED[event["xid"]]
    if event["xid"] in REMAPPING:
        told["remapping"] = REMAPPING[event["xid"]]
    for pattern in (NVLINK5, GSP_TIMEOUT, RECOVERY):
        found = pattern.search(detail)
        if found:
            told.update({name: _value(name, value) for name, value in found.groupdict().items() if name != "severity"})
            if "severity" in found.groupdict():
                told["fatal"] = found["severity"] != "Nonfatal"
    if "recovery" in told:
        told["action"] = RECOVERY_ACTIONS.get(told["recovery"], told["action"])
    return {**told, "severity": NOTICE if told["action"] == "ignore" else ERROR}


def _sxid(event: Mapping[str, Any]) -> Event:
    found = SXID_DETAIL.match(event["detail"])
    link = found["link"] if found else None
    return {
        "fatal": found["severity"] == "Fatal" if found else None,
        "link": int(link) if link else None,
        "data": [],
    }


def _continues(found: Sequence[Event], event: Mapping[str, Any]) -> bool:
    """Data, Severity and Engine lines repeat the number of the SXid that they belong to."""
    return (
        bool(found) and found[-1]["event"] == "sxid" and found[-1]["sxid"] == event["sxid"] and event["fatal"] is None
    )


def _history(event: Mapping[str, Any]) -> Event:
    columns = (event["columns"] or "").split()
    return {"columns_added": [c for c in columns if c not in HISTORY_COLUMNS]}


def _banner(event: Mapping[str, Any]) -> Event:
    """Of a banner: flavour, and one architecture wherever it stood. A build that left no host has no builder."""
    if "open" not in event:
        return {}
    builder = event["builder"]
    return {
        "flavour": "open" if event["open"] else "proprietary",
        "arch": event["arch"] or event["open_arch"],
        "builder": "" if builder is not None and builder.endswith("@") else builder,
    }
