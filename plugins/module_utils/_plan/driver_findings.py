# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about hosts, packages and kernels that role driver meets. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .._catalog import branches, distributions
from .._catalog import packages as names
from .._catalog.gpus import first_release
from .._catalog.module_origins import mok_needed
from .ask import Answer
from .facts import Kernel, OsRelease, Package, PciFunction
from .flavour import name_of
from .model import Finding
from .modules import ModuleHost
from .package_failure import find_failure
from .packages import PackageSet, matches
from .repository import Repository
from .versions import branch_number, is_older


def find_unsupported(os: OsRelease, kernel: Kernel) -> tuple[Finding, ...]:
    """A distribution or machine that this release does not install on."""
    found: tuple[Finding, ...] = ()
    if not distributions.installs_on(os.id, os.version):
        found += (
            _unsupported(
                "GPU-PKG-101", f"operating system {os.name or 'without /etc/os-release'}", f"{os.id} {os.version}"
            ),
        )
    if distributions.machine_of(kernel.machine) is None:
        found += (_unsupported("GPU-PKG-102", f"machine {kernel.machine}", kernel.machine),)
    return found


def _unsupported(identifier: str, what: str, found: str) -> Finding:
    return Finding(
        id=identifier,
        severity="error",
        summary=f"unsupported {what}: this release installs nothing on it",
        wanted=distributions.supported(),
        found=f"{found.strip() or 'nothing'} (/etc/os-release, uname -m)",
        remedy="take the host out of the play (--limit), or give it one of these systems",
        source="plugins/module_utils/_catalog/distributions.py",
    )


def find_foreign(
    packages: Mapping[str, Package], runfile: str | None, module: ModuleHost, owned: Iterable[str]
) -> tuple[Finding, ...]:
    """A driver that came another way, and preferences that are not ours."""
    found = []
    if runfile:
        found.append(_runfile(runfile))
    archive = [n for n in packages if matches(n, names.DEBIAN_ARCHIVE_PATTERNS)]
    if archive:
        found.append(_archive(archive))
    pinning = [n for n in packages if matches(n, (names.PINNING_PATTERN,))]
    if pinning:
        found.append(_pinning(pinning[0]))
    kernel = [n for n in names.KERNEL_PACKAGES.values() if n in packages]
    if not found and not kernel and module.loaded and not any(o.startswith("package:") for o in owned):
        found.append(_preinstalled(module))
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


def _archive(found: Sequence[str]) -> Finding:
    return Finding(
        id="GPU-PKG-006",
        severity="error",
        summary="this host has the driver of Debian's own archive",
        wanted="packages of NVIDIA's CUDA repository only",
        found=f"installed: {', '.join(found)}",
        remedy=f"remove it first: apt-get autoremove {' '.join(found)}",
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
        wanted="no driver, or one of NVIDIA's CUDA repository",
        found=f"{version} in /proc/driver/nvidia/version; none of {', '.join(names.KERNEL_PACKAGES.values())} in dpkg",
        remedy="remove that driver and reboot; source preinstalled comes with a later release",
        source="github.com/NVIDIA/gpu-operator#126",
    )


def find_unresolved(
    wanted: PackageSet, kernel_package: str, answer: Answer, repository: Repository, kernel: Kernel
) -> Finding:
    """apt refuses: headers that no repository has, a version that is not there, or its own words."""
    headers = [n for n in wanted.others if n in answer.resolution.error]
    if headers:
        return _no_headers(headers[0], kernel)
    if not offers(answer.versions, wanted.prefix):
        return find_wrong_version(wanted, kernel_package, answer, repository)
    asked = f"{', '.join((*wanted.names, *wanted.others))} {wanted.prefix} from {repository.uri}"
    said = " / ".join(answer.resolution.error.splitlines())
    return find_failure(answer.resolution.failure, wanted=asked, found=said) or Finding(
        id="GPU-PKG-107",
        severity="error",
        summary=f"apt cannot install the packages of role {wanted.owner}",
        wanted=asked,
        found=said,
        remedy=f"see it in full: apt-get --simulate install {' '.join((*wanted.names, *wanted.others))}",
        source="apt-get(8)",
    )


def offers(versions: Iterable[str], prefix: str) -> bool:
    """Whether one of the versions on offer is of the branch, or is the version, that ``prefix`` names."""
    return any(not prefix or v.startswith((f"{prefix}.", f"{prefix}-")) or v == prefix for v in versions)


def find_wrong_version(wanted: PackageSet, kernel_package: str, answer: Answer, repository: Repository) -> Finding:
    """The repository has no such version, or cannot be read at all."""
    offered = ", ".join(answer.versions)
    reason = " / ".join(answer.resolution.error.splitlines())
    option = f"{wanted.owner}_branch" if wanted.prefix.isdigit() else f"{wanted.owner}_version"
    return Finding(
        id="GPU-PKG-104",
        severity="error",
        summary=f"{repository.uri} offers no {kernel_package} {wanted.prefix}".rstrip(),
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
            remedy="reboot the host: the driver's packages keep that module from loading (driver_allow_reboot: true)",
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


def find_needed_by_others(answer: Answer, ours: Sequence[str]) -> tuple[Finding, ...]:
    """Packages that would have to go with ours although we did not bring them."""
    if answer.resolution.error:
        return (_no_removal(answer.resolution.error),)
    others = [n for n in answer.taken if n not in ours]
    if not others:
        return ()
    return (
        Finding(
            id="GPU-PKG-111",
            severity="error",
            summary=f"{others[0]} needs packages that would be removed",
            wanted="nothing on this host that needs these packages",
            found=f"apt-get --simulate remove would take {', '.join(others)} too",
            remedy=f"remove it first: apt-get remove {' '.join(others)}",
            source="apt-get(8)",
        ),
    )


def _no_removal(error: str) -> Finding:
    return Finding(
        id="GPU-PKG-107",
        severity="error",
        summary="apt cannot say what the removal would do",
        wanted="an answer of apt-get --simulate autoremove",
        found=" / ".join(error.splitlines()),
        remedy="repair the package database: dpkg --configure -a; apt-get --fix-broken install",
        source="apt-get(8)",
    )
