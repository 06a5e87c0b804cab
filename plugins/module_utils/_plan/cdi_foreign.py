# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges CDI specs of the wanted kind that somebody else has written. Private to this collection.

Engines read every file of their directories. Of two directories the later one wins, device by device; of two files
in one directory nobody wins, and the device is gone (CDI specification 1.1.0).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .model import Finding

SOURCE = "https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md"
SHOWN = 6


@dataclass(frozen=True)
class ForeignSpec:
    """A spec of the wanted kind at another path. ``rank``: place of its directory in the engines' order."""

    path: str
    devices: tuple[str, ...]
    rank: int = 0


def judge_foreign(path: str, rank: int, devices: Iterable[str], foreign: Iterable[ForeignSpec]) -> tuple[Finding, ...]:
    """One warning for each foreign spec. ``rank`` and ``devices`` are those of the spec at ``path``."""
    ours = tuple(devices)
    return tuple(_judge(path, rank, ours, spec) for spec in foreign)


def report_left(kind: str, foreign: Iterable[ForeignSpec]) -> tuple[Finding, ...]:
    """After a removal: what still offers devices of this kind."""
    return tuple(
        Finding(
            id="GPU-CDI-113",
            severity="warning",
            summary=f"another CDI spec still offers devices of {kind}",
            wanted=f"no spec of {kind}, as state is absent",
            found=f"{spec.path}: {_names(spec.devices)}",
            remedy=_remedy(spec.path),
            source=SOURCE,
        )
        for spec in foreign
    )


def _judge(path: str, rank: int, ours: tuple[str, ...], spec: ForeignSpec) -> Finding:
    both = tuple(d for d in spec.devices if d in ours)
    rest = tuple(d for d in spec.devices if d not in ours)
    if both and spec.rank == rank:
        summary = "two CDI specs in one directory name the same devices, so engines drop these from both"
    elif both and spec.rank > rank:
        summary = "a CDI spec in a directory that engines prefer hides the one that is written here"
    elif rest:
        summary = "another CDI spec of the same kind offers devices that nobody keeps up to date"
    else:
        summary = "a CDI spec of the same kind is hidden by the one that is written here, until that is gone"
    return Finding(
        id="GPU-CDI-113",
        severity="warning",
        summary=summary,
        wanted=f"one spec of this kind: {path}",
        found=f"{spec.path}: {_names(both or rest)}",
        remedy=_remedy(spec.path),
        source=SOURCE,
    )


def _remedy(path: str) -> str:
    return f"rm {path}"


def _names(devices: tuple[str, ...]) -> str:
    more = f" and {len(devices) - SHOWN} more" if len(devices) > SHOWN else ""
    return f"{', '.join(devices[:SHOWN])}{more}" if devices else "no device"
