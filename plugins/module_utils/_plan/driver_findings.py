# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about hosts, packages and kernels that role driver meets. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from .._catalog import branches, distributions
from .._catalog import packages as names
from .._catalog.components import BUILD_LIMITS, COMPONENT_PACKAGES
from .._catalog.gpus import first_release
from .._catalog.module_origins import mok_needed
from .ask import Answer
from .component_findings import OWN_VERSION, find_not_offered
from .driver_host import DriverHost
from .driver_set import DriverSet, kernel_packages, of_other_sources
from .driver_wish import CUDA_REPO, DriverWish
from .facts import Kernel, OsRelease, Package, PciFunction, Resolution
from .flavour import name_of
from .model import Finding
from .modules import ModuleHost
from .package_failure import find_failure
from .package_words import WORDS
from .packages import PackageSet, is_of, matches
from .repository import Repository
from .repository_dnf import DnfRepository
from .versions import branch_number, is_older, upstream_version
from .words import some

# Open modules of Ubuntu want one release of what goes with them; binary ones that or a later one.
OLDER_MODULES = re.compile(r"Depends: nvidia-kernel-common-\S+ \(<= (?P<release>\d+(?:\.\d+)+)[^)]*\)[^\n]*")
BOTH = (distributions.APT, distributions.DNF)


def find_unsupported(os: OsRelease, kernel: Kernel, *, managers: Sequence[str] = BOTH) -> tuple[Finding, ...]:
    """A distribution or machine that this release does not install on."""
    found: tuple[Finding, ...] = ()
    row = distributions.distribution_of(os.id, os.version)
    if row is None or row.manager not in managers:
        what = f"operating system {os.name or 'without /etc/os-release'}"
        found += (_unsupported("GPU-PKG-101", what, f"{os.id} {os.version}", managers),)
    if distributions.machine_of(kernel.machine) is None:
        found += (_unsupported("GPU-PKG-102", f"machine {kernel.machine}", kernel.machine, managers),)
    return found


def _unsupported(identifier: str, what: str, found: str, managers: Sequence[str]) -> Finding:
    return Finding(
        id=identifier,
        severity="error",
        summary=f"unsupported {what}: this release installs nothing on it",
        wanted=distributions.supported(managers),
        found=f"{found.strip() or 'nothing'} (/etc/os-release, uname -m)",
        remedy="take the host out of the play (--limit), or give it one of these systems",
        source="plugins/module_utils/_catalog/distributions.py",
    )


def find_foreign(host: DriverHost, *, any_source: bool) -> tuple[Finding, ...]:
    """A driver that came another way, and preferences that are not ours.

    Who names a source has decided about packages of another one: they make way. Without that they are refused.
    """
    found = []
    if host.runfile:
        found.append(_runfile(host.runfile))
    archive = of_other_sources(host.os, CUDA_REPO, host.packages) if any_source else ()
    if archive:
        found.append(_archive(archive, host.os))
    pinning = [n for n in host.packages if matches(n, (names.PINNING_PATTERN,))]
    if pinning:
        found.append(_pinning(pinning[0]))
    ours = any(o.startswith("package:") for o in host.owned)
    if not found and host.module.loaded and not ours and not kernel_packages(host.os, host.packages):
        found.append(_preinstalled(host.module))
    return tuple(found)


def _runfile(path: str) -> Finding:
    return Finding(
        id="GPU-PKG-011",
        severity="error",
        summary="NVIDIA's .run installer put a driver on this host",
        wanted="a driver from one source: packages",
        found=path,
        remedy="remove it first: nvidia-uninstall --silent",
        source="github.com/GoogleCloudPlatform/compute-gpu-installation#10",
    )


def _archive(found: Sequence[str], os: OsRelease) -> Finding:
    return Finding(
        id="GPU-PKG-006",
        severity="error",
        summary=f"this host has a driver that is not of NVIDIA's CUDA repository ({os.name})",
        wanted="a decision about it, or packages of NVIDIA's CUDA repository only",
        found=f"installed: {', '.join(found)}",
        remedy="set driver_source to cuda_repo to replace it, or to distro to keep the distribution's",
        source="github.com/canonical/tdx#370",
    )


def _pinning(package: str) -> Finding:
    return Finding(
        id="GPU-PKG-105",
        severity="error",
        summary=f"{package} is installed, and its preferences fight ours over the version",
        wanted="one preferences file about the driver: /etc/apt/preferences.d/gpu-fleet-driver",
        found=f"package {package}",
        remedy=f"remove it: apt-get remove {package}",
        source="docs.nvidia.com/datacenter/tesla/driver-installation-guide/version-locking",
    )


def _preinstalled(module: ModuleHost) -> Finding:
    version = module.loaded.version if module.loaded else ""
    return Finding(
        id="GPU-PKG-110",
        severity="error",
        summary=f"a driver {version} is loaded that no package of this host brought",
        wanted="no driver, or one that packages brought",
        found=f"{version} in /proc/driver/nvidia/version; no package of kernel modules is installed",
        remedy="set driver_source to preinstalled to keep it, or remove that driver and reboot",
        source="github.com/NVIDIA/gpu-operator#126",
    )


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


