# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what the kernel side of a host is: release, headers, Secure Boot. Private to this collection."""

from __future__ import annotations

import os

from .._plan.facts import Kernel
from .files import HostRoot
from .texts.secure_boot import efi_value

SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def read_kernel(host: HostRoot) -> Kernel:
    """The kernel that runs on the host, or, below another root, the one that its /proc tells of."""
    release = _release(host)
    return Kernel(
        release=release,
        machine=_machine(host),
        headers=bool(release) and host.is_dir(f"/lib/modules/{release}/build"),
        secure_boot=_secure_boot(host),
    )


def _release(host: HostRoot) -> str:
    return os.uname().release if host.root == "/" else host.line("/proc/sys/kernel/osrelease") or ""


def _machine(host: HostRoot) -> str:
    found = None if host.root == "/" else host.line("/proc/sys/kernel/arch")
    return found or os.uname().machine


def _secure_boot(host: HostRoot) -> bool | None:
    """None where the variable is absent or has another form: unknown, not off."""
    value = efi_value(host.data(SECURE_BOOT) or b"")
    return None if value is None else value == 1
