# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Splits logs into records: dmesg in its forms, syslog, journal, /dev/kmsg, Talos. Private to this collection.

Sources: dmesg(1), Documentation/ABI/testing/dev-kmsg, RFC 3164, systemd journal's short output, rsyslog (escapes
control characters as #ooo).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .plain import number, short_lines

KMSG = re.compile(r"^(?P<priority>\d+),(?P<sequence>\d+),(?P<usec>\d+),[^;]*;")
# Seconds since boot, or a local date in any language; with printk's caller (T123, C4) beside it.
BRACKETS = re.compile(r"^(?:<\d+>)?\[(?P<time>\s*\+?\d+\.\d+|[^\]\[]*\d{1,2}:\d{2}[^\]\[]*)\](?:\[\s*[TC]\d+\])? ?")
# dmesg -x says facility and level before that.
DECODED = re.compile(r"^(?:kern|user|daemon|syslog) *:\w+ *: ?")
UNIX = re.compile(r"^(?P<time>\d{10}\.\d+) +")
ISO = re.compile(
    r"^(?:[A-Z]\w{1,3} )?(?P<time>\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}[\d.,]*(?:Z|[+-]\d{2}:?\d{2})?"
    r"(?: [A-Z]{3,5})?):? +"
)
DATE = re.compile(r"^(?P<time>(?:\S{3,5} +\d{1,2}|\d{1,2}\.? \S{3,5}) (?:\d{4} )?\d{2}:\d{2}:\d{2}(?:\.\d+)?) +")
TALOS = re.compile(r"^(?:\S+: )?(?:kern|user|daemon): +\w+: \[(?P<time>[^\]]+)\]: ")
# Host and program behind a date; some logs have no program for the kernel.
PROGRAM = re.compile(
    r"^(?P<host>[A-Za-z0-9][\w.-]*) +(?:(?P<program>(?!NVRM\b)[\w./@-]+)(?:\[\d+\])?: |(?=NVRM:|nvidia\b))"
)
HOST_KERNEL = re.compile(r"^(?P<host>[A-Za-z0-9][\w.-]*) +(?P<program>kernel): ")
BARE_PROGRAM = re.compile(r"^(?P<program>kernel|nvidia-persistenced|nvidia-gridd|nv-fabricmanager)(?:\[\d+\])?: ")

# Records of container engines are JSON of a line each, and longer than any message.
LONGEST = 16_000


@dataclass(frozen=True)
class Record:
    """One message. ``line``: its number in the text, from 1. ``seconds``: a time that can be compared, else None.

    ``priority``, ``sequence`` and ``usec`` are those of /dev/kmsg, else None.
    """

    line: int
    text: str
    time: str | None = None
    seconds: float | None = None
    program: str | None = None
    priority: int | None = None
    sequence: int | None = None
    usec: int | None = None


def split_log(text: str, *, newest_first: bool = False) -> tuple[list[Record], bool]:
    """The records in the order in which they were logged, and whether the text had the newest one first.

    ``newest_first``: this is known, for example of ``journalctl -r``; times of one second do not tell it.
    """
    lines = short_lines(text, LONGEST).split("\n")
    records = [r for place, line in enumerate(lines, 1) for r in _records(place, line)]
    known = [r.seconds for r in records if r.seconds is not None]
    falling = len(known) > 1 and known[0] > known[-1] and known == sorted(known, reverse=True)
    newest_first = newest_first or falling
    return (records[::-1] if newest_first else records), newest_first


def _records(place: int, line: str) -> Iterator[Record]:
    """A line that a transport made of several is several records; white space is single in each."""
    head, *rest = line.replace("#011", " ").split("#012")
    record = _strip(Record(place, head.strip()))
    for part in (*record.text.split("\n"), *rest):
        words = " ".join(part.split())
        if words:
            yield replace(record, text=words)


def _strip(record: Record) -> Record:
    """Without time, host and program. A kernel message goes on in lines that have none of these."""
    if record.text.startswith("{"):
        return _from_json(record)
    kmsg = KMSG.match(record.text)
    if kmsg:
        priority, sequence, usec = (int(kmsg[name]) for name in ("priority", "sequence", "usec"))
        numbered = replace(record, priority=priority, sequence=sequence, usec=usec)
        return replace(numbered, text=record.text[kmsg.end() :], seconds=usec / 1e6)
    text = DECODED.sub("", record.text)
    for pattern in (TALOS, BRACKETS, UNIX, ISO, DATE):
        match = pattern.match(text)
        if match:
            timed = replace(record, text=text[match.end() :], time=match["time"].strip())
            return _strip_program(timed, dated=pattern in (UNIX, ISO, DATE))
    return _strip_program(replace(record, text=text), dated=False)


def _from_json(record: Record) -> Record:
    """journalctl -o json. A message that is no text is a list of its bytes there, and none that this reads."""
    try:
        entry = json.loads(record.text)
    except (ValueError, RecursionError):
        return record
    message = entry.get("MESSAGE") if isinstance(entry, dict) else None
    if not isinstance(message, str):
        return record
    program = entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM")
    time = str(entry.get("__REALTIME_TIMESTAMP") or "")
    seconds = int(time) / 1e6 if number(time) is not None else None
    return replace(record, text=message, program=str(program) if program else None, time=time or None, seconds=seconds)


def _strip_program(record: Record, *, dated: bool) -> Record:
    found = (PROGRAM if dated else HOST_KERNEL).match(record.text) or BARE_PROGRAM.match(record.text)
    text, program = (record.text[found.end() :], found["program"]) if found else (record.text, None)
    inner = BRACKETS.match(text)
    text = text[inner.end() :] if inner else text
    return replace(record, text=text, program=program, seconds=_seconds(inner["time"] if inner else record.time))


def _seconds(time: str | None) -> float | None:
    """Seconds since boot as they stand; of a date only the time of day, which is enough to see an order."""
    if time is None:
        return None
    clock = re.search(r"(\d{1,2}):(\d{2}):(\d{2}(?:\.\d+)?)", time)
    if clock:
        return int(clock[1]) * 3600 + int(clock[2]) * 60 + float(clock[3])
    return float(time) if re.fullmatch(r"[0-9]{1,12}\.[0-9]{1,9}", time.strip()) else None
