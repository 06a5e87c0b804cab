# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a CDI spec as text: the same bytes for the same spec. Private to this collection."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

# Texts that no YAML reader, of 1.1 or 1.2, takes for anything but a string; all others are quoted (0, 1:0, yes,
# null ...).
PLAIN = re.compile(r"(?:\.{0,2}/|[A-Za-z])[A-Za-z0-9/_.@=-]*(::?[A-Za-z0-9/_.@=-]+)*$")
NOT_PLAIN = re.compile(r"(y|n|yes|no|on|off|true|false|null|none|\.nan|\.inf)$", re.IGNORECASE)

INDENT = 2


def spec_text(spec: dict[str, Any], form: str) -> str:
    """``form`` is yaml or json."""
    if form == "json":
        return json.dumps(spec, separators=(",", ":")) + "\n"
    return "---\n" + "".join(f"{line}\n" for line in _lines(spec, 0))


def _lines(value: Any, depth: int) -> Iterator[str]:
    pad = " " * depth
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _entry(f"{pad}{name}:", part, depth)
        return
    for part in value:
        if isinstance(part, (dict, list)):
            first, *rest = _lines(part, depth + INDENT)
            yield f"{pad}- {first[depth + INDENT :]}"
            yield from rest
        else:
            yield f"{pad}- {_scalar(part)}"


def _entry(head: str, part: Any, depth: int) -> Iterator[str]:
    if isinstance(part, (dict, list)) and part:
        yield head
        yield from _lines(part, depth + INDENT)
    elif isinstance(part, (dict, list)):
        yield f"{head} {'{}' if isinstance(part, dict) else '[]'}"
    else:
        yield f"{head} {_scalar(part)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and PLAIN.match(value) and not NOT_PLAIN.match(value):
        return value
    return json.dumps(value)
