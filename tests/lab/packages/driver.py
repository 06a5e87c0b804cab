# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns rows of the tables into packages of one driver release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.packages import package, simulated, stubs
from lab.packages.tables.component import UNBRANCHED_FROM, Component, of_branch
from lab.packages.tables.libraries import LIBRARIES, Library
from lab.packages.versions import Driver

FIRMWARE = ("gsp_ga10x.bin", "gsp_tu10x.bin")
# Field of a Debian control file -> of a row.
DEB_RELATIONS = {
    "Depends": "depends",
    "Recommends": "recommends",
    "Provides": "provides",
    "Conflicts": "conflicts",
    "Replaces": "replaces",
}
# Tag of an rpm spec -> of a row.
RPM_RELATIONS = {
    "Requires": "depends",
    "Recommends": "recommends",
    "Supplements": "supplements",
    "Provides": "provides",
    "Conflicts": "conflicts",
    "Obsoletes": "replaces",
}


@dataclass(frozen=True)
class Packaging:
    """How a family packages the driver: its rows, names of relations, library folder and architectures.

    `revision` and `plain_revision` follow the driver's version, with and without the distribution's mark; `epoch`,
    with its colon, comes before the first.
    `tree_suffixes` are laid over a row's tree where such folders exist, `dkms_name` is that of the modules' source.
    """

    rows: tuple[Component, ...]
    relations: Mapping[str, str]
    revision: str
    plain_revision: str
    library_folder: str
    architectures: tuple[str, str]
    tree_suffixes: tuple[str, ...] = ()
    dkms_name: str = "nvidia"
    epoch: str = ""


def packages(driver: Driver, packaging: Packaging, objects: Path) -> list[package.Package]:
    """All packages of the release; stub libraries are compiled into `objects`."""
    objects.mkdir(parents=True, exist_ok=True)
    rows = of_branch(packaging.rows, driver.branch)
    tokens = {"PACKAGES": " ".join(sorted(fill(row.name, driver, packaging) for row in rows if "{" in row.version))}
    return [describe(row, driver, packaging, objects, tokens) for row in rows]


def describe(
    row: Component, driver: Driver, packaging: Packaging, objects: Path, tokens: Mapping[str, str]
) -> package.Package:
    """The package of `row` in this release."""
    source = row.tree or row.name
    libraries = [library for group in row.libraries or (source,) for library in LIBRARIES.get(group, ())]
    return package.Package(
        name=fill(row.name, driver, packaging),
        version=fill(row.version, driver, packaging),
        summary=fill(row.summary, driver, packaging),
        architecture=packaging.architectures[row.of_all],
        relations={
            name: ", ".join(fill(item, driver, packaging) for item in row.relation(attribute))
            for name, attribute in packaging.relations.items()
        },
        trees=tuple(tree for name in (source, *row.also) for tree in trees(name, driver, packaging)),
        tokens={
            "VERSION": driver.version,
            "BRANCH": str(driver.branch),
            "LICENSE": row.license,
            "DKMS": packaging.dkms_name,
            **tokens,
        },
        files={
            **_library_files(libraries, driver, packaging, objects),
            **{f"usr/bin/{name}": simulated.program(name) for name in row.programs},
            **(_firmware(driver, objects) if row.firmware else {}),
        },
        links=library_links(libraries, driver, packaging.library_folder),
    )


def trees(source: str, driver: Driver, packaging: Packaging) -> tuple[str, ...]:
    """Folders below files/ for a row's tree, in the order that they are laid over each other."""
    suffixes = [*packaging.tree_suffixes, _generation(source, driver.branch), driver.fault]
    return (source, *(f"{source}@{suffix}" for suffix in suffixes if suffix))


def fill(text: str, driver: Driver, packaging: Packaging) -> str:
    """Replaces the names in braces; see tables/component.py."""
    return text.format(
        p=f"{packaging.epoch}{driver.version}{packaging.revision}",
        e=f"{packaging.epoch}{driver.version}",
        n=f"{driver.version}{packaging.plain_revision}",
        v=driver.version,
        b=driver.branch,
        s=f"-{driver.branch}" if driver.branch < UNBRANCHED_FROM else "",
    )


def _generation(source: str, branch: int) -> str:
    """The newest branch, not after `branch`, that files/ has a tree for: files change rarely from branch to branch."""
    known = [int(path.name.partition("@")[2]) for path in package.FILES.glob(f"{source}@[0-9]*")]
    return str(max((number for number in known if number <= branch), default=""))


def _library_files(
    libraries: Iterable[Library], driver: Driver, packaging: Packaging, objects: Path
) -> dict[str, Path]:
    found = {}
    for row in libraries:
        soname = row.soname.format(v=driver.version)
        content = simulated.library(soname, driver.branch) or stubs.shared_object(soname, objects)
        found[f"{row.path(packaging.library_folder)}/{row.file.format(v=driver.version)}"] = content
    return found


def library_links(libraries: Iterable[Library], driver: Driver, folder: str) -> dict[str, str]:
    """Path of each link -> its text: the SONAME to the file, the development name to the SONAME."""
    links = {}
    for row in libraries:
        file, soname = row.file.format(v=driver.version), row.soname.format(v=driver.version)
        if soname != file:
            links[f"{row.path(folder)}/{soname}"] = file
        links.update({f"{row.path(folder)}/{name}": soname for name in row.links})
    return links


def _firmware(driver: Driver, objects: Path) -> dict[str, Path]:
    content = objects / f"gsp-{driver.version}.bin"
    content.write_text(f"simulated GSP firmware {driver.version}\n")
    return {f"usr/lib/firmware/nvidia/{driver.version}/{name}": content for name in FIRMWARE}
