# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the table that dnf shows before it asks whether it may. Private to this collection. Source: dnf(8)."""

from __future__ import annotations

import re
from typing import Any

HEADING = re.compile(r"^(?P<what>(?:Re)?[A-Z][a-z]+(?:ing)?(?: [a-z]+)*):$")
# Columns are as wide as the terminal lets them be, so a long name has a line of its own.
ROW = re.compile(
    r"^ (?P<name>\S+)\s+(?:x86_64|aarch64|noarch|i686)\s+(?P<version>\S+)\s+(?P<repo>\S+)\s+[\d.]+(?: [kMGT])? *$",
    re.MULTILINE,
)
REPLACED = re.compile(r"^ +replacing +(?P<name>\S+)\.(?:x86_64|aarch64|noarch|i686) +\S+", re.MULTILINE)
COMING = ("Installing", "Upgrading", "Downgrading", "Reinstalling")
UNUSED = "Removing unused"


def read_dnf_transaction(text: str) -> dict[str, Any]:
    """``install``: name -> version of what comes or changes. ``remove``: names that go. ``taken``: those among them
    that do not go for being unused only.
    """
    install: dict[str, str] = {}
    remove: list[str] = []
    taken: list[str] = []
    for what, block in _blocks(text):
        rows = list(ROW.finditer(block))
        if what.startswith(COMING):
            install.update((row["name"], row["version"]) for row in rows)
            gone = [found["name"] for found in REPLACED.finditer(block)]
        else:
            gone = [row["name"] for row in rows] if what.startswith("Removing") else []
        remove += gone
        taken += [] if what.startswith(UNUSED) else gone
    gone_for_good = [n for n in dict.fromkeys(remove) if n not in install]
    return {"install": install, "remove": gone_for_good, "taken": [n for n in dict.fromkeys(taken) if n not in install]}


def _blocks(text: str) -> list[tuple[str, str]]:
    """Heading without its colon, and the lines below; the summary ends the table."""
    blocks: list[tuple[str, list[str]]] = []
    for line in text.partition("Transaction Summary")[0].splitlines():
        found = HEADING.match(line)
        if found:
            blocks.append((found["what"], []))
        elif blocks:
            blocks[-1][1].append(line)
    return [(what, "\n".join(lines)) for what, lines in blocks]
