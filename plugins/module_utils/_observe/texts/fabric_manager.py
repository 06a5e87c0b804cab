# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the fabric manager's log: its file, the journal, or a wrapper's. Private to this collection."""

from __future__ import annotations

import re
from typing import Any

from ..._catalog.fabric_manager import EVENTS
from .messages import messages

# [Jul 23 2024 07:53:55] [ERROR] [tid 841] message; the thread is missing in some lines, all of it in the journal
PREFIX = re.compile(r"^(?:\[[^\]]{1,40}\]\s*){1,3}")
PATTERNS = tuple((row, re.compile(row.pattern, re.IGNORECASE)) for row in EVENTS)
NUMBERS = re.compile(r"([0-9]+)")

# What decides about the whole, worst first.
DECISIVE = (
    "fm_version_mismatch",
    "fm_topology_mismatch",
    "fm_nvswitch_fatal",
    "fm_multicast_handle_missing",
    "fm_usage",
    "fm_nothing_to_do",
    "fm_start_failed",
    "fm_unit_failed",
    "fm_nvswitch_non_fatal",
    "fm_configured",
)


def read_fabric_manager_log(text: str) -> dict[str, Any]:
    """What the log amounts to.

    ``events``: rows of ``event``, ``fault``, ``meaning`` and what the message names. ``event``: the one that decides;
    None for a log without any. ``fm`` and ``driver``: the versions of a mismatch (the driver's has two or three parts).
    ``fatal`` and ``non_fatal``: rows of ``code``, ``pci``, ``port`` of NVSwitch errors. ``multicast_handle_missing``,
    ``topology_mismatch``. ``system``: Pre-NVL5 or NVL5+. ``nvswitch``: absent where the driver says so, else None.
    ``fm_needed``: False where there is nothing to manage, True where it managed something, else None.
    ``not_a_version_problem``: it failed for another reason. ``candidate_ports`` and ``chosen_guid``: ports of NVLink 5
    switches in natural order and the one taken; ``choice_must_check``: what every candidate has to be asked, because
    not all may run the subnet manager; ``order_is_lexical``: the log's order put mlx5_10 before mlx5_8.
    """
    events = [row for row in (_event(line.text) for line in messages(text)) if row is not None]
    kinds = [e["event"] for e in events]
    first = next((kind for kind in DECISIVE if kind in kinds), None)
    mismatch = next((e for e in events if e["event"] == "fm_version_mismatch"), {})
    nothing = "fm_nothing_to_do" in kinds
    system = next((e["system"] for e in events if e["event"] == "fm_system"), None)
    return {
        "event": first,
        "events": events,
        "fm": mismatch.get("fm"),
        "driver": mismatch.get("driver"),
        "fatal": [e for e in events if e["event"] == "fm_nvswitch_fatal"],
        "non_fatal": [e for e in events if e["event"] == "fm_nvswitch_non_fatal"],
        "multicast_handle_missing": "fm_multicast_handle_missing" in kinds,
        "topology_mismatch": "fm_topology_mismatch" in kinds,
        "system": system,
        "nvswitch": "absent" if nothing else None,
        "fm_needed": _needed(kinds, system),
        "not_a_version_problem": first is not None and not mismatch,
        **_ports(events),
    }


def _event(message: str) -> dict[str, Any] | None:
    said = PREFIX.sub("", message)
    for row, pattern in PATTERNS:
        found = pattern.search(said)
        if found:
            return {"event": row.event, "fault": row.fault, "meaning": row.meaning, **found.groupdict()}
    return None


def _needed(kinds: list[str], system: str | None) -> bool | None:
    if "fm_nothing_to_do" in kinds:
        # With NVLink 5 the same words mean that the subnet manager is missing.
        return bool(system and system.upper().startswith("NVL5"))
    return True if {"fm_configured", "fm_nvswitch_fatal", "fm_nvswitch_non_fatal"} & set(kinds) else None


def _ports(events: list[dict[str, Any]]) -> dict[str, Any]:
    found = [e["device"] for e in events if e["event"] == "fm_lpf_found"]
    chosen = next((e["guid"] for e in events if e["event"] == "fm_guid_chosen"), None)
    natural = sorted(found, key=_natural)
    return {
        "candidate_ports": natural,
        "chosen_guid": chosen,
        "choice_must_check": "isSMDisabled" if found else None,
        "order_is_lexical": found == sorted(found) and found != natural,
    }


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(p[:9]), "") if p[0] in "0123456789" else (0, p) for p in NUMBERS.split(name) if p]
