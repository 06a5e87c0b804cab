# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a row of the table of readers is. Private to this collection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Found = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """One kind of text.

    ``pattern`` is searched in the command or path as an administrator writes it; ``read`` gets the text and that
    command, which can say what the text does not (the packages that were asked for, the option line).
    """

    kind: str
    pattern: str
    read: Callable[[str, str], Found]


def text_only(read: Callable[[str], Found]) -> Callable[[str, str], Found]:
    """A reader that needs the text alone."""
    return lambda text, _source: read(text)
