# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides the packages of the NVIDIA Container Toolkit on one host. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._catalog import distributions
from .._catalog.distributions import APT
from .._catalog.packages import TOOLKIT_PACKAGES, TOOLKIT_PROGRAMS_PACKAGE
from .ask import Answer, Ask
from .driver_findings import find_needed_by_others, find_unresolved, find_unsupported, find_wrong_version, offers
from .driver_wish import WrongOption, read_fingerprint, read_url
from .facts import AptSource, Kernel, OsRelease, Package, Resolution
from .packages import PackageSet, find_foreign_holds, find_kernel_images, lacking
from .packages_apt import (
    pin_path,
    pin_version,
    plan_holds,
    plan_no_packages,
    plan_packages,
    plan_pin,
    render_pin,
)
from .repository import Repository, find_conflicts, plan_no_repository, plan_repository
from .versions import upstream_version
from .work import Work, join_work

ROLE = "toolkit"
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


def toolkit_repository(wish: ToolkitWish, kernel: Kernel) -> Repository:
    """NVIDIA's repository of the toolkit, one for all Debian releases, or the user's copy of it."""
    machine = distributions.machine_of(kernel.machine)
    architecture = machine.debian if machine else ""
    base = wish.repository_url or distributions.TOOLKIT_REPOSITORY
    return Repository(
        name="toolkit",
        uri=f"{base}/{architecture}/",
        suite="/",
        architecture=architecture,
        key_url=wish.repository_key_url or distributions.TOOLKIT_KEY,
        key_fingerprint=wish.repository_key_fingerprint or distributions.TOOLKIT_KEY_FINGERPRINT,
    )


def toolkit_set(wish: ToolkitWish) -> PackageSet:
    """All packages of the set are asked for: each wants exactly the others' version."""
    names = TOOLKIT_PACKAGES[wish.package_set]
    return PackageSet(ROLE, names, (), TOOLKIT_PACKAGES["full"], wish.version, wish.hold)


def decide_toolkit(wish: ToolkitWish, host: ToolkitHost, *, answer: Answer | None = None) -> ToolkitDecision:
    """Without ``answer`` the decision may be an ``ask``; with it, never."""
    if wish.state == "absent":
        return _absent(wish, host, answer)
    repository = toolkit_repository(wish, host.kernel)
    found = find_unsupported(host.os, host.kernel, managers=(APT,)) + find_conflicts(repository, host.sources)
    if found:
        return ToolkitDecision(Work(findings=found))
    wanted = toolkit_set(wish)
    missing = lacking(wanted, host.packages)
    needs_key = host.key != repository.key_fingerprint
    if answer is None and (missing or needs_key):
        pin = pin_version(replace(wanted, hold=False), wish.version)
        text = render_pin(wanted.patterns, pin) if pin else ""
        return ToolkitDecision(
            ask=Ask("install", missing, repository, text, TOOLKIT_PROGRAMS_PACKAGE, needs_key=needs_key)
        )
    return _present(host, wanted, repository, answer, missing)


def _present(
    host: ToolkitHost, wanted: PackageSet, repository: Repository, answer: Answer | None, missing: tuple[str, ...]
) -> ToolkitDecision:
    resolution = answer.resolution if answer else Resolution({})
    installed = host.packages.get(TOOLKIT_PROGRAMS_PACKAGE)
    version = upstream_version(
        resolution.install.get(TOOLKIT_PROGRAMS_PACKAGE) or (installed.version if installed else "")
    )
    problems = _problems(host, wanted, repository, answer) if answer and missing else ()
    if problems:
        return ToolkitDecision(Work(findings=problems), version=version or None)
    changing = (*resolution.install, *resolution.remove)
    # What changes was released before, so it has to be held again.
    free = {n: replace(p, held=p.held and n not in changing) for n, p in host.packages.items()}
    pin = host.files.get(pin_path(wanted.owner))
    work = join_work(
        [
            plan_repository(repository, host.files, key=answer.key if answer else None),
            plan_pin(wanted, version, found=pin, owned=host.owned),
            plan_packages(wanted, host.packages, resolution=resolution, disrupts="nothing"),
            plan_holds(wanted.names, free, hold=wanted.hold, ours=host.owned),
        ]
    )
    return ToolkitDecision(work, version=version)


def _problems(host: ToolkitHost, wanted: PackageSet, repository: Repository, answer: Answer) -> tuple[Any, ...]:
    resolution, package = answer.resolution, TOOLKIT_PROGRAMS_PACKAGE
    if resolution.error:
        return (find_unresolved(wanted, package, answer, repository.uri, host.kernel),)
    found = resolution.install.get(package) or (host.packages[package].version if package in host.packages else "")
    if wanted.prefix and not offers((found,), wanted.prefix):
        return (find_wrong_version(wanted, package, answer, repository.uri),)
    changing = (*resolution.install, *resolution.remove)
    return find_kernel_images(resolution) + find_foreign_holds(changing, host.packages, host.owned)


def _absent(wish: ToolkitWish, host: ToolkitHost, answer: Answer | None) -> ToolkitDecision:
    """Takes away what the record names, and nothing else."""
    if not host.owned:
        return ToolkitDecision()
    repository, wanted = toolkit_repository(wish, host.kernel), toolkit_set(wish)
    ours = tuple(n for n in sorted(host.packages) if f"package:{n}" in host.owned)
    asked = tuple(n for n in ours if n in TOOLKIT_PACKAGES["full"])
    if asked and answer is None:
        return ToolkitDecision(ask=Ask("remove", asked, repository))
    resolution = answer.resolution if answer else Resolution({})
    removable = tuple(n for n in resolution.remove if n in ours)
    pin = host.files.get(pin_path(wanted.owner))
    parts = [
        Work(findings=find_needed_by_others(answer, ours) if answer else ()),
        plan_no_packages(wanted, host.packages, removable=removable, pin=pin, owned=host.owned),
        plan_no_repository(repository, host.files, host.owned),
    ]
    return ToolkitDecision(join_work(parts))
