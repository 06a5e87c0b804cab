# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides the packages of the NVIDIA Container Toolkit on one host. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._catalog import distributions
from .._catalog.distributions import DNF, distribution_of
from .._catalog.packages import TOOLKIT_PACKAGES, TOOLKIT_PROGRAMS_PACKAGE
from .ask import Answer, Ask
from .driver_wish import WrongOption, read_fingerprint, read_url
from .facts import AptSource, DnfSource, Kernel, OsRelease, Package, Resolution
from .offer_findings import find_unresolved, find_wrong_version, offers
from .package_manager import Change, Removal
from .package_managers import manager_of
from .packages import PackageSet, find_foreign_holds, find_kernel_images, lacking
from .removal_findings import find_needed_by_others, find_staying
from .repository import Repository, find_conflicts
from .repository_dnf import INDEX, DnfRepository, find_dnf_conflicts
from .unsupported_host import find_unsupported
from .versions import upstream_version
from .work import Work, join_work

ROLE = "toolkit"
# Before repositories that say nothing (99, dnf.conf(5)).
PRIORITY = 90
VERSION = re.compile(r"^\d+\.\d+\.\d+(?:~?[a-z]+\.\d+)?(?:-\S+)?$")


@dataclass(frozen=True)
class ToolkitWish:
    """The module's options after the border; ``version`` '' for the newest when it is installed."""

    state: str
    version: str
    package_set: str
    hold: bool
    repository_url: str
    repository_key_url: str
    repository_key_fingerprint: str


@dataclass(frozen=True)
class ToolkitHost:
    """What was read on the host; the fields are those of DriverHost."""

    os: OsRelease
    kernel: Kernel
    packages: Mapping[str, Package]
    files: Mapping[str, str | None]
    key: str | None
    sources: tuple[AptSource, ...]
    owned: tuple[str, ...]
    repositories: tuple[DnfSource, ...] = ()


@dataclass(frozen=True)
class ToolkitDecision:
    """The work, or the question that comes first."""

    work: Work = Work()
    ask: Ask | None = None
    version: str | None = None


def toolkit_wish(params: Mapping[str, Any]) -> ToolkitWish:
    """The wish in a module's parameters. Raises WrongOption."""
    version = (params["version"] or "").strip()
    if version and not VERSION.match(version):
        raise WrongOption(f"version is {version!r}, wanted a toolkit version such as 1.20.0, or empty for the newest")
    return ToolkitWish(
        state=params["state"],
        version=version,
        package_set=params["package_set"],
        hold=params["hold"],
        repository_url=read_url("repository_url", params["repository_url"]),
        repository_key_url=read_url("repository_key_url", params["repository_key_url"]),
        repository_key_fingerprint=read_fingerprint(params["repository_key_fingerprint"]),
    )


def toolkit_repository(wish: ToolkitWish, os: OsRelease, kernel: Kernel) -> Repository | DnfRepository:
    """NVIDIA's repository of the toolkit, one for all releases of a package manager, or the user's copy of it."""
    row, machine = distribution_of(os.id, os.version), distributions.machine_of(kernel.machine)
    key_url = wish.repository_key_url or distributions.TOOLKIT_KEY
    fingerprint = wish.repository_key_fingerprint or distributions.TOOLKIT_KEY_FINGERPRINT
    if row and row.manager == DNF:
        base = wish.repository_url or distributions.TOOLKIT_REPOSITORY_RPM
        # NVIDIA signs the index here, and not the packages. Its CUDA repository has packages of the same names.
        return DnfRepository("toolkit", f"{base}/{kernel.machine}/", key_url, fingerprint, INDEX, PRIORITY)
    architecture = machine.debian if machine else ""
    base = wish.repository_url or distributions.TOOLKIT_REPOSITORY
    return Repository("toolkit", f"{base}/{architecture}/", "/", architecture, key_url, fingerprint)


def toolkit_set(wish: ToolkitWish) -> PackageSet:
    """All packages of the set are asked for: each wants exactly the others' version."""
    names = TOOLKIT_PACKAGES[wish.package_set]
    return PackageSet(ROLE, names, (), TOOLKIT_PACKAGES["full"], wish.version, wish.hold)


