# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says where a host's driver came from. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .._catalog.package_origins import DEB_PARTS, DRIVER_KINDS, DRIVER_NAMES, RPM_PARTS, DriverKind, origin_of
from .facts import Package
from .versions import upstream_version

NONE, MIXED = "none", "mixed"
RUNFILE, CONTAINER = "runfile", "container"
UNACCOUNTED = "a driver is there that no package, no .run installer and no driver container of this host accounts for"


@dataclass(frozen=True)
class DriverSource:
    """One way by which a driver came onto the host, and what shows it.

    ``source``: distro, cuda_repo, runfile, container. ``packager``: who made the packages, '' for none. ``modules``:
    how the kernel modules got there (precompiled, dkms, kmod, akmods), None where nothing says so. ``version``: None
    where nothing says so. ``evidence``: names of packages, or paths.
    """

    source: str
    packager: str
    modules: str | None
    version: str | None
    evidence: tuple[str, ...]


def driver_sources(
    packages: Mapping[str, Package], *, runfile: DriverSource | None = None, container: DriverSource | None = None
) -> tuple[DriverSource, ...]:
    """Every way that is seen; ``packages`` by name, unfinished ones too. A kind of packages is one row."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for name, package in packages.items():
        kind = _kind(name, package.version, packages)
        if kind is not None:
            found.setdefault((kind.repository, kind.packager, kind.modules), []).append(name)
    rows = [
        DriverSource(repository, packager, modules, _version(names, packages), tuple(sorted(names)))
        for (repository, packager, modules), names in found.items()
    ]
    return (*rows, *(row for row in (runfile, container) if row is not None))


def _kind(name: str, version: str, packages: Mapping[str, Package]) -> DriverKind | None:
    for row in DRIVER_KINDS:
        if not re.fullmatch(row.names, name) or (row.version_from and origin_of(version) != row.version_from):
            continue
        if not row.beside or row.beside in packages:
            return row
    return None


def _version(names: Sequence[str], packages: Mapping[str, Package]) -> str | None:
    """Of the packages whose version is a driver's; those that are compiled for a kernel have the kernel's."""
    versions = (driver_version(packages[name].version) for name in names)
    return next((v for v in versions if v), None)


def driver_version(version: str) -> str | None:
    """The driver's version in a package's one (3:595.71.05-1.el9); None for another kind of version."""
    found = upstream_version(version)
    return found if re.fullmatch(r"\d{3}\.\d+(\.\d+)?", found) else None


def driver_source(sources: Sequence[DriverSource], *, there: bool) -> str | None:
    """One word for all: ``none``, the one source, or ``mixed``.

    ``there``: a driver is loaded or on disk, or may be. None where it is, and came from nowhere that is known.
    """
    words = list(dict.fromkeys(row.source for row in sources))
    if len(words) > 1:
        return MIXED
    return words[0] if words else None if there else NONE


def driver_packages(packages: Iterable[str]) -> list[str]:
    """The names among ``packages`` that belong to a driver, whoever made them."""
    return sorted(n for n in packages if any(re.fullmatch(pattern, n) for pattern in DRIVER_NAMES))


def driver_parts(packages: Mapping[str, Package]) -> dict[str, list[str]]:
    """Version -> packages that must have one version: library, kernel modules, programs. More than one key
    is a mixture that does not work.
    """
    found: dict[str, list[str]] = {}
    for name in sorted(packages):
        if any(re.fullmatch(row.names, name) for row in (*DEB_PARTS, *RPM_PARTS)):
            version = driver_version(packages[name].version)
            if version is not None:
                found.setdefault(version, []).append(name)
    return found
