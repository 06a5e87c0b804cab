# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of one version set, whatever installs them. Private to this collection."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .._catalog.packages import KERNEL_IMAGE_PATTERNS
from .facts import Package, Resolution
from .model import Finding, Step
from .package_words import WORDS
from .versions import satisfies, upstream_version

# An unattended upgrade at first boot may hold the package manager's lock for minutes (ansible/ansible#51663).
LOCK_SECONDS = 300


@dataclass(frozen=True)
class PackageSet:
    """What is wanted of one set of packages that share a version.

    ``names`` are asked for and have the set's version; ``others`` (headers) are wanted in any version, or in that which
    follows their name. ``patterns`` are the names that belong to the set, ``prefix`` what their versions begin with (a
    branch or an exact version).
    ``along``: installed packages that change together with the set, because nothing else makes them follow.
    """

    owner: str
    names: tuple[str, ...]
    others: tuple[str, ...]
    patterns: tuple[str, ...]
    prefix: str
    hold: bool
    along: tuple[str, ...] = ()


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a package's name is one of the patterns."""
    return any(fnmatch.fnmatchcase(name, p) for p in patterns)


def lacking(wanted: PackageSet, packages: Mapping[str, Package]) -> tuple[str, ...]:
    """The packages that are absent, half installed, or of another version than wanted or than the rest of the set."""
    right = tuple(n for n in wanted.names if _is_right(packages.get(n), wanted.prefix))
    versions = {upstream_version(packages[n].version) for n in right}
    named = wanted.names if len(versions) > 1 else tuple(n for n in wanted.names if n not in right)
    there = {n for n, p in packages.items() if p.installed}
    there |= {f"{n}-{p.version}" for n, p in packages.items() if p.installed}
    return named + tuple(n for n in wanted.others if n not in there)


def _is_right(package: Package | None, prefix: str) -> bool:
    if package is None or not package.installed:
        return False
    return is_of(package.version, prefix)


def is_of(version: str, prefix: str) -> bool:
    """Whether a package's version is what ``prefix`` names (see PackageSet); every one is where it names nothing."""
    whole = version.partition(":")[2] or version
    return satisfies(version, prefix) or whole == prefix or upstream_version(version).startswith(f"{prefix}.")


def find_foreign_holds(
    names: Iterable[str], packages: Mapping[str, Package], owned: Iterable[str], *, manager: str = "apt"
) -> tuple[Finding, ...]:
    """Packages that have to change and are held by somebody else: their hold is a decision that is not ours to undo."""
    record = set(owned)
    held = [n for n in names if n in packages and packages[n].held and f"hold:{n}" not in record]
    if not held:
        return ()
    return (
        Finding(
            id="GPU-PKG-008",
            severity="error",
            summary=f"{held[0]} has to change, and somebody holds it",
            wanted="no hold, or one of ours (/var/lib/gpu-fleet/owned)",
            found=f"{WORDS[manager].held} of {', '.join(held)}, version {packages[held[0]].version}",
            remedy=f"release it: {WORDS[manager].unhold} {' '.join(held)}",
            source="github.com/NVIDIA/deepops#1123",
        ),
    )


def find_kernel_images(resolution: Resolution, *, manager: str = "apt") -> tuple[Finding, ...]:
    """A kernel among what would be installed: this collection never installs one."""
    images, words = [n for n in resolution.install if matches(n, KERNEL_IMAGE_PATTERNS)], WORDS[manager]
    if not images:
        return ()
    return (
        Finding(
            id="GPU-PKG-108",
            severity="error",
            summary=f"{words.name} would install the kernel {images[0]} together with the driver",
            wanted="no kernel as a side effect",
            found=f"{words.simulate}: {', '.join(images)}",
            remedy=f"decide about the kernel first: {words.install} {images[0]}, reboot, and run again",
            source="github.com/NVIDIA/ansible-role-nvidia-driver#18",
        ),
    )


def install_step(name: str, found: Package | None, version: str, disrupts: str) -> Step:
    """The step for one package; ``version`` '' where it keeps the one it has."""
    before = None if found is None else f"{found.version} ({found.state})"
    reason = (
        "it is not installed" if found is None else "another version is wanted, or its installation was not finished"
    )
    return Step("install", name, before, version or (found.version if found else None), reason, disrupts)


def packages_of(steps: Iterable[Step]) -> dict[str, list[str]]:
    """Names of packages by what happens to them: install, remove, hold, unhold."""
    rows = tuple(steps)
    return {
        action: [s.target for s in rows if s.action == action] for action in ("install", "remove", "hold", "unhold")
    }
