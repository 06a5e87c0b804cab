# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads whether the kernel's own driver can take the GPUs: loaded, blacklisted, in the initramfs. Private to this
collection.
"""

from __future__ import annotations

import re
from typing import Any

from .command import Run
from .files import HostRoot
from .modprobe_files import read_modprobe

# nova_core is its successor in kernels of 2026.
DRIVERS = ("nouveau", "nova_core")
# What keeps one of them out on the kernel's command line (dracut.cmdline(7), kernel-parameters).
ARGUMENT = re.compile(
    r"\b(?:rd\.driver\.blacklist|modprobe\.blacklist|module_blacklist)=\S*\b(?:nouveau|nova[_-]core)\b"
)

# Program that lists an initramfs, and where its distribution puts the file.
LISTERS = (
    ("/usr/bin/lsinitramfs", "/boot/initrd.img-{release}"),
    ("/usr/bin/lsinitrd", "/boot/initramfs-{release}.img"),
)
NO_PROGRAM = "neither lsinitramfs nor lsinitrd is installed, or the kernel has no initramfs in /boot"
OTHER_ROOT = "not asked: another root is read"


def read_nouveau(host: HostRoot, run: Run, loaded: set[str], *, release: str) -> dict[str, Any]:
    """Keys of gpu_info's ``driver``: ``nouveau``, ``nouveau_in_initramfs`` (None: see ``unknown``),
    ``nouveau_blacklist`` (files and arguments of the kernel). ``release``: of the running kernel.
    """
    blacklisted = [line.path for line in read_modprobe(host) if line.command == "blacklist" and line.module in DRIVERS]
    inside, reason = _in_initramfs(host, run, release)
    return {
        "nouveau": any(name in loaded for name in DRIVERS),
        "nouveau_in_initramfs": inside,
        "nouveau_blacklist": {
            "files": list(dict.fromkeys(blacklisted)),
            "kernel_arguments": ARGUMENT.findall(host.line("/proc/cmdline") or ""),
        },
        "unknown": {"nouveau_in_initramfs": reason} if reason else {},
    }


def _in_initramfs(host: HostRoot, run: Run, release: str) -> tuple[bool | None, str]:
    """Listing unpacks the whole file, so it is done only where the kernel has such a module at all."""
    folders = [f"/lib/modules/{release}/kernel/drivers/gpu/{name}" for name in ("drm/nouveau", "nova-core")]
    if not any(host.names(folder) for folder in folders):
        return False, ""
    if host.root != "/":
        return None, OTHER_ROOT
    for program, form in LISTERS:
        image = form.format(release=release)
        if host.is_executable(program) and host.is_file(image):
            status, text, errors = run([program, image])
            if status != 0:
                return None, f"{program} {image} ended with {status}: {errors.strip()}"
            return bool(re.search(r"/(?:nouveau|nova[_-]core)\.ko", text)), ""
    return None, NO_PROGRAM