def decide_toolkit(wish: ToolkitWish, host: ToolkitHost, *, answer: Answer | None = None) -> ToolkitDecision:
    """Without ``answer`` the decision may be an ``ask``; with it, never."""
    if wish.state == "absent":
        return _absent(wish, host, answer)
    repository = toolkit_repository(wish, host.os, host.kernel)
    found = find_unsupported(host.os, host.kernel) + _conflicts(repository, host)
    if found:
        return ToolkitDecision(Work(findings=found))
    wanted, manager = toolkit_set(wish), manager_of(host.os)
    missing = lacking(wanted, host.packages)
    needs_key = host.key != repository.key_fingerprint
    if answer is None and (missing or needs_key):
        return ToolkitDecision(
            ask=Ask(
                kind="install",
                packages=missing,
                repository=repository,
                pin=manager.pin(wanted, repository),
                kernel_package=TOOLKIT_PROGRAMS_PACKAGE,
                needs_key=needs_key,
                manager=manager.name,
                prefix=wanted.prefix,
                of_set=wanted.names,
            )
        )
    return _present(host, wanted, repository, answer, missing)


def _conflicts(repository: Repository | DnfRepository, host: ToolkitHost) -> tuple[Any, ...]:
    if isinstance(repository, DnfRepository):
        return find_dnf_conflicts(repository, host.repositories)
    return find_conflicts(repository, host.sources)


def _present(
    host: ToolkitHost,
    wanted: PackageSet,
    repository: Repository | DnfRepository,
    answer: Answer | None,
    missing: tuple[str, ...],
) -> ToolkitDecision:
    resolution = answer.resolution if answer else Resolution({})
    installed = host.packages.get(TOOLKIT_PROGRAMS_PACKAGE)
    version = upstream_version(
        resolution.install.get(TOOLKIT_PROGRAMS_PACKAGE) or (installed.version if installed else "")
    )
    problems = _problems(host, wanted, repository, answer) if answer and missing else ()
    if problems:
        return ToolkitDecision(Work(findings=problems), version=version or None)
    change = Change(
        wanted=wanted,
        repository=repository,
        packages=host.packages,
        files=host.files,
        owned=host.owned,
        resolution=resolution,
        key=answer.key if answer else None,
        version=version,
        disrupts="nothing",
    )
    return ToolkitDecision(manager_of(host.os).plan_install(change), version=version)


def _problems(
    host: ToolkitHost, wanted: PackageSet, repository: Repository | DnfRepository, answer: Answer
) -> tuple[Any, ...]:
    resolution, package, program = answer.resolution, TOOLKIT_PROGRAMS_PACKAGE, manager_of(host.os).name
    if resolution.error:
        return (find_unresolved(wanted, package, answer, repository.uri, host.kernel, manager=program),)
    found = resolution.install.get(package) or (host.packages[package].version if package in host.packages else "")
    if wanted.prefix and not offers((found,), wanted.prefix):
        return (find_wrong_version(wanted, package, answer, repository.uri),)
    changing = (*resolution.install, *resolution.remove)
    blocked = find_kernel_images(resolution, manager=program)
    return blocked + find_foreign_holds(changing, host.packages, host.owned, manager=program)


def _absent(wish: ToolkitWish, host: ToolkitHost, answer: Answer | None) -> ToolkitDecision:
    """Takes away what the record names and is the toolkit's, and nothing else."""
    if not host.owned:
        return ToolkitDecision()
    repository, manager = toolkit_repository(wish, host.os, host.kernel), manager_of(host.os)
    ours = tuple(n for n in sorted(host.packages) if f"package:{n}" in host.owned)
    asked = tuple(n for n in ours if n in TOOLKIT_PACKAGES["full"])
    if asked and answer is None:
        return ToolkitDecision(ask=Ask("remove", asked, repository, manager=manager.name))
    resolution = answer.resolution if answer else Resolution({})
    removable = tuple(n for n in resolution.remove if n in asked)
    removal = Removal(ROLE, (repository,), host.packages, host.files, host.owned, removable)
    problems = find_needed_by_others(answer, ours, manager=manager.name) if answer else ()
    problems += find_staying(ours, asked, manager=manager.name)
    return ToolkitDecision(join_work([Work(findings=problems), manager.plan_remove(removal)]))
