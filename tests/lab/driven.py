# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that has NVIDIA's driver already, installed by apt from the lab's repository, and not by the collection."""

from __future__ import annotations

from .host import Host
from .suites import SUITES

BRANCH = 580  # the last one that drives every architecture from Maxwell on
PACKAGES = ("nvidia-driver-cuda", "nvidia-persistenced")
APT = "DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes"


def add_repository(host: Host) -> None:
    """Makes the lab's CUDA repository one of the host's."""
    from .packages import sources

    sources.give_cuda(host.root, SUITES[host.suite].folder)


def install(
    host: Host, *, kernel: str = "nvidia-kernel-open-dkms", branch: int = BRANCH, more: tuple[str, ...] = ()
) -> None:
    """Installs the newest driver of a branch with the headers of the running kernel, and loads it."""
    add_repository(host)
    wanted = " ".join((*PACKAGES, kernel, *more))
    host.shell(
        f"{APT} update\n"
        f"{APT} install linux-headers-$(uname -r) nvidia-driver-pinning-{branch}\n"
        f"{APT} install {wanted}\n"
        "modprobe nvidia\n"
        "systemctl restart nvidia-persistenced"
    )


def with_hardware(host: Host, profile: str, snapshot: str = "driver") -> None:
    """Boots the host from a snapshot, with the hardware of another profile plugged in."""
    from simulator import hardware

    host.restore(snapshot, [lambda root: hardware.swap(root, profile)])
