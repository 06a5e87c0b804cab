# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the result of an Ansible task as logs hold it: JSON behind a status, or YAML. Private to this collection."""

from __future__ import annotations

import json
import re
from typing import Any

from .plain import number

KEY = re.compile(r"^(?P<key>msg|rc|stderr|stdout|cmd):(?P<rest>.*)$")
STATUS = re.compile(r"^(?:fatal|failed|ok|changed): \[[^\]]*\][^{\n]*=> (?=\{)", re.MULTILINE)


def ansible_result(text: str) -> dict[str, Any]:
    """``msg``, ``rc``, ``stdout``, ``stderr``, ``cmd`` of a result, as far as the text has them; empty for another
    text.

    YAML of the callbacks is read line by line: hosts need no package for it, and a cut text still tells its part.
    """
    status = STATUS.search(text)
    start = status.end() if status else 0 if text.lstrip().startswith("{") else None
    if start is None:
        return _blocks(text)
    try:
        found, _end = json.JSONDecoder().raw_decode(text[start:].lstrip())
    except ValueError:
        return {}
    return found if isinstance(found, dict) and ("msg" in found or "rc" in found) else {}


def _blocks(text: str) -> dict[str, Any]:
    """``key: value`` or ``key: |-`` with its indented block."""
    found: dict[str, Any] = {}
    key = ""
    for line in text.splitlines():
        match = KEY.match(line.strip() if not line.startswith("  ") else line)
        if match:
            key, rest = match["key"], match["rest"].strip()
            found[key] = "" if re.fullmatch(r"[|>][+-]?", rest) else rest.strip("'\"")
        elif key and line.startswith("  "):
            found[key] += f"\n{line.strip()}" if found[key] else line.strip()
        elif line.strip():
            key = ""
    if "rc" in found:
        found["rc"] = number(found["rc"])
    return found if "msg" in found else {}
