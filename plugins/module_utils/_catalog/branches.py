# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Driver branches. Private to this collection. A new branch is one row in BRANCHES."""

from __future__ import annotations

from dataclasses import dataclass

DRIVERS = "docs.nvidia.com/datacenter/tesla/drivers/"

# The production branch with the longest support that still ships both flavours.
DEFAULT_BRANCH = 595

# nvidia-installer and NVIDIA's packages take the open modules by default from this branch on.
OPEN_BY_DEFAULT_FROM = 560


@dataclass(frozen=True)
class Branch:
    """One branch. ``first`` is its first release, ``cuda`` the CUDA version it brings, ``support_end`` year and month.

    ``open`` and ``proprietary`` say whether the branch has such kernel modules; None where no source says so.
    """

    number: int
    kind: str
    first: str | None
    cuda: str
    support_end: str | None
    open: bool
    proprietary: bool | None
    source: str
    as_of: str


BRANCHES = (
    Branch(470, "ltsb", "470.42.01", "11.4", "2024-07", False, True, DRIVERS, "2026-11-30"),
    Branch(535, "ltsb", "535.43.02", "12.2", "2026-06", True, True, DRIVERS, "2026-11-30"),
    Branch(550, "production", "550.40.07", "12.4", "2025", True, True, DRIVERS, "2026-11-30"),
    Branch(560, "new_feature", "560.28.03", "12.6", None, True, True, DRIVERS, "2026-11-30"),
    Branch(565, "new_feature", "565.57.01", "12.7", None, True, True, DRIVERS, "2026-11-30"),
    Branch(570, "production", "570.86.15", "12.8", "2026-02", True, True, DRIVERS, "2026-11-30"),
    Branch(575, "new_feature", "575.51.02", "12.9", None, True, True, DRIVERS, "2026-11-30"),
    Branch(580, "ltsb", "580.65.06", "13.0", "2028-06", True, True, DRIVERS, "2026-11-30"),
    Branch(590, "new_feature", "590.44.01", "13.1", None, True, True, DRIVERS, "2026-11-30"),
    Branch(595, "production", "595.45.04", "13.2", "2027-03", True, True, DRIVERS, "2026-11-30"),
    Branch(610, "new_feature", "610.43.02", "13.3", "2026-08", True, True, DRIVERS, "2026-11-30"),
    Branch(615, "new_feature", "615.71.09", "13.4", None, True, None, DRIVERS, "2026-11-30"),
    Branch(620, "ltsb", None, "13.5", "2029-09", True, False, DRIVERS, "2026-11-30"),
)


@dataclass(frozen=True)
class KnownBad:
    """Releases to warn about: what they do, on which hosts, and what to take instead."""

    versions: tuple[str, ...]
    what: str
    instead: str
    source: str
    as_of: str


KNOWN_BAD = (
    KnownBad(
        ("570.124.06", "570.133.20", "570.148.08", "570.158.01"),
        "pods wait for ever on nodes that mix MIG slices and whole GPUs",
        "570.172.08",
        "github.com/NVIDIA/gpu-operator#1361",
        "2026-11-30",
    ),
)


def known_bad(version: str) -> KnownBad | None:
    """The warning about a driver version, or None."""
    return next((row for row in KNOWN_BAD if version in row.versions), None)


def branch_of(number: int) -> Branch | None:
    """The row of a branch, or None where this release does not know it."""
    return next((b for b in BRANCHES if b.number == number), None)


def known_branches() -> str:
    """All branch numbers as one text for messages."""
    return ", ".join(str(b.number) for b in BRANCHES)
