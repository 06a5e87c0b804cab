# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A named tree with repeated names, as nvidia-smi -q indents it and nvidia-smi -q -x nests it.

Private to this collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Branch:
    """``text`` is the branch's own value, None where it has only children."""

    name: str
    text: str | None = None
    children: list[Branch] = field(default_factory=list)

    def every(self, path: str) -> Iterator[Branch]:
        """All branches at ``path``: names with slashes between, letter case ignored."""
        name, _slash, rest = path.partition("/")
        for child in self.children:
            if child.name.lower() == name.lower():
                yield from child.every(rest) if rest else (child,)

    def at(self, path: str) -> Branch | None:
        """The first branch at ``path``, or None."""
        return next(self.every(path), None)

    def value(self, *paths: str) -> str | None:
        """The text of the first of ``paths`` that is there: empty for one without a value, None where none is there."""
        found = next((branch for branch in map(self.at, paths) if branch is not None), None)
        return None if found is None else (found.text or "").strip()
