# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many more instances of each profile a GPU has room for. Private to this collection."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from .._catalog.mig import MigProfile
from .mig_layout import MigGpu


def profile_rows(gpu: MigGpu) -> list[dict[str, Any]]:
    """The GPU's profiles: size, legal starts, how many fit at most, and how many fit beside what is there now."""
    return [
        {
            "name": p.name,
            "id": p.id,
            "slices": p.slices,
            "memory_mib": p.memory_mib,
            "starts": list(p.starts),
            "size": p.size,
            "count": p.count,
            "free": room_for(gpu, p),
        }
        for p in gpu.profiles
    ]


def room_for(gpu: MigGpu, profile: MigProfile) -> int:
    """How many further instances of ``profile`` can be made without destroying any; 0 while MIG is off.

    NVML's remaining capacity is a count per profile; this looks at the units and engines that are really free.
    """
    if not gpu.enabled:
        return 0
    there = [(i, gpu.profile(i.profile)) for i in gpu.instances]
    taken = {u for i, p in there if p for u in range(i.start, i.start + p.size)}
    free = [s for s in profile.starts if not taken & set(range(s, s + profile.size))]
    left = profile.count - sum(i.profile == profile.name for i in gpu.instances)
    most = min(left, len(free), _engines_left(gpu, profile))
    return next((n for n in range(most, 0, -1) if _fits(profile, free, n)), 0)


def _fits(profile: MigProfile, free: list[int], count: int) -> bool:
    """Whether ``count`` of the free starts do not overlap each other."""
    return any(
        all(b - a >= profile.size for a, b in zip(chosen, chosen[1:])) for chosen in combinations(sorted(free), count)
    )


def _engines_left(gpu: MigGpu, profile: MigProfile) -> int:
    """How many instances the media engines allow; the count where the whole GPU's profile is not offered."""
    units = max((max(p.starts) + p.size for p in gpu.profiles), default=0)
    whole = next((p for p in gpu.profiles if p.size == units), None)
    if whole is None:
        return profile.count
    used = [gpu.profile(i.profile) for i in gpu.instances]
    limits = []
    for kind, need in enumerate(profile.engines):
        rest = whole.engines[kind] - sum(p.engines[kind] for p in used if p)
        limits += [rest // need] if need else []
    return max(0, min(limits, default=profile.count))
