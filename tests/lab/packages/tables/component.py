# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One row of the tables beside this file: a package that each driver release of some branches has.

Texts of a row may hold {p}, the version of the packages; {v}, the driver's; {b}, its branch; {s}, the branch as part
of a name where names have it (-580), else nothing; {n}, the version of packages without a mark of the distribution;
{e}, the driver's version after the epoch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

FIRST, LAST = 0, 9999
# From here on NVIDIA's own repositories have no branch in names (driver installation guide 590, recent updates).
UNBRANCHED_FROM = 590
# From here on there are no binary kernel modules (driver installation guide 620).
OPEN_ONLY_FROM = 620
# Flavour of the kernel modules, as names of packages end with it -> their licence.
LICENSES = {"": "NVIDIA", "-open": "Dual MIT/GPL"}


@dataclass(frozen=True)
class Component:
    """One binary package. `since` and `until` bound the branches; files are found in files/<tree or name>.

    `libraries` are rows of libraries.py that it holds (default: the row of its own name), `also` further trees.
    `sole` are virtual packages of which a host has one: provided, and in conflict with others that provide them.
    `of_all` says that the same file serves all machines.
    """

    name: str
    summary: str
    depends: tuple[str, ...] = ()
    recommends: tuple[str, ...] = ()
    supplements: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    sole: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    version: str = "{p}"
    since: int = FIRST
    until: int = LAST
    tree: str = ""
    also: tuple[str, ...] = ()
    license: str = ""
    firmware: bool = False
    of_all: bool = False

    def relation(self, name: str) -> tuple[str, ...]:
        """One of the relations by the name of its field, with what `sole` adds."""
        own: tuple[str, ...] = getattr(self, name)
        return (*own, *self.sole) if name in ("provides", "conflicts", "replaces") else own

    def in_branch(self, branch: int) -> bool:
        """Whether releases of `branch` have this package."""
        return self.since <= branch <= self.until


def same(*names: str) -> tuple[str, ...]:
    """Dependencies on exactly this release of other packages."""
    return tuple(f"{name} (= {{p}})" for name in names)


def least(*names: str) -> tuple[str, ...]:
    """Dependencies on this release of other packages, or any later one."""
    return tuple(f"{name} (>= {{v}})" for name in names)


def of_branch(rows: Iterable[Component], branch: int) -> list[Component]:
    """The packages that releases of `branch` consist of."""
    return [component for component in rows if component.in_branch(branch)]
