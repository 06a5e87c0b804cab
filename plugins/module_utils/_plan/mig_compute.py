# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where compute instances go inside a GPU instance, and which of those there can stay. Private to this collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations

from .._catalog.mig import COMPUTE_STARTS
from .mig_layout import ComputeInstance, GpuInstance

Widths = tuple[int, ...]


def place_compute(slices: int, taken: Iterable[tuple[int, int]], widths: Sequence[int]) -> Widths | None:
    """A start for each of ``widths`` (widest first) beside ``taken`` ((start, width) each) in a GPU instance of
    ``slices``, or None where they do not fit.
    """
    mask = sum(_mask(start, width) for start, width in taken)
    return _place(slices, mask, tuple(widths))


def _place(slices: int, mask: int, widths: Widths) -> Widths | None:
    if not widths:
        return ()
    for start in COMPUTE_STARTS.get(widths[0], (0,)):
        part = _mask(start, widths[0])
        if start + widths[0] <= slices and not part & mask:
            rest = _place(slices, mask | part, widths[1:])
            if rest is not None:
                return (start, *rest)
    return None


def _mask(start: int, width: int) -> int:
    return ((1 << width) - 1) << start


@lru_cache(maxsize=4096)
def staying(instance: GpuInstance, widths: Widths) -> tuple[ComputeInstance, ...] | None:
    """Those of its compute instances that can stay when it is to have ``widths``: the fewest in use are lost, then the
    fewest at all. None where ``widths`` do not fit even without any of them.
    """
    best: tuple[ComputeInstance, ...] | None = None
    for chosen in _subsets(instance.compute, Counter(widths)):
        missing = Counter(widths) - Counter(c.width for c in chosen)
        if not _has_room(instance.slices, chosen, sorted(missing.elements(), reverse=True)):
            continue
        if best is None or _worth(chosen) > _worth(best):
            best = chosen
    return best


def _subsets(compute: Sequence[ComputeInstance], wanted: Counter[int]) -> Iterable[tuple[ComputeInstance, ...]]:
    useful = [c for c in compute if wanted[c.width]]
    for number in range(len(useful), -1, -1):
        for chosen in combinations(useful, number):
            if not Counter(c.width for c in chosen) - wanted:
                yield chosen


def _has_room(slices: int, chosen: Sequence[ComputeInstance], missing: Sequence[int]) -> bool:
    """Where a start is not known, only the number of slices counts."""
    if any(c.start is None for c in chosen):
        return sum(c.width for c in chosen) + sum(missing) <= slices
    return place_compute(slices, [(c.start or 0, c.width) for c in chosen], missing) is not None


def _worth(chosen: Sequence[ComputeInstance]) -> tuple[int, int]:
    """What is best kept: those in use, then as many as possible."""
    return sum(bool(c.clients) for c in chosen), len(chosen)
