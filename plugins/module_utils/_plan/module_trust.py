# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether Secure Boot would take the module that DKMS builds. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .._catalog.module_origins import mok_needed
from .facts import DriverVersion, Kernel
from .model import Finding


@dataclass(frozen=True)
class ModuleTrust:
    """What was read where Secure Boot is on.

    ``asked``: mokutil answers. ``keys``: public keys with which DKMS signs on this host -> whether they are enrolled.
    ``own_key``: DKMS is told to sign with another key, of which nothing is known.
    """

    asked: bool = False
    keys: Mapping[str, bool | None] = field(default_factory=dict)
    own_key: bool = False


def is_trusted(kernel: Kernel, on_disk: DriverVersion | None, trust: ModuleTrust) -> bool | None:
    """Whether the kernel would load the module that is, or will be, on disk; None where nobody can say before.

    All keys that DKMS makes have one name, so an enrolled name is no proof: the file is compared.
    """
    if not kernel.secure_boot or (on_disk is not None and mok_needed(on_disk.signer) is False):
        return True
    if not trust.asked or trust.own_key:
        return None
    known = [enrolled for enrolled in trust.keys.values() if enrolled is not None]
    if trust.keys and not known:
        return None
    return any(known)


def find_untrusted(trust: ModuleTrust, on_disk: DriverVersion | None, *, severity: str) -> Finding:
    """The module is, or will be, signed with a key that the firmware does not know."""
    path = next(iter(trust.keys), "/var/lib/dkms/mok.pub")
    signer = on_disk.signer if on_disk else None
    made = f"{path} is not enrolled (mokutil --test-key)" if trust.keys else "DKMS makes a key with its first build"
    return Finding(
        id="GPU-KRN-021",
        severity=severity,
        summary="Secure Boot is on, and the key that signs the driver's modules is not enrolled",
        wanted=f"{path} among the enrolled keys (mokutil --list-enrolled)",
        found=f"SecureBoot 1 (efivars); {made}; module signed by {signer or 'nobody yet'}",
        remedy=f"mokutil --import {path}, reboot, Enroll MOK at the console, and run again (docs/guides/driver.md)",
        source="github.com/lcp/mokutil#69",
    )
