# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says where a host's driver came from. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable

from .._catalog.packages import DEBIAN_ARCHIVE_PATTERNS, DRIVER_PATTERNS, KERNEL_PACKAGES
from .packages import matches


def driver_source(packages: Iterable[str], *, runfile: bool, container: bool, loaded: bool) -> str | None:
    """``none``, ``distro``, ``cuda_repo``, ``runfile``, ``container``, or ``mixed`` where there is more than one.

    None where a driver is loaded that nothing on the host accounts for.
    """
    names = list(packages)
    found = []
    if any(n in KERNEL_PACKAGES.values() for n in names):
        found.append("cuda_repo")
    if any(matches(n, DEBIAN_ARCHIVE_PATTERNS) for n in names):
        found.append("distro")
    if runfile:
        found.append("runfile")
    if container:
        found.append("container")
    if len(found) > 1:
        return "mixed"
    return found[0] if found else None if loaded else "none"


def driver_packages(packages: Iterable[str]) -> list[str]:
    """The names among ``packages`` that belong to a driver, whoever made them."""
    patterns = (*DRIVER_PATTERNS, *DEBIAN_ARCHIVE_PATTERNS)
    return sorted(n for n in packages if matches(n, patterns) and not n.startswith("nvidia-container"))
