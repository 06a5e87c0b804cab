# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which packages make a host's driver, and which of those installed are in their way. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .._catalog import branches
from .._catalog import packages as names
from .._catalog.kernel_packages import headers_packages
from .driver_wish import DISTRO, DriverWish
from .facts import Kernel, OsRelease, Package
from .packages import PackageSet, is_of, lacking, matches

ROLE = "driver"


@dataclass(frozen=True)
class DriverSet:
    """``row``: of the catalog, filled in. ``in_the_way``: installed packages that exclude what is wanted.

    ``kernel`` brings the kernel modules, ``version_of`` has the driver's version; both are the installed name where the
    row has a pattern and such a package of the right version is there. ``welcome``: what brings headers or modules of
    later kernels, so that a kernel update is no outage; asked for where it is on offer.
    """

    row: names.DriverPackages
    wanted: PackageSet
    kernel: str
    version_of: str
    in_the_way: tuple[str, ...]
    welcome: tuple[str, ...] = ()

    @property
    def compiled(self) -> str:
        """The package of compiled modules, '' where DKMS builds them."""
        return self.kernel if self.row.precompiled else ""


def default_branch(os: OsRelease, source: str) -> int:
    """The branch for who names none: the production branch, or the newest that the distribution itself has."""
    rows = [r for r in names.rows_for(os.id, os.version) if r.repository == DISTRO] if source == DISTRO else []
    wanted = branches.DEFAULT_BRANCH
    if not rows or any(names.has_branch(r.first_branch, r.last_branch, wanted) for r in rows):
        return wanted
    return max(r.last_branch or wanted for r in rows)


def driver_sets(
    wish: DriverWish, os: OsRelease, kernel: Kernel, packages: Mapping[str, Package], flavour: str
) -> tuple[DriverSet, ...]:
    """The sets that fit the wish, the one to prefer first; none where there are no such packages.

    ``precompiled`` auto: a distribution's own modules are compiled and signed by it, NVIDIA's are built by DKMS.
    """
    order = {"auto": (wish.source == DISTRO, wish.source != DISTRO), "true": (True,), "false": (False,)}
    found = (_row(wish, os, kernel, flavour, precompiled=compiled) for compiled in order[wish.precompiled])
    return tuple(_set(wish, os, kernel, packages, row) for row in found if row is not None)


def _row(
    wish: DriverWish, os: OsRelease, kernel: Kernel, flavour: str, *, precompiled: bool
) -> names.DriverPackages | None:
    return names.driver_packages(
        os.id,
        os.version,
        branch=wish.branch,
        flavour=flavour,
        package_set=wish.package_set,
        source=wish.source,
        precompiled=precompiled,
        kernel_release=kernel.release,
    )


def _set(
    wish: DriverWish, os: OsRelease, kernel: Kernel, packages: Mapping[str, Package], row: names.DriverPackages
) -> DriverSet:
    daemon = (row.persistenced,) if row.persistenced not in row.others else ()
    versioned = (*row.names, *(daemon if wish.persistenced else ()))
    others = tuple(n for n in row.others if wish.persistenced or n != row.persistenced)
    wanted = PackageSet(
        owner=ROLE,
        names=tuple(dict.fromkeys(_installed(n, packages, wish.prefix) for n in versioned)),
        others=(*others, *_headers(wish, os, kernel, row)),
        patterns=names.DRIVER_PATTERNS,
        prefix=wish.prefix,
        hold=wish.hold,
    )
    return DriverSet(
        row=row,
        wanted=wanted,
        kernel=_installed(row.kernel, packages, wish.prefix),
        version_of=_installed(row.version_of, packages, wish.prefix),
        in_the_way=in_the_way(os, row, wish, packages),
        welcome=tuple(
            n for n in _following(wish, os, kernel, row) if n not in packages and n not in (*versioned, *others)
        ),
    )


def _installed(name: str, packages: Mapping[str, Package], prefix: str) -> str:
    """A name with a ``*`` as the package of the right version that fits it, where there is one; else as it is."""
    if "*" not in name:
        return name
    found = (n for n, p in packages.items() if matches(n, (name,)) and is_of(p.version, prefix))
    return next(found, name)


