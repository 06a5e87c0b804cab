# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what nvidia-gridd, the vGPU licence client, logs. Private to this collection."""

from __future__ import annotations

import re
from typing import Any

from ..._catalog.licensing import MESSAGES
from .messages import messages

PROGRAM = "nvidia-gridd"
PATTERNS = tuple((row, re.compile(row.pattern, re.IGNORECASE)) for row in MESSAGES)
ACQUIRED, NOT_ACQUIRED = "acquired", "not acquired"


def read_gridd_log(text: str) -> dict[str, Any]:
    """What became of the licence.

    ``license``: acquired, not acquired or None where the log does not say; the last word counts. ``cause``: why not,
    None for none told; ``server``: the licence server as the client names it; ``product`` and ``expiry`` of a licence.
    ``events``: rows of ``event``, ``fault``, ``meaning`` and what the message names.
    """
    events = [row for m in messages(text) if m.program in (None, PROGRAM) for row in [_event(m.text)] if row]
    state = next((e["license"] for e in reversed(events) if e["license"]), None)
    causes = [e["cause"] for e in events if e["cause"]]
    return {
        "license": state,
        "cause": causes[0] if causes and state != ACQUIRED else None,
        **{name: next((e[name] for e in events if e.get(name)), None) for name in ("server", "product", "expiry")},
        "events": events,
    }


def _event(message: str) -> dict[str, Any] | None:
    for row, pattern in PATTERNS:
        found = pattern.search(message)
        if found:
            about = {"event": row.event, "fault": row.fault, "meaning": row.meaning}
            return {**about, "license": row.license, "cause": row.cause, **found.groupdict()}
    return None
