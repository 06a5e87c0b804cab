# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what nvidia-smi says in place of, or beside, an answer. Private to this collection.

Messages go to standard output, and no form of the program is safe from them.
"""

from __future__ import annotations

import re
from typing import Any

from ..._catalog.nvidia_smi import MESSAGES, Message
from .values import sysfs_form

LIBRARY_VERSION = re.compile(r"NVML library version: ([0-9]{1,5}(?:\.[0-9]{1,5}){1,3})")
# What a distribution proposes for a program that is not installed.
PROPOSAL = re.compile(r"^[ \t]*(?:sudo )?(?:apt|apt-get|snap|dnf|yum) install (\S+)", re.MULTILINE)
LONGEST = 1000
PATTERNS = tuple((message, re.compile(message.pattern, re.IGNORECASE)) for message in MESSAGES)


def read_smi_messages(text: str) -> list[dict[str, Any]]:
    """One row for each message, in the text's order.

    ``kind``, ``rc`` (exit status that goes with it), ``driver_loaded``, ``fatal`` as in the catalogue; ``pci`` as
    printed and ``pci_address`` in sysfs form, ``reason`` in the program's words, each None where the message has none;
    ``space_missing``: whether the address follows ``GPU`` directly, as since about 530 (None: no such message).
    """
    lines = (line for line in text.splitlines() if len(line) <= LONGEST)
    return [row for row in map(_row, lines) if row is not None]


def _row(line: str) -> dict[str, Any] | None:
    for message, pattern in PATTERNS:
        found = pattern.search(line)
        if found is not None:
            return _told(message, found.groupdict())
    return None


def _told(message: Message, groups: dict[str, Any]) -> dict[str, Any]:
    reason, gap = groups.get("reason"), groups.get("gap")
    return {
        "kind": message.kind,
        "rc": message.return_code,
        "driver_loaded": message.driver_loaded,
        "fatal": message.fatal,
        "pci": groups.get("pci"),
        "pci_address": sysfs_form(groups.get("pci")),
        "reason": reason.strip().rstrip(".") if reason else None,
        "space_missing": None if gap is None else not gap,
    }


def read_smi_failure(text: str) -> dict[str, Any] | None:
    """What the messages amount to; None for a text without any.

    The first message's keys, and: ``nvml_library`` (version that a mismatch names, two parts of three, so
    ``exact_library_version`` stays None), ``other_gpus_hidden`` (whether GPUs that work are not told of either),
    ``packages`` that the shell proposes, ``messages`` with all rows.
    """
    rows = read_smi_messages(text)
    if not rows:
        return None
    library = LIBRARY_VERSION.search(text)
    return {
        **rows[0],
        "nvml_library": library.group(1) if library else None,
        "exact_library_version": None,
        "other_gpus_hidden": any(r["fatal"] and r["pci"] for r in rows),
        "packages": PROPOSAL.findall(text) if rows[0]["kind"] == "command_not_found" else [],
        "messages": rows,
    }


def with_failure(text: str, result: dict[str, Any]) -> dict[str, Any]:
    """What was read of an answer, with ``failure``: as in read_smi_failure, None for none.

    A failure's keys stand at the top too, ``kind`` among them, where the answer has no value of its own there.
    """
    failure = read_smi_failure(text)
    if failure is None:
        return {**result, "failure": None, "messages": []}
    told = {key: value for key, value in failure.items() if result.get(key) is None}
    return {**result, **told, "failure": failure}
