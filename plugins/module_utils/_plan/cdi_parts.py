# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the makers of all CDI modes share. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from . import cdi_edits as edits
from .cdi_edits import Edits, Hooks, node_edits
from .cdi_host import CdiHost, Node
from .cdi_wish import CdiWish
from .model import Finding

Document = dict[str, Any]
Device = tuple[str, Edits]


class Refused(Exception):
    """The host lacks what the spec needs; carries the finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.sentence())
        self.finding = finding


def nodes(wish: CdiWish, host: CdiHost, paths: Iterable[str]) -> Edits:
    """Nodes that are missing on the host are left out."""
    there = [host.nodes[p] for p in paths if p in host.nodes]
    return node_edits(there, with_gids="no-additional-gids-for-device-nodes" not in wish.feature_flags)


def chmod(hooks: Hooks, made: Edits) -> list[Document]:
    folders = dict.fromkeys(posixpath.dirname(n["path"]) for n in made.nodes)
    return hooks.make(edits.CHMOD, *(f for f in folders if f in ("/dev/dri", "/dev/nvidia-caps")))


def matching(nodes: Mapping[str, Node], patterns: Iterable[str]) -> list[str]:
    """Paths of nodes that match one of ``patterns``; a star does not reach over a slash."""
    found = (p for pattern in patterns for p in sorted(nodes) if _matches(p, pattern))
    return list(dict.fromkeys(found))


def _matches(path: str, pattern: str) -> bool:
    return posixpath.dirname(path) == posixpath.dirname(pattern) and fnmatchcase(path, pattern)
