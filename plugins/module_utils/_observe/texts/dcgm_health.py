# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads health messages of DCGM as health watches and NVSentinel report them. Private to this collection."""

from __future__ import annotations

import re
from typing import Any

from ..._catalog.dcgm import IMEX_DAEMON, NO_IMEX
from .boxes import boxes

CODE = re.compile(r"\b(?:ErrorCode:)?(DCGM_FR_[A-Z0-9_]{1,60})\b")
GPU = re.compile(r"\bGPU:? ?([0-9]{1,4})\b")
IMEX = re.compile(r"IMEX (daemon|domain) status is (-?[0-9]{1,3}|[A-Z_]{1,30})")
# dcgmi health -c: | Overall Health | Healthy |
OVERALL = "overall health"


def read_dcgm_health(text: str) -> dict[str, Any]:
    """What DCGM complains of.

    ``incidents``: rows of ``code`` (DCGM_FR_...), ``gpu`` (number, None where none is named), ``text``; the first
    one's ``code`` stands at the top. ``imex_status``: number of the daemon's state or word of the domain's, None where
    IMEX is not the matter; ``imex_state``: its name. ``single_node``: True where no IMEX daemon runs, so that nothing
    binds this host to others. ``real_fault``: False for that, which older health watches report on hosts without
    NVLink across nodes; True for every other incident, None without any. ``overall``: the word of ``dcgmi health -c``.
    """
    incidents = [row for row in map(_incident, text.splitlines()) if row is not None]
    status = _imex_status(text)
    without = status in NO_IMEX
    rows = [row for box in boxes(text) for row in box if len(row) > 1]
    return {
        "incidents": incidents,
        "code": incidents[0]["code"] if incidents else None,
        "imex_status": status,
        "imex_state": IMEX_DAEMON.get(status) if isinstance(status, int) else status,
        "single_node": True if without else None,
        "real_fault": not without if incidents else None,
        "overall": next((r[1].lower() for r in rows if r[0].lower() == OVERALL), None),
    }


def _imex_status(text: str) -> int | str | None:
    """A number of the daemon, a word of the domain."""
    found = IMEX.search(text)
    if found is None:
        return None
    return found.group(2) if found.group(2)[0].isalpha() else int(found.group(2))


def _incident(line: str) -> dict[str, Any] | None:
    code = CODE.search(line[:4000])
    if code is None:
        return None
    gpu = GPU.search(line[:4000])
    rest = line[code.end() :].strip(" :|")
    return {
        "code": code.group(1),
        "gpu": int(gpu.group(1)) if gpu else None,
        "text": re.sub(r"^GPU:? ?[0-9]+\s*", "", rest),
    }
