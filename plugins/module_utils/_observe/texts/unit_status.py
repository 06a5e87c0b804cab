# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``systemctl status`` of one unit. Private to this collection.

For what somebody pasted: systemctl show has the facts. ``active (running)`` proves little: the service may serve
nothing.
"""

from __future__ import annotations

import re
from typing import Any

from .plain import number

HEAD = re.compile(r"^\W{0,3}([\w@\\.:-]{1,120}\.(?:service|socket|path|timer))(?: - (.{0,200}))?$", re.MULTILINE)
LOADED = re.compile(r"^[ \t]*Loaded: (\S+)(?: \(([^;)\n]{0,300})(?:; ([\w-]{1,20}))?)?", re.MULTILINE)
ACTIVE = re.compile(r"^[ \t]*Active: ([\w-]{1,20})(?: \(([^)\n]{1,40})\))?", re.MULTILINE)
MAIN_PID = re.compile(r"^[ \t]*Main PID: ([0-9]{1,10}) \(([^)\n]{1,60})\)", re.MULTILINE)
PROCESS = re.compile(r"^[ \t\u2514\u251c\u2500|`+-]*([0-9]{1,10}) (/\S.{0,500})$", re.MULTILINE)
# The kernel keeps 15 characters of a process's name.
NAME_LENGTH = 15


def read_unit_status(text: str) -> dict[str, Any]:
    """What systemd says of the unit.

    ``unit``, ``description``, ``loaded`` (loaded, not-found, masked ...), ``enabled`` (the word behind the file),
    ``active`` (running, exited, dead ... or active, failed, inactive where there is no more exact word), ``main_pid``,
    ``process_name`` as the kernel cut it and ``process_name_cut``, ``command`` of the main process: None where the text
    has none. ``not_found``: systemd does not know the unit.
    """
    head, loaded, active = HEAD.search(text), LOADED.search(text), ACTIVE.search(text)
    main = MAIN_PID.search(text)
    commands = {number(pid): command for pid, command in PROCESS.findall(text)}
    pid = number(main.group(1)) if main else None
    name = main.group(2) if main else None
    return {
        "unit": head.group(1) if head else None,
        "description": head.group(2) if head else None,
        "loaded": loaded.group(1) if loaded else None,
        "enabled": loaded.group(3) if loaded else None,
        "active": _active(*active.groups()) if active else None,
        "state": active.group(1) if active else None,
        "main_pid": pid,
        "process_name": name,
        "process_name_cut": name is not None and len(name) == NAME_LENGTH,
        "command": commands.get(pid) or next(iter(commands.values()), None),
        "not_found": "could not be found" in text or bool(loaded and loaded.group(1) == "not-found"),
    }


def _active(state: str, detail: str | None) -> str:
    """``active (running)``; behind ``failed`` stands the reason, not a more exact word."""
    return state if detail is None or detail.startswith("Result:") else detail
