# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads whose kernel modules the running kernel takes: lockdown, forced signatures, machine owner keys. Private to this
collection.
"""

from __future__ import annotations

import re
from typing import Any

from .command import Run
from .files import HostRoot
from .texts.secure_boot import read_enrolled_keys, read_key_test

LOCKDOWN = "/sys/kernel/security/lockdown"
FORCED = "/sys/module/module/parameters/sig_enforce"
EFI = "/sys/firmware/efi"

# Keys with which DKMS signs: its own, and that of shim on Ubuntu (dkms 3.0.4, framework.conf).
DKMS_KEYS = ("/var/lib/dkms/mok.pub", "/var/lib/shim-signed/mok/MOK.der")

NO_EFI = "the host was not booted by EFI"
OTHER_ROOT = "not asked: another root is read"
NO_MOKUTIL = "mokutil is not installed"


def read_module_trust(host: HostRoot, run: Run) -> dict[str, Any]:
    """gpu_info's ``driver.module_trust``; ``unknown`` has the reason for each key that is None."""
    reason = _no_keys(host)
    enrolled = None if reason else _keys(run, "--list-enrolled")
    pending = None if reason else _keys(run, "--list-new")
    reason = reason or (NO_MOKUTIL if enrolled is None else "")
    keys = [path for path in DKMS_KEYS if host.is_file(path)]
    found = {
        "lockdown": _lockdown(host.line(LOCKDOWN)),
        "signatures_forced": _flag(host.line(FORCED)),
        "enrolled_keys": enrolled,
        "pending_keys": pending if enrolled is not None else None,
        "dkms_keys": [{"path": path, "enrolled": None if reason else _is_enrolled(run, path)} for path in keys],
    }
    reasons = {
        "lockdown": f"no {LOCKDOWN}: securityfs is not mounted, or the kernel has no lockdown",
        "signatures_forced": f"no {FORCED}: the kernel was built without module signatures",
        "enrolled_keys": reason,
        "pending_keys": reason,
    }
    return {**found, "unknown": {name: why for name, why in reasons.items() if found[name] is None}}


def _no_keys(host: HostRoot) -> str:
    if not host.is_dir(EFI):
        return NO_EFI
    return OTHER_ROOT if host.root != "/" else ""


def _keys(run: Run, option: str) -> list[str] | None:
    """Names of keys; None where mokutil is not there. An empty list has another exit status than a full one."""
    status, text, errors = run(["mokutil", option])
    return None if status in (126, 127) else read_enrolled_keys(f"{text}\n{errors}")["names"]


def _is_enrolled(run: Run, path: str) -> bool | None:
    _status, text, errors = run(["mokutil", "--test-key", path])
    return read_key_test(f"{text}\n{errors}")["enrolled"]


def _lockdown(text: str | None) -> str | None:
    """The word in brackets of ``none [integrity] confidentiality``."""
    found = re.search(r"\[(\w+)\]", text or "")
    return found.group(1) if found else None


def _flag(text: str | None) -> bool | None:
    return {"Y": True, "1": True, "N": False, "0": False}.get(text or "")
