# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIG geometry of chips: what all boards with that chip have in common. Boards add names, sizes and SM counts."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.model import OLDEST_BRANCH, MigProfile

P2P, GRAPHICS = 1, 2  # NVML_GPU_INSTANCE_PROFILE_CAPS_*


@dataclass(frozen=True)
class Kind:
    """A profile of a chip: NVML's enum and id, then as in MigProfile; `engines` without the copy engines' change."""

    enum: int
    id: int
    slices: int
    count: int
    size: int
    starts: tuple[int, ...]
    engines: tuple[int, int, int, int, int]
    since: int = OLDEST_BRANCH
    capabilities: int = 0


Geometry = dict[str, Kind]

ONES, DOUBLES, TWOS = (6, 4, 5, 0, 1, 2, 3), (6, 4, 0, 2), (4, 0, 2)  # in the driver's order: MIG User Guide
ME_SINCE, DOUBLE_SINCE = 470, 525  # MIG User Guide, supported profiles

# 7-slice boards: ids, counts and starts from nvidia-smi mig -lgip and -lgipp of A100, H100 and H100 NVL.
A100: Geometry = {
    "1g": Kind(0, 19, 1, 7, 1, ONES, (1, 0, 0, 0, 0)),
    "1g+me": Kind(7, 20, 1, 1, 1, ONES, (1, 1, 0, 1, 1), ME_SINCE),
    "1g double": Kind(9, 15, 1, 4, 2, DOUBLES, (1, 1, 0, 0, 0), DOUBLE_SINCE),
    "2g": Kind(1, 14, 2, 3, 2, TWOS, (2, 1, 0, 0, 0)),
    "3g": Kind(2, 9, 3, 2, 4, (4, 0), (3, 2, 0, 0, 0)),
    "4g": Kind(3, 5, 4, 1, 4, (0,), (4, 2, 0, 0, 0)),
    "7g": Kind(4, 0, 7, 1, 8, (0,), (7, 5, 0, 1, 1)),
}
HOPPER: Geometry = {
    "1g": Kind(0, 19, 1, 7, 1, ONES, (1, 1, 0, 1, 0)),
    "1g+me": Kind(7, 20, 1, 1, 1, ONES, (1, 1, 0, 1, 1)),
    "1g double": Kind(9, 15, 1, 4, 2, DOUBLES, (1, 1, 0, 1, 0)),
    "2g": Kind(1, 14, 2, 3, 2, TWOS, (2, 2, 0, 2, 0)),
    "3g": Kind(2, 9, 3, 2, 4, (4, 0), (3, 3, 0, 3, 0)),
    "4g": Kind(3, 5, 4, 1, 4, (0,), (4, 4, 0, 4, 0)),
    "7g": Kind(4, 0, 7, 1, 8, (0,), (8, 7, 0, 7, 1)),
}
BLACKWELL: Geometry = {
    "1g": Kind(0, 19, 1, 7, 1, ONES, (2, 1, 0, 1, 0)),
    "1g+me": Kind(7, 20, 1, 1, 1, ONES, (2, 1, 0, 1, 1)),
    "1g double": Kind(9, 15, 1, 4, 2, DOUBLES, (2, 1, 0, 1, 0)),
    "2g": Kind(1, 14, 2, 3, 2, TWOS, (4, 2, 0, 2, 0)),
    "3g": Kind(2, 9, 3, 2, 4, (4, 0), (6, 3, 0, 3, 0)),
    "4g": Kind(3, 5, 4, 1, 4, (0,), (8, 4, 0, 4, 0)),
    "7g": Kind(4, 0, 7, 1, 8, (0,), (16, 7, 0, 7, 1)),
}
# MIG User Guide, A30; the driver's order is not on record.
A30: Geometry = {
    "1g": Kind(0, 14, 1, 4, 1, (0, 1, 2, 3), (1, 1, 0, 0, 0), 460),
    "1g+me": Kind(7, 21, 1, 1, 1, (0, 1, 2, 3), (1, 1, 0, 1, 1), ME_SINCE),
    "2g": Kind(1, 5, 2, 2, 2, (0, 2), (2, 2, 0, 0, 0), 460),
    "2g+me": Kind(8, 6, 2, 1, 2, (0, 2), (2, 2, 0, 1, 1), DOUBLE_SINCE),
    "4g": Kind(3, 0, 4, 1, 4, (0,), (4, 4, 0, 1, 1), 460),
}
# bottlerocket-kernel-kit issue 300, container-engine-accelerators PRs 563 and 564 (-lgip, -lgipp of RTX PRO 6000).
QUARTERS, HALVES = (0, 3, 6, 9), (0, 6)
RTX_PRO: Geometry = {
    "1g": Kind(0, 14, 1, 4, 3, QUARTERS, (1, 1, 1, 1, 0)),
    "1g+me": Kind(7, 21, 1, 1, 3, QUARTERS, (1, 1, 1, 1, 1)),
    "1g+gfx": Kind(10, 47, 1, 4, 3, QUARTERS, (1, 1, 1, 1, 0), capabilities=GRAPHICS),
    "1g+me.all": Kind(15, 65, 1, 1, 3, QUARTERS, (1, 4, 4, 4, 1)),
    "1g-me": Kind(13, 67, 1, 4, 3, QUARTERS, (1, 0, 0, 0, 0)),
    "2g": Kind(1, 5, 2, 2, 6, HALVES, (2, 2, 2, 2, 0)),
    "2g+gfx": Kind(11, 35, 2, 2, 6, HALVES, (2, 2, 2, 2, 0), capabilities=GRAPHICS),
    "2g+me.all": Kind(16, 64, 2, 1, 6, HALVES, (2, 4, 4, 4, 1)),
    "2g-me": Kind(14, 66, 2, 2, 6, HALVES, (2, 0, 0, 0, 0)),
    "4g": Kind(3, 0, 4, 1, 12, (0,), (4, 4, 4, 4, 1)),
    "4g+gfx": Kind(12, 32, 4, 1, 12, (0,), (4, 4, 4, 4, 1), capabilities=GRAPHICS),
}
# Names from the MIG User Guide; ids as on other boards for the same share of the memory, the rest estimated.
RTX_PRO_TWO_SLICES: Geometry = {
    "1g": Kind(0, 5, 1, 2, 1, (0, 1), (1, 1, 1, 1, 0)),
    "1g+me": Kind(7, 6, 1, 1, 1, (0, 1), (1, 1, 1, 1, 1)),
    "1g+gfx": Kind(10, 35, 1, 2, 1, (0, 1), (1, 1, 1, 1, 0), capabilities=GRAPHICS),
    "1g+me.all": Kind(15, 64, 1, 1, 1, (0, 1), (1, 2, 2, 2, 1)),
    "1g-me": Kind(13, 66, 1, 2, 1, (0, 1), (1, 0, 0, 0, 0)),
    "2g": Kind(1, 0, 2, 1, 2, (0,), (2, 2, 2, 2, 1)),
    "2g+gfx": Kind(11, 32, 2, 1, 2, (0,), (2, 2, 2, 2, 1), capabilities=GRAPHICS),
}
# Invented, unlike any board: six memory units, a start list with a gap, sizes that are no powers of two.
ODD: Geometry = {
    "1g": Kind(0, 23, 1, 4, 1, (4, 0, 1, 3), (1, 1, 0, 0, 0)),
    "1g+me": Kind(7, 24, 1, 1, 1, (4, 0, 1, 3), (1, 1, 1, 1, 1)),
    "3g": Kind(2, 11, 3, 2, 3, (3, 0), (2, 2, 0, 1, 0)),
    "6g": Kind(6, 3, 6, 1, 6, (0,), (5, 4, 1, 2, 1)),
}


def profiles(
    geometry: Geometry, names: str, memory: str, multiprocessors: str, *, since: int = OLDEST_BRANCH
) -> tuple[MigProfile, ...]:
    """The profiles of a board: names, sizes in MiB and SM counts, each in the order of the geometry.

    `since`: the first driver branch that offers MIG on this board. Raises ValueError when a list is too short or long.
    """
    columns = zip(geometry.values(), names.split(), _numbers(memory), _numbers(multiprocessors), strict=True)
    return tuple(_profile(kind, name, mib, count, since) for kind, name, mib, count in columns)


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split()]


def _profile(kind: Kind, name: str, mib: int, multiprocessors: int, since: int) -> MigProfile:
    return MigProfile(
        name=name,
        enum=kind.enum,
        id=kind.id,
        slices=kind.slices,
        memory_mib=mib,
        count=kind.count,
        multiprocessors=multiprocessors,
        engines=kind.engines,
        size=kind.size,
        starts=kind.starts,
        since=max(kind.since, since),
        capabilities=kind.capabilities,
    )
