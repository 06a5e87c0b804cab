# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The package manager of a distribution. Private to this collection."""

from __future__ import annotations

from .._catalog.distributions import APT, DNF, distribution_of
from .facts import OsRelease
from .package_manager import PackageManager
from .packages_apt import Apt
from .packages_dnf import Dnf

MANAGERS: dict[str, PackageManager] = {APT: Apt(), DNF: Dnf()}


def manager_of(os: OsRelease) -> PackageManager:
    """That of the catalog's row; apt where there is none, which concerns removal alone."""
    row = distribution_of(os.id, os.version)
    return MANAGERS[row.manager if row else APT]
