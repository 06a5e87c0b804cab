# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes from a log line what its writer put around the message: logrus, JSON lines, klog. Private to this collection.

The transport (syslog, journal) is log_lines' business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .log_lines import split_log

LOGRUS = re.compile(r'\blevel="?(?P<level>\w{1,10})\b.{0,200}?\bmsg="(?P<message>(?:[^"\\]|\\.)*)"')
KLOG = re.compile(r"^(?P<level>[IWEF])[0-9]{4} [0-9:.]{8,20} +[0-9]{1,10} [\w./-]{1,80}:[0-9]{1,6}\] (?P<message>.*)$")
KLOG_LEVELS = {"I": "info", "W": "warning", "E": "error", "F": "fatal"}
QUOTED = re.compile(r"\\([\"\\])")
# What is looked for stands at the beginning; a line can be a whole file.
LONGEST = 8000


@dataclass(frozen=True)
class Message:
    """``program`` and ``level`` (lower case) are None where the line does not tell."""

    text: str
    program: str | None = None
    level: str | None = None


def messages(text: str) -> Iterator[Message]:
    """The messages of a log in the order in which they were logged."""
    for record in split_log(text)[0]:
        yield _message(record.text[:LONGEST], record.program)


def _message(line: str, program: str | None) -> Message:
    if line.startswith("{"):
        structured = _json(line, program)
        if structured is not None:
            return structured
    for pattern in (LOGRUS, KLOG):
        found = pattern.search(line)
        if found:
            level = found["level"]
            # logrus puts the cause into fields behind the message.
            text = f"{found['message']} {line[found.end() :]}".strip()
            return Message(QUOTED.sub(r"\1", text), program, KLOG_LEVELS.get(level, level.lower()))
    return Message(line, program)


def _json(line: str, program: str | None) -> Message | None:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("msg"), str):
        return None
    level = document.get("level")
    return Message(document["msg"], program, level.lower() if isinstance(level, str) else None)
