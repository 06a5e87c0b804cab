# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``nvidia-smi --query-gpu=... --format=csv`` and the other selective queries. Private to this collection."""

from __future__ import annotations

import re
from typing import Any

from .nvidia_smi_failure import read_smi_failure, with_failure
from .values import told

ASKED = re.compile(r"--query-[a-z-]+[= ]([\w.,\[\]]+)")
UNIT = re.compile(r"^(.{0,200}?)\s{0,20}\[([^\]]{0,40})\]$")
NO_HEADER = "noheader"


def read_smi_csv(text: str, source: str = "") -> dict[str, Any]:
    """One row for each GPU, process or page; names of columns are the program's own.

    ``source``: the command, which gives the names where ``noheader`` was asked for, and otherwise those that were
    asked for: the program renames some (``clocks_throttle_reasons.active`` comes back as
    ``clocks_event_reasons.active``). ``columns``: names; ``units``: name -> unit of the heading. ``rows``: name ->
    text, None for N/A and its kin; ``renamed``: asked name -> name in the heading. ``failure``: as in with_failure.
    """
    failure = read_smi_failure(text)
    asked = next((m.group(1).split(",") for m in [ASKED.search(source)] if m), [])
    lines = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if "," in line or line.strip()]
    lines = [] if failure and failure["fatal"] else lines
    heading = asked if NO_HEADER in source else (lines.pop(0) if lines else [])
    named = [(m.group(1), m.group(2)) if (m := UNIT.match(cell)) else (cell, "") for cell in heading]
    columns = [name for name, _unit in named]
    result = {
        "columns": columns,
        "units": {name: unit for name, unit in named if unit},
        "rows": [dict(zip(columns, map(told, line))) for line in lines if len(line) == len(columns)],
        "renamed": {a: c for a, c in zip(asked, columns) if a != c} if len(asked) == len(columns) else {},
    }
    return with_failure(text, result)
