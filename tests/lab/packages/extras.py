# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns the rows of tables/extras.py into packages for apt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lab.packages.driver import Packaging
from lab.packages.package import Package
from lab.packages.tables.extras import EXTRAS, Extra

REVISION = "-1"


def packages(packaging: Packaging, rows: Iterable[Extra] = EXTRAS) -> Iterator[Package]:
    """Every version of each package."""
    for row in rows:
        for version in row.versions:
            yield describe(row, version, packaging)


def describe(row: Extra, version: str, packaging: Packaging) -> Package:
    """One version of one package."""
    component = row.component
    return Package(
        component.name,
        f"{version}{REVISION}",
        component.summary,
        architecture=packaging.architectures[component.of_all],
        relations={
            name: ", ".join(item.format(v=version) for item in getattr(component, attribute))
            for name, attribute in packaging.relations.items()
        },
        trees=(component.tree or component.name,),
        tokens={"VERSION": version},
    )
