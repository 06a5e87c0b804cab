# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Driver branches. Private to this collection. A new branch is one row in BRANCHES."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

DRIVERS = "docs.nvidia.com/datacenter/tesla/drivers/"

# The production branch with the longest support that still ships both flavours.
DEFAULT_BRANCH = 595

# nvidia-installer and NVIDIA's packages take the open modules by default from this branch on.
OPEN_BY_DEFAULT_FROM = 560


# As NVIDIA says it: long term support (3 years), production (about one), new feature (no promised end).
LTSB, PRODUCTION, NEW_FEATURE = "ltsb", "production", "new_feature"
END_OF_LIFE = "end_of_life"
# Support is over; no source says since when.
ENDED = "ended"


@dataclass(frozen=True)
class Branch:
    """One branch. ``first`` and ``last`` are its first and its last known release, ``cuda`` the CUDA version it brings.

    ``support_end`` is year and month, the year, or ENDED; None where its publisher promised none (new_feature).
    ``open`` and ``proprietary`` say whether the branch has such kernel modules; None where no source says so.
    """

    number: int
    kind: str
    first: str | None
    last: str | None
    cuda: str
    support_end: str | None
    open: bool
    proprietary: bool | None
    source: str
    as_of: str


MODULES = "github.com/NVIDIA/open-gpu-kernel-modules, all tags to 595.45.04; github.com/NVIDIA/nvidia-persistenced"

BRANCHES = (
    Branch(470, LTSB, "470.42.01", "470.256.02", "11.4", "2024-07", False, True, DRIVERS, "2026-11-30"),
    Branch(515, PRODUCTION, "515.43.04", None, "11.7", ENDED, True, True, MODULES, "2026-03-05"),
    Branch(525, PRODUCTION, None, None, "12.0", ENDED, True, True, MODULES, "2026-03-05"),
    Branch(530, NEW_FEATURE, "530.30.02", "530.41.03", "12.1", ENDED, True, True, MODULES, "2026-03-05"),
    Branch(535, LTSB, "535.43.02", "535.309.01", "12.2", "2026-06", True, True, DRIVERS, "2026-11-30"),
    Branch(545, NEW_FEATURE, "545.23.06", "545.29.06", "12.3", None, True, True, MODULES, "2026-03-05"),
    Branch(550, PRODUCTION, "550.40.07", "550.163.01", "12.4", "2025", True, True, DRIVERS, "2026-11-30"),
    Branch(555, NEW_FEATURE, "555.42.02", "555.58.02", "12.5", None, True, True, MODULES, "2026-03-05"),
    Branch(560, NEW_FEATURE, "560.28.03", "560.35.03", "12.6", None, True, True, DRIVERS, "2026-11-30"),
    Branch(565, NEW_FEATURE, "565.57.01", "565.77", "12.7", None, True, True, DRIVERS, "2026-11-30"),
    Branch(570, PRODUCTION, "570.86.15", "570.211.01", "12.8", "2026-02", True, True, DRIVERS, "2026-11-30"),
    Branch(575, NEW_FEATURE, "575.51.02", "575.64.05", "12.9", None, True, True, DRIVERS, "2026-11-30"),
    Branch(580, LTSB, "580.65.06", "580.178.04", "13.0", "2028-06", True, True, DRIVERS, "2026-11-30"),
    Branch(590, NEW_FEATURE, "590.44.01", "590.48.01", "13.1", None, True, True, DRIVERS, "2026-11-30"),
    Branch(595, PRODUCTION, "595.45.04", "595.91.07", "13.2", "2027-03", True, True, DRIVERS, "2026-11-30"),
    Branch(610, NEW_FEATURE, "610.43.02", "610.57.04", "13.3", "2026-08", True, True, DRIVERS, "2026-11-30"),
    Branch(615, NEW_FEATURE, "615.71.09", "615.71.09", "13.4", None, True, None, DRIVERS, "2026-11-30"),
    Branch(620, LTSB, None, None, "13.5", "2029-09", True, False, DRIVERS, "2026-11-30"),
)


@dataclass(frozen=True)
class KnownBad:
    """Releases to warn about: what they do, and what to take instead ('' where no release is known to be free of it).

    ``devices``: inclusive ranges of PCI device ids that are concerned, () for all GPUs.
    """

    versions: tuple[str, ...]
    what: str
    instead: str
    source: str
    as_of: str
    devices: tuple[tuple[int, int], ...] = ()


# GB202 and GB203, as the PCI ID database has them.
RTX_BLACKWELL = ((0x2B80, 0x2BFF), (0x2C00, 0x2C7F))
B200 = ((0x2901, 0x2901),)

KNOWN_BAD = (
    KnownBad(
        ("570.124.06", "570.133.20", "570.148.08", "570.158.01"),
        "pods wait for ever on nodes that mix MIG slices and whole GPUs",
        "570.172.08",
        "github.com/NVIDIA/gpu-operator#1361",
        "2026-11-30",
    ),
    KnownBad(
        ("570.133.20", "580.105.08"),
        "nvidia-smi and work over NVLink hang after about 66 days without a reboot",
        "",
        "github.com/NVIDIA/open-gpu-kernel-modules#971",
        "2026-04-30",
    ),
    KnownBad(
        ("570.86.15", "570.86.16", "570.124.04", "570.124.06"),
        "HGX B200 is not supported before 570.133.20",
        "570.133.20",
        "docs.nvidia.com/datacenter/cloud-native/gpu-operator release notes",
        "2026-08-21",
        B200,
    ),
    KnownBad(
        ("525.60.11", "525.60.13", "525.78.01", "525.85.05", "525.85.12", "525.89.02"),
        "the GPU's own processor stops answering (Xid 119)",
        "525.105.17",
        "github.com/NVIDIA/open-gpu-kernel-modules#446",
        "2026-11-30",
    ),
    KnownBad(
        ("580.159.04", "590.48.01", "595.58.03", "595.71.05"),
        "the GPU may fall off the bus (Xid 79)",
        "",
        "github.com/NVIDIA/open-gpu-kernel-modules#1151, #1045, #1080",
        "2026-11-30",
        RTX_BLACKWELL,
    ),
)


def known_bad(version: str, devices: Iterable[int] = ()) -> tuple[KnownBad, ...]:
    """The warnings about a driver version on a host with GPUs of these PCI device ids."""
    found = tuple(devices)
    return tuple(row for row in KNOWN_BAD if version in row.versions and _concerns(row, found))


def _concerns(row: KnownBad, devices: tuple[int, ...]) -> bool:
    return not row.devices or any(first <= d <= last for d in devices for first, last in row.devices)


def state_of(branch: Branch, today: date) -> str:
    """Its kind, or end_of_life once its support has ended. Without a promised end the kind is all that is known."""
    if branch.support_end is None:
        return branch.kind
    if branch.support_end == ENDED:
        return END_OF_LIFE
    year, _dash, month = branch.support_end.partition("-")
    return END_OF_LIFE if (today.year, today.month) > (int(year), int(month or 12)) else branch.kind


def branch_of(number: int) -> Branch | None:
    """The row of a branch, or None where this release does not know it."""
    return next((b for b in BRANCHES if b.number == number), None)


def known_branches() -> str:
    """All branch numbers as one text for messages."""
    return ", ".join(str(b.number) for b in BRANCHES)
