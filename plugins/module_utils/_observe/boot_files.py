# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the kernel's own drivers for GPUs, and every initramfs. Private to this collection."""

from __future__ import annotations

from .._plan.kernel_files import BLACKLIST_PATH, DRACUT, OTHER_DRIVERS, UPDATE_INITRAMFS, BootFiles, BootImage
from .files import HostRoot

MODULES = "/lib/modules"
# Debian and Ubuntu, then the Enterprise Linux family.
IMAGES = ("/boot/initrd.img-{release}", "/boot/initramfs-{release}.img")
TOOLS = {
    "/usr/sbin/update-initramfs": UPDATE_INITRAMFS,
    "/usr/bin/dracut": DRACUT,
    "/usr/sbin/dracut": DRACUT,
}


def read_boot_files(host: HostRoot) -> BootFiles:
    """What plan_blacklist() decides by."""
    releases = [r for r in host.names(MODULES) if host.exists(f"{MODULES}/{r}/modules.dep")]
    written = host.stat(BLACKLIST_PATH)
    return BootFiles(
        drivers=_drivers(host, releases),
        images=tuple(i for r in releases for i in _images(host, r)),
        tool=next((tool for path, tool in TOOLS.items() if host.exists(path)), ""),
        blacklist=host.text(BLACKLIST_PATH),
        written=written.st_mtime if written is not None else None,
    )


def _drivers(host: HostRoot, releases: list[str]) -> tuple[str, ...]:
    """Those that depmod lists for a kernel: what it does not list cannot be loaded by a device's alias."""
    lists = [host.text(f"{MODULES}/{r}/modules.dep") or "" for r in releases]
    return tuple(n for n in OTHER_DRIVERS if any(f"/{n}.ko" in text or f"/{_dashed(n)}.ko" in text for text in lists))


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _images(host: HostRoot, release: str) -> list[BootImage]:
    paths = (path.format(release=release) for path in IMAGES)
    found = ((path, host.stat(path)) for path in paths)
    return [BootImage(release, path, stat.st_mtime) for path, stat in found if stat is not None]
