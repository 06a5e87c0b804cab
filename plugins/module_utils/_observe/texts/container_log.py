# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what engines, NVIDIA's runtime and Kubernetes say of a container that has no GPU. Private to this collection.

The same sentence comes as an error of ``docker run``, an event of a pod, a line of a journal or a JSON log.
"""

from __future__ import annotations

import re
from typing import Any

from ..._catalog.container_events import EVENTS
from .messages import messages

PATTERNS = tuple((row, re.compile(row.pattern)) for row in EVENTS)
MODE = re.compile(r"Using (?:requested|auto-detected)? ?mode '([\w-]{1,20})'|Auto-detected mode as '([\w-]{1,20})'")


def read_container_log(text: str) -> dict[str, Any]:
    """What the text amounts to.

    ``events``: rows of ``event``, ``fatal``, ``meaning`` and what the message names, each once. The first fatal one's
    (else the first one's) keys stand at the top: ``event`` (None for a text without any), ``fatal``, ``device``,
    ``handler`` and so on. ``mode``: of nvidia-container-runtime (cdi, legacy, csv, jit-cdi), None where not said.
    """
    rows: list[dict[str, Any]] = []
    mode = None
    for line in messages(text):
        said = MODE.search(line.text)
        mode = mode or (next(filter(None, said.groups()), None) if said else None)
        rows += [row for row in _events(line.text) if row not in rows[-50:]]
    decisive = next((r for r in rows if r["fatal"]), rows[0] if rows else {"event": None, "fatal": False})
    return {**decisive, "mode": mode, "events": rows}


def with_meaning(reason: str, text: str) -> str:
    """The reason, and behind it what ``text`` means where it has a message that is known."""
    meaning = read_container_log(text).get("meaning")
    return f"{reason} ({meaning})" if meaning else reason


def _events(message: str) -> list[dict[str, Any]]:
    return [
        {"event": row.event, "fatal": row.fatal, "meaning": row.meaning, **found.groupdict()}
        for row, found in ((row, pattern.search(message)) for row, pattern in PATTERNS)
        if found
    ]
