# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What repositories have of a driver, and what they lack. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .._catalog import distributions
from .._catalog import packages as names
from .ask import Answer
from .component_findings import OWN_VERSION, find_not_offered
from .driver_host import DriverHost
from .driver_set import DriverSet
from .driver_wish import DriverWish
from .facts import Kernel, OsRelease, Package, Resolution
from .model import Finding
from .package_failure import find_failure
from .package_words import WORDS
from .packages import PackageSet, is_of, matches
from .repository import Repository
from .repository_dnf import DnfRepository

# Open modules of Ubuntu want one release of what goes with them; binary ones that or a later one.
OLDER_MODULES = re.compile(r"Depends: nvidia-kernel-common-\S+ \(<= (?P<release>\d+(?:\.\d+)+)[^)]*\)[^\n]*")


def find_no_packages(wish: DriverWish, os: OsRelease, flavour: str) -> tuple[Finding, ...]:
    """The source has no such packages for this distribution at all."""
    rows = [r for r in names.rows_for(os.id, os.version) if r.repository == wish.source]
    if not rows:
        return (_no_source(wish, os),)
    fits = [r for r in rows if names.has_branch(r.first_branch, r.last_branch, wish.branch) and r.flavour == flavour]
    if fits and wish.precompiled != "auto":
        return (_no_kind(wish, os, flavour),)
    return (
        Finding(
            id="GPU-PKG-122",
            severity="error",
            summary=f"{wish.source} has no branch {wish.branch} with {flavour} kernel modules for {os.name}",
            wanted=f"driver_branch {wish.branch}, driver_source {wish.source}",
            found=f"branches of that source: {_branches(r for r in rows if r.flavour == flavour) or 'none'}",
            remedy="set driver_branch to one of them, or driver_source to another source",
            source=rows[0].source,
        ),
    )


def _branches(rows: Iterable[names.DriverPackages]) -> str:
    """Ranges of branches for messages: 535, 580-."""
    ends = dict.fromkeys((r.first_branch, r.last_branch) for r in rows)
    return ", ".join(str(a) if a == b else f"{a or ''}-{b or ''}" for a, b in ends)


def _no_source(wish: DriverWish, os: OsRelease) -> Finding:
    return Finding(
        id="GPU-PKG-117",
        severity="error",
        summary=f"the archive of {os.name} has no driver",
        wanted=f"driver_source {wish.source}",
        found=f"no packages of {os.id} {os.version} in the catalog (plugins/module_utils/_catalog/packages.py)",
        remedy="set driver_source to cuda_repo",
        source=names.PRECOMPILED,
    )


def _no_kind(wish: DriverWish, os: OsRelease, flavour: str) -> Finding:
    kind = "compiled" if wish.precompiled == "true" else "DKMS packages of"
    return Finding(
        id="GPU-PKG-120",
        severity="error",
        summary=f"{wish.source} has no {kind} {flavour} kernel modules for {os.name}",
        wanted=f"driver_precompiled {wish.precompiled}",
        found=f"branch {wish.branch}, {flavour}: {'DKMS' if wish.precompiled == 'true' else 'compiled modules'} only",
        remedy="set driver_precompiled to auto",
        source=names.PRECOMPILED,
    )


def find_transitional(wish: DriverWish, os: OsRelease) -> tuple[Finding, ...]:
    """A distribution keeps the names of a former branch, whose packages bring another one."""
    row = names.transition_of(os.id, os.version, branch=wish.branch, source=wish.source)
    if row is None:
        return ()
    return (
        Finding(
            id="GPU-PKG-140",
            severity="error",
            summary=f"packages of branch {row.former} in the archive of {os.name} only bring branch {row.present}",
            wanted=f"driver_branch {row.former} (driver_source {wish.source})",
            found=f"transitional packages, whose only content is a dependency on those of {row.present}",
            remedy=f"set driver_branch to '{row.present}', or driver_source to cuda_repo",
            source=row.source,
        ),
    )


def find_repository_package(package: str, packages: Mapping[str, Package], wish: DriverWish) -> tuple[Finding, ...]:
    """A distribution keeps its driver in a repository of its own, which a package of its own switches on."""
    if not package or package in packages:
        return ()
    return (
        Finding(
            id="GPU-PKG-123",
            severity="error",
            summary=f"{package}, which configures the distribution's repository of the driver, is not installed",
            wanted=f"package {package} (driver_source {wish.source})",
            found="no such package (rpm -qa)",
            remedy=f"dnf install {package}",
            source=names.PRECOMPILED,
        ),
    )


def find_no_lock(
    repository: Repository | DnfRepository | None, wanted: PackageSet, manager: str
) -> tuple[Finding, ...]:
    """Our lock under dnf is a part of our repository's file, and here is none of ours."""
    if manager != distributions.DNF or repository is not None or not wanted.hold:
        return ()
    return (
        Finding(
            id="GPU-PKG-125",
            severity="info",
            summary="nothing keeps the version of the driver: it comes from a repository that is not ours",
            wanted="driver_hold",
            found="no repository file of ours to put excludes into (driver_source distro)",
            remedy="set driver_hold to false, or keep it yourself: dnf versionlock add 'nvidia-driver*'",
            source="dnf.conf(5), excludepkgs",
        ),
    )


def find_no_compiled(chosen: DriverSet, kernel: Kernel, *, severity: str) -> tuple[Finding, ...]:
    """Nobody offers compiled modules for the running kernel."""
    return (
        Finding(
            id="GPU-PKG-016",
            severity=severity,
            summary=f"no repository of this host has compiled kernel modules for {kernel.release} that fit the driver",
            wanted=f"package {chosen.kernel}" if chosen.compiled else "compiled modules (driver_precompiled auto)",
            found="none on offer" if chosen.compiled else f"none on offer; DKMS builds them ({chosen.kernel})",
            remedy="set driver_precompiled to false, or boot a kernel that there are modules for",
            source="github.com/NVIDIA/yum-packaging-precompiled-kmod#28",
        ),
    )


