# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says why a file system takes no more, and what to do. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

FULL, QUOTA, READ_ONLY = "full", "quota", "read-only"
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
# Less than that is as good as nothing for packages.
NEARLY_NOTHING = 64 << 20


@dataclass(frozen=True)
class FileSystem:
    """Where it is mounted, and in bytes what is free and how large it is; None where that is not known. The same of
    inodes, of which some file systems count none.
    """

    mount: str
    free: int | None = None
    size: int | None = None
    free_inodes: int | None = None


def size_text(number: int) -> str:
    """Bytes in the largest unit that gives at least one of it."""
    value, unit = float(number), 0
    while value >= 1024 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {UNITS[unit]}" if unit == 0 or value >= 10 else f"{value:.1f} {UNITS[unit]}"


def cannot_write(path: str, reason: str, place: FileSystem, *, needed: int = 0) -> str:
    """Why the file or folder ``path`` cannot be written, with ``needed`` bytes, and the remedy."""
    if reason == READ_ONLY:
        return (
            f"{path} cannot be written: {place.mount} is mounted read-only. Remedy: see why: "
            f"journalctl -k -g remount; then: mount -o remount,rw {place.mount}"
        )
    need = f"it needs {size_text(needed)}, " if needed else ""
    if reason == QUOTA:
        return f"{path} cannot be written: {need}the quota on {place.mount} is used up. Remedy: see it: quota -vs"
    if place.free_inodes == 0:
        return (
            f"{path} cannot be written: {place.mount} has no inode left for a file. Remedy: see where most are: "
            f"du --inodes -xd3 {place.mount} | sort -n | tail"
        )
    return f"{path} cannot be written: {need}{_free(place)}. Remedy: make room there: {look(place.mount)}"


def packages_do_not_fit(failure: Mapping[str, Any], places: Iterable[FileSystem]) -> str:
    """The same for a package manager, which may write in several places: ``failure`` is its error with ``needed`` (in
    its own words) and ``path`` where it told them.
    """
    rows = list(places)
    full = [p for p in rows if p.free_inodes == 0 or (p.free is not None and p.free < NEARLY_NOTHING)] or rows
    need = f", {failure['needed']} are needed" if failure.get("needed") else ""
    at = f" for {failure['path']}" if failure.get("path") else ""
    found = "; ".join(_free(place) for place in full)
    where = " ".join(place.mount for place in full) or "/var /usr /boot"
    told = f"a file system is full{at}{need}" + (f": {found}" if found else "")
    return f"{told}. Remedy: make room: {look(where)}; fetched packages can go: apt-get clean, dnf clean packages"


def look(mounts: str) -> str:
    """The command that shows what fills them."""
    return f"du -xhd2 {mounts} | sort -h | tail"


def _free(place: FileSystem) -> str:
    if place.free_inodes == 0:
        return f"{place.mount} has no inode left"
    if place.free is None or place.size is None:
        return f"{place.mount} is full"
    return f"{place.mount} has {size_text(place.free)} of {size_text(place.size)} free"
