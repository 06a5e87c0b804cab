# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps other kernel drivers away from the GPUs: blacklist, and the initramfs that has to have it.

Private to this collection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .model import Step
from .work import Call, Work, join_work, remove_file, write_file

BLACKLIST_PATH = "/etc/modprobe.d/gpu-fleet-nouveau.conf"
HEADER = "# Managed by gpu.fleet; removed with the role that wrote it.\n"

# The kernel's own drivers for NVIDIA GPUs; nova_core since kernels of 2026 (driver installation guide 615).
OTHER_DRIVERS = ("nouveau", "nova_core")

UPDATE_INITRAMFS, DRACUT = "update-initramfs", "dracut"
COMMANDS = {
    UPDATE_INITRAMFS: ("update-initramfs", "-u", "-k", "{release}"),
    DRACUT: ("dracut", "--force", "--kver", "{release}"),
}


@dataclass(frozen=True)
class BootImage:
    """The initramfs of a kernel, and when it was made (seconds since the epoch)."""

    release: str
    path: str
    changed: float


@dataclass(frozen=True)
class BootFiles:
    """What was read. ``drivers``: those of OTHER_DRIVERS that an installed kernel has.

    ``images``: of installed kernels; ``tool``: what makes them, '' for none; ``blacklist``: text of our file, None
    where it is absent; ``written``: when it was.
    """

    drivers: tuple[str, ...] = ()
    images: tuple[BootImage, ...] = ()
    tool: str = ""
    blacklist: str | None = None
    written: float | None = None


def render_blacklist(drivers: Iterable[str]) -> str:
    """The file for modprobe.d(5): no driver is loaded by the device's alias, and nouveau sets no mode if it is."""
    names = tuple(drivers)
    more = "options nouveau modeset=0\n" if "nouveau" in names else ""
    return HEADER + "".join(f"blacklist {n}\n" for n in names) + more


def plan_blacklist(found: BootFiles, *, wanted: bool, owned: Iterable[str]) -> Work:
    """The blacklist where a kernel has such a driver, and every initramfs made again that is older than it."""
    if not wanted or not found.drivers:
        return plan_no_blacklist(found, owned)
    text = render_blacklist(found.drivers)
    reason = f"{found.drivers[0]} would take the GPU before the NVIDIA driver does"
    write = write_file(BLACKLIST_PATH, text, found=found.blacklist, action="blacklist", reason=reason)
    old = [i for i in found.images if write.steps or found.written is None or i.changed < found.written]
    return join_work(
        [write, _rebuild(old, found.tool, "drivers in the initramfs are loaded before the blacklist is read")]
    )


def plan_no_blacklist(found: BootFiles, owned: Iterable[str]) -> Work:
    """Takes our blacklist away, out of every initramfs too."""
    if f"file:{BLACKLIST_PATH}" not in set(owned):
        return Work()
    reason = "nothing keeps the kernel's own driver away any more"
    remove = remove_file(BLACKLIST_PATH, found=found.blacklist, action="forget_blacklist", reason=reason)
    images = found.images if remove.steps else ()
    return join_work([remove, _rebuild(images, found.tool, "the initramfs still has the blacklist")])


def _rebuild(images: Iterable[BootImage], tool: str, reason: str) -> Work:
    if tool not in COMMANDS:
        return Work()
    rows = tuple(images)
    return Work(
        steps=tuple(Step("rebuild_initramfs", i.path, "older than the blacklist", "made again", reason) for i in rows),
        calls=tuple(
            Call("ansible.builtin.command", {"argv": [w.format(release=i.release) for w in COMMANDS[tool]]})
            for i in rows
        ),
    )
