# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How each family of distributions packages a driver release."""

from __future__ import annotations

from lab.packages.driver import DEB_RELATIONS, Packaging
from lab.packages.tables.debian import DEBIAN
from lab.packages.tables.libraries import MULTIARCH

DEB_ARCHITECTURES = ("amd64", "all")


def debian() -> Packaging:
    """NVIDIA's CUDA repository for Debian."""
    return Packaging(DEBIAN, DEB_RELATIONS, "-1", "-1", MULTIARCH, DEB_ARCHITECTURES)


def packaging_of(family: str) -> Packaging:
    """The packaging of one family. Raises KeyError for an unknown one."""
    return {"debian": debian}[family]()