def _headers(wish: DriverWish, os: OsRelease, kernel: Kernel, row: names.DriverPackages) -> tuple[str, ...]:
    if row.precompiled or not wish.kernel_headers or kernel.headers:
        return ()
    found = headers_packages(os.id, os.version, kernel_release=kernel.release)
    if found is None:
        return ()
    return (f"{found.name}-{found.version}" if found.version else found.name,)


def _following(wish: DriverWish, os: OsRelease, kernel: Kernel, row: names.DriverPackages) -> tuple[str, ...]:
    """What follows the kernel. Its own version is that of a kernel, so neither a hold nor a lock is about it."""
    if row.precompiled:
        return (row.follow,) if row.follow else ()
    found = headers_packages(os.id, os.version, kernel_release=kernel.release) if wish.kernel_headers else None
    return (found.follow,) if found and found.follow else ()


def choose(
    sets: Sequence[DriverSet], packages: Mapping[str, Package], compiled: str | None, *, usable: bool
) -> DriverSet:
    """The set that was asked about; before the question the one that is there already, else the preferred one.

    ``compiled``: what the answer is about, '' for DKMS, None before the question. Compiled modules that nobody offers,
    or that do not fit the driver on offer, leave room for DKMS where it may be.
    """
    if compiled is not None:
        asked = [s for s in sets if bool(s.compiled) == bool(compiled)]
        rest = [s for s in sets if not s.compiled]
        return (asked if usable or not rest else rest)[0]
    there = [s for s in sets if not lacking(s.wanted, packages)]
    return (there or list(sets))[0]


def in_the_way(
    os: OsRelease, row: names.DriverPackages, wish: DriverWish, packages: Mapping[str, Package]
) -> tuple[str, ...]:
    """Installed packages that bring or want other kernel modules, or come from another source than ``row``."""
    kind = (row.repository, row.flavour, row.precompiled)
    fits: list[names.DriverPackages] = []
    others: list[names.DriverPackages] = []
    for r in names.rows_for(os.id, os.version):
        same = (r.repository, r.flavour, r.precompiled) == kind
        (fits if same and names.has_branch(r.first_branch, r.last_branch, wish.branch) else others).append(r)
    stay = [names.pattern_of(n, wish.branch) for r in fits for n in (*r.names, *r.others, r.kernel, r.persistenced)]
    go = [names.pattern_of(n) for r in others for n in (*(r.names if r.repository == row.repository else ()), r.kernel)]
    found = [n for n in packages if matches(n, go) and not matches(n, stay)]
    return tuple(
        dict.fromkeys((*found, *_outdated(row, wish, packages), *of_other_sources(os, row.repository, packages)))
    )


def _outdated(row: names.DriverPackages, wish: DriverWish, packages: Mapping[str, Package]) -> list[str]:
    """Compiled modules whose names hold their version stay beside those of a newer one, and exclude them."""
    if "*" not in row.kernel:
        return []
    return [n for n, p in packages.items() if matches(n, (row.kernel,)) and not is_of(p.version, wish.prefix)]


def of_other_sources(os: OsRelease, source: str, packages: Iterable[str]) -> tuple[str, ...]:
    """Installed packages of the driver that only another source than ``source`` has."""
    rows = names.rows_for(os.id, os.version)
    own = [names.pattern_of(r.kernel) for r in rows if r.repository == source]
    patterns = [p for p in (names.pattern_of(r.kernel) for r in rows if r.repository != source) if p not in own]
    if source != DISTRO:
        patterns += names.OTHER_SOURCES.get(os.id, ())
    return tuple(n for n in packages if matches(n, patterns))


def kernel_packages(os: OsRelease, packages: Iterable[str]) -> tuple[str, ...]:
    """Installed packages that bring kernel modules of the driver, whoever made them."""
    patterns = [names.pattern_of(r.kernel) for r in names.rows_for(os.id, os.version)]
    return tuple(n for n in packages if matches(n, (*patterns, *names.OTHER_SOURCES.get(os.id, ()))))
