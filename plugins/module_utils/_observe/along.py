# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds what does not follow a change of the driver's version by itself. Private to this collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._plan.ask import Ask
from .._plan.facts import Resolution
from .._plan.packages import is_of

Install = Callable[[Sequence[str]], Resolution]
Versions = Callable[[str], Sequence[str]]


def settle(
    ask: Ask,
    packages: Sequence[str],
    install: Install,
    versions: Versions,
    spec: Callable[[str], str] = str,
) -> tuple[Resolution, tuple[str, ...]]:
    """What ``install`` of the packages would do, together with those of ``ask.along`` that it leaves as they are.

    Only what is on offer in a version of the set; ``spec`` makes of a name what is asked for. With the names.
    """
    first = install(packages)
    changed = (*first.install, *first.remove)
    left = () if first.error else tuple(n for n in ask.along if n not in changed)
    along = tuple(n for n in left if any(is_of(v, ask.prefix) for v in versions(n)))
    if not along:
        return first, ()
    whole = install((*packages, *map(spec, along)))
    return (first, ()) if whole.error else (whole, along)
