# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands against a removal, and what stays after it. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence

from .ask import Answer
from .model import Finding
from .package_words import WORDS
from .words import some


def find_needed_by_others(answer: Answer, ours: Sequence[str], *, manager: str = "apt") -> tuple[Finding, ...]:
    """Packages that would have to go with ours although we did not bring them."""
    words = WORDS[manager]
    if answer.resolution.error:
        return (_no_removal(answer.resolution.error, manager),)
    others = [n for n in answer.taken if n not in ours]
    if not others:
        return ()
    return (
        Finding(
            id="GPU-PKG-111",
            severity="error",
            summary=f"{others[0]} needs packages that would be removed",
            wanted="nothing on this host that needs these packages",
            found=f"{words.simulate_removal} would take {', '.join(others)} too",
            remedy=f"remove it first: {words.remove} {' '.join(others)}",
            source=words.manual,
        ),
    )


def find_staying(ours: Sequence[str], removed: Sequence[str], *, manager: str = "apt") -> tuple[Finding, ...]:
    """What came along and stays: compilers or perl may by now be used by something that the package manager does not
    know of, so only a person can say whether they may go.
    """
    words = WORDS[manager]
    stays = [n for n in ours if n not in removed]
    if not stays:
        return ()
    return (
        Finding(
            id="GPU-PKG-127",
            severity="info",
            summary=f"{len(stays)} packages that came along stay: {some(stays)}",
            wanted="nothing but the role's own packages is removed",
            found=f"{', '.join(stays)} (our record, package database)",
            remedy=f"where nothing of yours uses them: {words.remove} {' '.join(stays)}",
            source=words.manual,
        ),
    )


def _no_removal(error: str, manager: str) -> Finding:
    words = WORDS[manager]
    return Finding(
        id="GPU-PKG-107",
        severity="error",
        summary=f"{words.name} cannot say what the removal would do",
        wanted=f"an answer of {words.simulate_removal}",
        found=" / ".join(error.splitlines()),
        remedy=f"repair the package database: {words.repair}",
        source=words.manual,
    )
