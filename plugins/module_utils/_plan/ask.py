# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a decider has to ask of apt, and the answer. Private to this collection."""

from __future__ import annotations

from dataclasses import dataclass

from .facts import Resolution
from .repository import Repository


@dataclass(frozen=True)
class Ask:
    """What has to be asked of apt first: what ``install`` or ``remove`` of ``packages`` would do.

    ``pin`` is the preferences text to ask under; ``kernel_package`` the one whose versions a message would list;
    ``without``: what has to go when ``packages`` come.
    """

    kind: str
    packages: tuple[str, ...]
    repository: Repository
    pin: str = ""
    kernel_package: str = ""
    without: tuple[str, ...] = ()
    needs_key: bool = False


@dataclass(frozen=True)
class Answer:
    """apt's answer to an Ask, the fetched key where it was asked for, and the versions on offer, newest first.

    ``taken``: what would go with the packages of a removal because it depends on them.
    """

    resolution: Resolution
    key: str | None = None
    versions: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