def find_other_release(error: str, wanted: PackageSet) -> tuple[Finding, ...]:
    """The newest compiled modules are of an older release than the newest driver, and want exactly theirs."""
    found = OLDER_MODULES.search(error)
    if found is None:
        return ()
    return (
        Finding(
            id="GPU-PKG-128",
            severity="error",
            summary=f"the compiled kernel modules on offer are of release {found['release']}, the driver is newer",
            wanted=f"modules and driver of one release of {wanted.prefix}",
            found=found.group(0).strip(),
            remedy=f"set driver_version to '{found['release']}', or driver_precompiled to false",
            source="packages.ubuntu.com, linux-modules-nvidia-595-server-open in noble-updates",
        ),
    )


def find_taken_along(
    resolution: Resolution, chosen: DriverSet, host: DriverHost, *, manager: str
) -> tuple[Finding, ...]:
    """Packages that are none of a driver would have to go for the driver."""
    own = (*names.OWN_PATTERNS, *names.OTHER_SOURCES.get(host.os.id, ()))
    others = [n for n in resolution.remove if n not in chosen.in_the_way and not matches(n, own)]
    if not others:
        return ()
    return (
        Finding(
            id="GPU-PKG-124",
            severity="error",
            summary=f"{others[0]} would be removed for the driver",
            wanted="a driver beside what else is installed",
            found=f"{WORDS[manager].simulate} would remove {', '.join(others)}",
            remedy=f"decide about it first: {WORDS[manager].remove} {' '.join(others)}",
            source=WORDS[manager].manual,
        ),
    )


def place_of(repository: Repository | DnfRepository | None, os: OsRelease) -> str:
    """Where packages come from, for messages."""
    return repository.uri if repository else f"the repositories of {os.name}"


def find_unresolved(
    wanted: PackageSet, kernel_package: str, answer: Answer, place: str, kernel: Kernel, *, manager: str = "apt"
) -> Finding:
    """The package manager refuses: headers that no repository has, a version that is not there, or its own words."""
    words, names_asked = WORDS[manager], (*wanted.names, *wanted.others)
    headers = [n for n in wanted.others if n in answer.resolution.error and matches(n, names.HEADERS_PATTERNS)]
    if headers:
        return _no_headers(headers[0], kernel)
    if not offers(answer.versions, wanted.prefix):
        return find_wrong_version(wanted, kernel_package, answer, place)
    if str(answer.resolution.failure.get("missing") or "").startswith("dkms"):
        return _no_dkms(answer.resolution.error)
    parts = [n for n in wanted.others if n in OWN_VERSION and n in answer.resolution.error]
    if parts:
        return find_not_offered(parts[0], place)
    asked = f"{', '.join(names_asked)} {wanted.prefix} from {place}"
    said = " / ".join(answer.resolution.error.splitlines())
    return find_failure(answer.resolution.failure, wanted=asked, found=said) or Finding(
        id="GPU-PKG-107",
        severity="error",
        summary=f"{words.name} cannot install the packages of role {wanted.owner}",
        wanted=asked,
        found=said,
        remedy=f"see it in full: {words.simulate} {' '.join(names_asked)}",
        source=words.manual,
    )


def _no_dkms(said: str) -> Finding:
    return Finding(
        id="GPU-PKG-126",
        severity="error",
        summary="no repository of this host has dkms, which builds the kernel modules",
        wanted="a repository with dkms: EPEL for Enterprise Linux",
        found=" / ".join(line.strip() for line in said.splitlines() if line.strip()),
        remedy="enable EPEL (dnf install epel-release), or a mirror of it",
        source="docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (620), preparations",
    )


def offers(versions: Iterable[str], prefix: str) -> bool:
    """Whether one of the versions on offer is of the branch, or is the version, that ``prefix`` names."""
    return any(is_of(v, prefix) or v.startswith(f"{prefix}-") for v in versions)


def find_wrong_version(wanted: PackageSet, kernel_package: str, answer: Answer, place: str) -> Finding:
    """The repository has no such version, or cannot be read at all."""
    offered = ", ".join(answer.versions)
    reason = " / ".join(answer.resolution.error.splitlines())
    option = f"{wanted.owner}_branch" if wanted.prefix.isdigit() else f"{wanted.owner}_version"
    return Finding(
        id="GPU-PKG-104",
        severity="error",
        summary=f"{place} offers no {kernel_package} {wanted.prefix}".rstrip(),
        wanted=f"{option} {wanted.prefix or '(the newest)'}",
        found=f"on offer: {offered}" if offered else f"nothing on offer: {reason or 'the index has no such package'}",
        remedy=f"set {option} to one on offer"
        if offered
        else f"check {wanted.owner}_repository_url, the proxy and the network of the host",
        source="github.com/NVIDIA/ansible-role-nvidia-driver#72",
    )


def _no_headers(package: str, kernel: Kernel) -> Finding:
    return Finding(
        id="GPU-KRN-020",
        severity="error",
        summary=f"no repository of this host has the headers of the running kernel {kernel.release}",
        wanted=f"/lib/modules/{kernel.release}/build, or package {package}",
        found="neither; the running kernel is older than what the repositories keep, or not of this distribution",
        remedy="boot a kernel whose headers can be had, or install them and set driver_kernel_headers to false",
        source="github.com/NVIDIA/ansible-role-nvidia-driver#18",
    )
