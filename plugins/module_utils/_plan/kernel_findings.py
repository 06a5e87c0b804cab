# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What in the kernel keeps a driver from being loaded. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable

from .._catalog.module_origins import mok_needed
from .facts import Kernel, PciFunction
from .model import Finding
from .modules import ModuleHost


def find_nouveau(gpus: Iterable[PciFunction]) -> tuple[Finding, ...]:
    """Another driver owns a GPU: it cannot be taken away from a running console."""
    owned = [(g.address, g.driver) for g in gpus if g.driver not in (None, "nvidia", "vfio-pci")]
    if not owned:
        return ()
    return (
        Finding(
            id="GPU-KRN-022",
            severity="warning",
            summary=f"the kernel driver {owned[0][1]} owns the GPU at {owned[0][0]}",
            wanted="nvidia, or no driver",
            found=f"{owned[0][1]} (/sys/bus/pci/devices/{owned[0][0]}/driver)",
            remedy="reboot the host: the driver's packages keep that module from loading (driver_reboot: if_required)",
            source="github.com/NVIDIA/ansible-role-nvidia-driver#44",
        ),
    )


def find_secure_boot(kernel: Kernel, module: ModuleHost) -> tuple[Finding, ...]:
    """Secure Boot refuses modules whose key is not enrolled; enrolment needs the console, so it is said before.

    Keys of the distribution are in the kernel or in shim already.
    """
    if not kernel.secure_boot or module.loaded is not None:
        return ()
    signer = module.on_disk.signer if module.on_disk else None
    if mok_needed(signer) is False:
        return ()
    return (
        Finding(
            id="GPU-KRN-021",
            severity="warning",
            summary="Secure Boot is on, so the module loads only when the key that signs it is enrolled",
            wanted="an enrolled key for modules that DKMS builds (/var/lib/dkms/mok.pub)",
            found=f"SecureBoot 1 (efivars), module signed by {signer or 'nobody yet'}",
            remedy="mokutil --import /var/lib/dkms/mok.pub, reboot, and enroll it at the console",
            source="github.com/lcp/mokutil#69",
        ),
    )
