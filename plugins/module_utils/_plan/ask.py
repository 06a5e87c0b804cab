# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a decider has to ask of the package manager, and the answer. Private to this collection."""

from __future__ import annotations

from dataclasses import dataclass

from .facts import Resolution
from .repository import Repository
from .repository_dnf import DnfRepository


@dataclass(frozen=True)
class Ask:
    """What has to be asked first: what ``install`` or ``remove`` of ``packages`` would do.

    ``pin`` is the text to ask under: for apt of preferences, for dnf of the repository's file; ``kernel_package`` the
    one whose versions a message would list; ``without``: what has to go when ``packages`` come. ``repository``: ours,
    None where the host has all that is needed. ``compiled``: the package of compiled kernel modules that has to be on
    offer, '' for none. ``prefix``: what versions of the set begin with; ``of_set``: names that have such a version. dnf
    has to be told it, or what is installed in a newer one would do; and a ``*`` in a name stands for it. ``welcome``:
    asked for where they are on offer. ``along``: installed packages that are to change with the rest, as far as a
    version of ``prefix`` is on offer.
    """

    kind: str
    packages: tuple[str, ...]
    repository: Repository | DnfRepository | None
    pin: str = ""
    kernel_package: str = ""
    without: tuple[str, ...] = ()
    needs_key: bool = False
    manager: str = "apt"
    compiled: str = ""
    prefix: str = ""
    of_set: tuple[str, ...] = ()
    welcome: tuple[str, ...] = ()
    along: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The answer to an Ask, the fetched key where it was asked for, and the versions on offer, newest first.

    ``taken``: what would go with the packages of a removal because it depends on them. ``compiled``: that of the
    question; ``offered``: whether it is on offer. ``along``: those of the question that nothing else makes follow.
    """

    resolution: Resolution
    key: str | None = None
    versions: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    compiled: str = ""
    offered: bool = True
    along: tuple[str, ...] = ()
