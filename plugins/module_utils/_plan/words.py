# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences that do not grow with what they tell of. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 3


def some(texts: Sequence[str], between: str = ", ") -> str:
    """The first few of many, and how many more there are."""
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return f"{between.join(texts[:SHOWN])}{more}"
