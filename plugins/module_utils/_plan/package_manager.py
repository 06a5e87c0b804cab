# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What deciders want of a package manager: one answer each of apt and dnf. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from .facts import Package, Resolution
from .packages import PackageSet
from .repository import Repository
from .repository_dnf import DnfRepository
from .work import Work


@dataclass(frozen=True)
class Change:
    """All that an installation takes. ``files``: path -> text of our files; ``owned``: names in our record.

    ``repository``: ours, None where the packages come from the host's own. ``key``: armored, where it had to be
    fetched. ``version``: upstream, of the whole set. ``stream``: of the dnf module nvidia-driver, '' for none.
    """

    wanted: PackageSet
    repository: Repository | DnfRepository | None
    packages: Mapping[str, Package]
    files: Mapping[str, str | None]
    owned: tuple[str, ...]
    resolution: Resolution
    key: str | None
    version: str
    disrupts: str
    stream: str = ""


@dataclass(frozen=True)
class Removal:
    """All that a removal takes. ``removable``: installed packages of ours that nothing else needs."""

    owner: str
    repositories: tuple[Repository | DnfRepository, ...]
    packages: Mapping[str, Package]
    files: Mapping[str, str | None]
    owned: tuple[str, ...]
    removable: tuple[str, ...]


class PackageManager(Protocol):
    """How one package manager brings about what was decided."""

    name: str

    def paths(self, owner: str) -> tuple[str, ...]:
        """Our files beside those of the repository."""

    def pin(self, wanted: PackageSet, repository: Repository | DnfRepository | None) -> str:
        """The text under which the question is asked."""

    def plan_install(self, change: Change) -> Work:
        """Repository, pin, packages and holds, in this order."""

    def plan_repository_gone(self, change: Change, repository: Repository | DnfRepository) -> Work:
        """A repository of ours that nothing is wanted from any more."""

    def plan_remove(self, removal: Removal) -> Work:
        """Holds, packages, pin, repositories: what the record says that we brought."""
