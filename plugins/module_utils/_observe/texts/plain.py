# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes from a text what a terminal or a transport put into it. Private to this collection."""

from __future__ import annotations

import re

# ECMA-48 control sequences: colours and underlining, which nvidia-smi topo writes into files too.
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def plain(text: str) -> str:
    """The text with newlines only at line ends, and without escape sequences and a byte order mark."""
    return ESCAPES.sub("", text.replace("\r\n", "\n")).lstrip("\ufeff")


def number(text: str | None) -> int | None:
    """A decimal number, or None for any other text: ``N/A``, ``?``, an empty cell."""
    found = (text or "").strip()
    return int(found) if found.isascii() and found.isdigit() else None


def short_lines(text: str, length: int = 2000) -> str:
    """The text with its lines cut to ``length`` characters: no message is longer, and patterns stay quick."""
    return "\n".join(line[:length] for line in text.split("\n"))
