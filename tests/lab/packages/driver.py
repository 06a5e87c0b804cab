# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the packages of one driver release from the tables in components.py and libraries.py."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lab.packages import deb, simulated, stubs
from lab.packages.components import Component, of_branch
from lab.packages.libraries import LIBRARIES, Library
from lab.packages.versions import Driver

RELATIONS = {"Depends": "depends", "Recommends": "recommends", "Provides": "provides", "Conflicts": "conflicts"}
FIRMWARE = ("gsp_ga10x.bin", "gsp_tu10x.bin")


def build(driver: Driver, folder: Path, scratch: Path) -> None:
    """Writes all packages of the release into `folder`; one that is there already (version of its own) is left."""
    objects = scratch / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    for component in of_branch(driver.branch):
        package = describe(component, driver, objects)
        if not (folder / package.file_name).exists():
            deb.write(package, folder, scratch)


def describe(component: Component, driver: Driver, objects: Path) -> deb.Package:
    """The package of `component` in this release; stub libraries are compiled into `objects`."""
    source = component.tree or component.name
    libraries = LIBRARIES.get(source, ())
    return deb.Package(
        name=fill(component.name, driver),
        version=fill(component.version, driver),
        summary=fill(component.summary, driver),
        relations={field: _join(getattr(component, name), driver) for field, name in RELATIONS.items()},
        trees=(source, f"{source}@{driver.branch}"),
        tokens=_tokens(component, driver),
        files={
            **_library_files(libraries, driver, objects),
            **{f"usr/bin/{name}": simulated.program(name) for name in component.programs},
            **_firmware(component, driver, objects),
        },
        links=library_links(libraries, driver),
    )


def fill(text: str, driver: Driver) -> str:
    """Replaces {p}, {v} and {b} by package version, driver version and branch."""
    return text.format(p=driver.package_version, v=driver.version, b=driver.branch)


def _join(items: Iterable[str], driver: Driver) -> str:
    return ", ".join(fill(item, driver) for item in items)


def _tokens(component: Component, driver: Driver) -> dict[str, str]:
    names = {fill(row.name, driver) for row in of_branch(driver.branch) if row.version == "{p}"}
    return {
        "VERSION": driver.version,
        "BRANCH": str(driver.branch),
        "LICENSE": component.license,
        "PACKAGES": " ".join(sorted(names)),
    }


def _library_files(libraries: Iterable[Library], driver: Driver, objects: Path) -> dict[str, Path]:
    found = {}
    for row in libraries:
        soname = fill(row.soname, driver)
        content = simulated.library(soname) or stubs.shared_object(soname, objects)
        found[f"{row.folder}/{fill(row.file, driver)}"] = content
    return found


def library_links(libraries: Iterable[Library], driver: Driver) -> dict[str, str]:
    """Path of each link -> its text: the SONAME to the file, the development name to the SONAME."""
    links = {}
    for row in libraries:
        file, soname = fill(row.file, driver), fill(row.soname, driver)
        if soname != file:
            links[f"{row.folder}/{soname}"] = file
        links.update({f"{row.folder}/{name}": soname for name in row.links})
    return links


def _firmware(component: Component, driver: Driver, objects: Path) -> dict[str, Path]:
    if component.name != "firmware-nvidia-gsp":
        return {}
    content = objects / f"gsp-{driver.version}.bin"
    content.write_text(f"simulated GSP firmware {driver.version}\n")
    return {f"usr/lib/firmware/nvidia/{driver.version}/{name}": content for name in FIRMWARE}
