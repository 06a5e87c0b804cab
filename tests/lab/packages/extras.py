# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns the rows of tables/extras.py into packages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lab.packages.driver import DEB_RELATIONS, RPM_RELATIONS
from lab.packages.package import Package
from lab.packages.tables.extras import EXTRAS, Extra

REVISION = "-1"


RPM_NAMES = {"libibumad3": "libibumad"}


def deb_packages(rows: Iterable[Extra] = EXTRAS) -> Iterator[Package]:
    """Every version of each package, for apt."""
    for row in rows:
        for version in row.versions:
            relations = {
                name: ", ".join(item.format(v=version) for item in row.component.relation(attribute))
                for name, attribute in DEB_RELATIONS.items()
            }
            yield _package(row, version, "amd64", relations)


def rpm_packages(rows: Iterable[Extra] = EXTRAS) -> Iterator[Package]:
    """Every version of each package, for dnf."""
    for row in rows:
        for version in row.versions:
            relations = {
                name: ", ".join(rpm_relation(item.format(v=version)) for item in row.component.relation(attribute))
                for name, attribute in RPM_RELATIONS.items()
            }
            yield _package(row, version, "x86_64", relations)


def rpm_relation(text: str) -> str:
    """`name (= 1)` as rpm writes it: `name = 1`."""
    name, _space, rest = text.partition(" ")
    return " ".join([RPM_NAMES.get(name, name), *re.findall(r"\((.+)\)", rest)])


def _package(row: Extra, version: str, architecture: str, relations: dict[str, str]) -> Package:
    component = row.component
    return Package(
        component.name,
        f"{version}{REVISION}",
        component.summary,
        architecture,
        relations,
        trees=(component.tree or component.name,),
        tokens={"VERSION": version},
    )
