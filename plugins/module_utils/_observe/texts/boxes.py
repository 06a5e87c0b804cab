# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes apart the boxes that nvidia-smi and dcgmi draw. Private to this collection.

Widths differ between releases and with the longest name, so the bars count, not the columns.
"""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 1000


def boxes(text: str) -> Iterator[list[list[str]]]:
    """Groups of rows between two rules (``+---+``, ``|===|``); a row is its cells without surrounding spaces."""
    group: list[list[str]] = []
    for line in text.splitlines():
        row = line.strip()
        if row.startswith("|") and not row.startswith(("|=", "|-")):
            group += [] if len(row) > LONGEST else [[c.strip() for c in row.strip("|").split("|")]]
        elif group:
            yield group
            group = []
    if group:
        yield group
