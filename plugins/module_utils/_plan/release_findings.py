# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Releases of a driver that do not fit the kernel or the GPUs, or do harm. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .._catalog import branches
from .._catalog.components import BUILD_LIMITS, COMPONENT_PACKAGES
from .._catalog.gpus import first_release
from .facts import Kernel, PciFunction
from .flavour import name_of
from .model import Finding
from .versions import branch_number, is_older, upstream_version


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