def find_build_limits(versions: Mapping[str, str], kernel: Kernel) -> tuple[Finding, ...]:
    """Modules beside the driver that do not compile on the running kernel. ``versions``: name of a package -> what is
    about to be installed.
    """
    rows = [
        (limit, name, versions[name])
        for limit in BUILD_LIMITS
        for part in COMPONENT_PACKAGES
        for name in part.names
        if part.component == limit.component and name in versions
    ]
    return tuple(
        Finding(
            id="GPU-PKG-141",
            severity="error",
            summary=f"{name} {upstream_version(version)} does not compile on kernel {kernel.release}",
            wanted=f"{limit.below} or later from kernel {limit.kernel} on",
            found=f"{version}, about to be installed",
            remedy=f"set driver_components.{limit.component} to false, or bring a newer {name} into the repository",
            source=limit.source,
        )
        for limit, name, version in dict.fromkeys(rows)
        if is_older(version, limit.below) and not is_older(kernel.release.partition("-")[0], limit.kernel)
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


def find_known_bad(version: str, gpus: Iterable[PciFunction] = ()) -> tuple[Finding, ...]:
    """A release that somebody warns of, on a host with these GPUs."""
    return tuple(
        Finding(
            id="GPU-PKG-112",
            severity="warning",
            summary=f"driver {version} has a known fault: {row.what}",
            wanted=f"{row.instead} or later" if row.instead else "a release without it; none is known",
            found=f"{version}, installed or about to be",
            remedy=f"set driver_version to '{row.instead}'" if row.instead else f"follow {row.source}",
            source=row.source,
        )
        for row in branches.known_bad(version, [int(g.device, 16) for g in gpus])
    )


def find_too_early(version: str, gpus: Iterable[PciFunction]) -> tuple[Finding, ...]:
    """A release of a branch that drives the GPU, but only since a later release."""
    branch = branch_number(version)
    firsts = [(g, first_release(int(g.device, 16), branch)) for g in gpus] if branch else []
    return tuple(
        Finding(
            id="GPU-KRN-104",
            severity="error",
            summary=f"driver {version} does not know {name_of(gpu)}",
            wanted=f"{first} or later of branch {branch}",
            found=f"{version}, installed or about to be",
            remedy=f"set driver_version to '{first}' or leave it empty for the newest of the branch",
            source="README of github.com/NVIDIA/open-gpu-kernel-modules, supported GPUs by release",
        )
        for gpu, first in firsts
        if first and is_older(version, first)
    )


def find_nouveau(gpus: Iterable[PciFunction]) -> tuple[Finding, ...]:
    """Another driver owns a GPU: it cannot be taken away from a running console."""
    owned = [(g.address, g.driver) for g in gpus if g.driver not in (None, "nvidia", "vfio-pci")]
    if not owned:
        return ()
    return (
        Finding(
            id="GPU-KRN-022",
            severity="warning",
            summary=f"the kernel driver {owned[0][1]} owns the GPU at {owned[0][0]}",
            wanted="nvidia, or no driver",
            found=f"{owned[0][1]} (/sys/bus/pci/devices/{owned[0][0]}/driver)",
            remedy="reboot the host: the driver's packages keep that module from loading (driver_reboot: if_required)",
            source="github.com/NVIDIA/ansible-role-nvidia-driver#44",
        ),
    )


def find_secure_boot(kernel: Kernel, module: ModuleHost) -> tuple[Finding, ...]:
    """Secure Boot refuses modules whose key is not enrolled; enrolment needs the console, so it is said before.

    Keys of the distribution are in the kernel or in shim already.
    """
    if not kernel.secure_boot or module.loaded is not None:
        return ()
    signer = module.on_disk.signer if module.on_disk else None
    if mok_needed(signer) is False:
        return ()
    return (
        Finding(
            id="GPU-KRN-021",
            severity="warning",
            summary="Secure Boot is on, so the module loads only when the key that signs it is enrolled",
            wanted="an enrolled key for modules that DKMS builds (/var/lib/dkms/mok.pub)",
            found=f"SecureBoot 1 (efivars), module signed by {signer or 'nobody yet'}",
            remedy="mokutil --import /var/lib/dkms/mok.pub, reboot, and enroll it at the console",
            source="github.com/lcp/mokutil#69",
        ),
    )


def find_needed_by_others(answer: Answer, ours: Sequence[str], *, manager: str = "apt") -> tuple[Finding, ...]:
    """Packages that would have to go with ours although we did not bring them."""
    words = WORDS[manager]
    if answer.resolution.error:
        return (_no_removal(answer.resolution.error, manager),)
    others = [n for n in answer.taken if n not in ours]
    if not others:
        return ()
    return (
        Finding(
            id="GPU-PKG-111",
            severity="error",
            summary=f"{others[0]} needs packages that would be removed",
            wanted="nothing on this host that needs these packages",
            found=f"{words.simulate_removal} would take {', '.join(others)} too",
            remedy=f"remove it first: {words.remove} {' '.join(others)}",
            source=words.manual,
        ),
    )


def find_staying(ours: Sequence[str], removed: Sequence[str], *, manager: str = "apt") -> tuple[Finding, ...]:
    """What came along and stays: compilers or perl may by now be used by something that the package manager does not
    know of, so only a person can say whether they may go.
    """
    words = WORDS[manager]
    stays = [n for n in ours if n not in removed]
    if not stays:
        return ()
    return (
        Finding(
            id="GPU-PKG-127",
            severity="info",
            summary=f"{len(stays)} packages that came along stay: {some(stays)}",
            wanted="nothing but the role's own packages is removed",
            found=f"{', '.join(stays)} (our record, package database)",
            remedy=f"where nothing of yours uses them: {words.remove} {' '.join(stays)}",
            source=words.manual,
        ),
    )


def _no_removal(error: str, manager: str) -> Finding:
    words = WORDS[manager]
    return Finding(
        id="GPU-PKG-107",
        severity="error",
        summary=f"{words.name} cannot say what the removal would do",
        wanted=f"an answer of {words.simulate_removal}",
        found=" / ".join(error.splitlines()),
        remedy=f"repair the package database: {words.repair}",
        source=words.manual,
    )
