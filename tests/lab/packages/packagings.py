# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How each distribution packages a driver release."""

from __future__ import annotations

from dataclasses import replace

from lab.packages.distributions import Distribution
from lab.packages.driver import DEB_RELATIONS, RPM_RELATIONS, Packaging
from lab.packages.tables.component import UNBRANCHED_FROM, Component
from lab.packages.tables.debian import DEBIAN
from lab.packages.tables.el import EL
from lab.packages.tables.libraries import LIB64, MULTIARCH
from lab.packages.tables.ubuntu import UBUNTU
from lab.packages.versions import Driver

DEB_ARCHITECTURES, RPM_ARCHITECTURES = ("amd64", "all"), ("x86_64", "noarch")
# First release that was seen with revision 1ubuntu1 and names that carry the branch.
NEW_REVISION = Driver("580.159.03")


def packaging_of(distribution: Distribution, driver: Driver) -> Packaging:
    """How NVIDIA's CUDA repository for `distribution` packages `driver`."""
    return {"debian": _debian, "ubuntu": _ubuntu, "el": _el}[distribution.family](distribution, driver)


def _debian(_distribution: Distribution, _driver: Driver) -> Packaging:
    return Packaging(DEBIAN, DEB_RELATIONS, "-1", "-1", MULTIARCH, DEB_ARCHITECTURES)


def _ubuntu(_distribution: Distribution, driver: Driver) -> Packaging:
    revision = "-1ubuntu1" if driver.order >= NEW_REVISION.order else "-0ubuntu1"
    plain = "-1ubuntu1" if driver.branch >= UNBRANCHED_FROM else "-1"
    return Packaging(UBUNTU, DEB_RELATIONS, revision, plain, MULTIARCH, DEB_ARCHITECTURES)


def _el(distribution: Distribution, _driver: Driver) -> Packaging:
    number = distribution.folder.removeprefix("rhel")
    rows = tuple(_recommending(row) for row in EL) if int(number) >= 10 else EL
    return Packaging(
        rows, RPM_RELATIONS, f"-1.el{number}", "-1", LIB64, RPM_ARCHITECTURES, tree_suffixes=("el",), epoch="3:"
    )


def _recommending(row: Component) -> Component:
    """On EL 10 and later the common package brings the open modules along (its spec, `%if rhel >= 10`)."""
    if row.name != "nvidia-kmod-common":
        return row
    return replace(row, recommends=("kmod-nvidia-open-dkms = {e}",))
