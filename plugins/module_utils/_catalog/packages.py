# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of packages by distribution, branch and flavour. Private to this collection.

A rename by NVIDIA is one row: close the old row with ``last_branch`` and add the new one.
"""

from __future__ import annotations

from dataclasses import dataclass

GUIDE = "docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (590, 615, 620)"
ARCHIVE = "Debian archive index"


@dataclass(frozen=True)
class DriverPackages:
    """The packages to ask for. ``first_branch`` and ``last_branch`` are inclusive, None is open-ended.

    ``names`` may hold ``{branch}``. ``kernel`` is the one that brings the kernel modules: its version is the driver's.
    """

    distribution: str
    first_branch: int | None
    last_branch: int | None
    flavour: str
    package_set: str
    kernel: str
    names: tuple[str, ...]
    source: str
    as_of: str


# compute: what containers and CUDA programs need. full: the same and everything for screens.
DRIVER_PACKAGES = (
    DriverPackages(
        "debian", None, None, "open", "compute", "nvidia-kernel-open-dkms",
        ("nvidia-driver-cuda", "nvidia-kernel-open-dkms"), GUIDE, "2026-11-30",
    ),
    DriverPackages(
        "debian", None, None, "proprietary", "compute", "nvidia-kernel-dkms",
        ("nvidia-driver-cuda", "nvidia-kernel-dkms"), GUIDE, "2026-11-30",
    ),
    DriverPackages(
        "debian", None, 579, "open", "full", "nvidia-kernel-open-dkms",
        ("nvidia-open-{branch}", "nvidia-kernel-open-dkms"), GUIDE, "2026-11-30",
    ),
    DriverPackages(
        "debian", 580, None, "open", "full", "nvidia-kernel-open-dkms",
        ("nvidia-open", "nvidia-kernel-open-dkms"), GUIDE, "2026-11-30",
    ),
    DriverPackages(
        "debian", None, 579, "proprietary", "full", "nvidia-kernel-dkms",
        ("cuda-drivers-{branch}", "nvidia-kernel-dkms"), GUIDE, "2026-11-30",
    ),
    DriverPackages(
        "debian", 580, None, "proprietary", "full", "nvidia-kernel-dkms",
        ("cuda-drivers", "nvidia-kernel-dkms"), GUIDE, "2026-11-30",
    ),
)  # fmt: skip

# Both bring nvidia.ko, so they exclude each other (driver installation guide, kernel modules).
KERNEL_PACKAGES = {"open": "nvidia-kernel-open-dkms", "proprietary": "nvidia-kernel-dkms"}

# Names under which packages of the driver appear in NVIDIA's repository: what a pin and the holds are about.
DRIVER_PATTERNS = (
    "nvidia-*", "libnvidia-*", "libcuda1*", "libcudadebugger*", "libnvcuvid*", "libnvoptix*", "cuda-drivers*",
    "firmware-nvidia-*", "xserver-xorg-video-nvidia*", "libegl-nvidia*", "libgles-nvidia*", "libglx-nvidia*",
)  # fmt: skip

# Found installed beside our preferences file they fight over the branch.
PINNING_PATTERN = "nvidia-driver-pinning-*"

# Names that only Debian's own archive has: found installed, the driver came from there (driver-installation by Debian).
DEBIAN_ARCHIVE_PATTERNS = (
    "nvidia-open-kernel-dkms", "nvidia-open-kernel-support", "nvidia-alternative", "nvidia-legacy-check",
    "nvidia-tesla-*",
)  # fmt: skip

# Left by NVIDIA's .run installer.
RUNFILE_PATHS = ("/usr/bin/nvidia-uninstall", "/usr/bin/nvidia-installer")

PERSISTENCED_PACKAGE = "nvidia-persistenced"
PERSISTENCED_UNIT = "nvidia-persistenced.service"
MODPROBE_PACKAGE = "nvidia-modprobe"

HEADERS = {"debian": "linux-headers-{release}"}
HEADERS_PATTERNS = ("linux-headers-*",)
KERNEL_IMAGE_PATTERNS = ("linux-image-*", "kernel-core*", "kernel-default*")

# The four packages of the NVIDIA container toolkit need exactly each other's version.
# base is enough for hosts whose engines inject through CDI (nvidia-ctk, nvidia-cdi-hook, nvidia-container-runtime).
TOOLKIT_PACKAGES = {
    "base": ("nvidia-container-toolkit-base",),
    "full": (
        "nvidia-container-toolkit", "nvidia-container-toolkit-base",
        "libnvidia-container-tools", "libnvidia-container1",
    ),
}  # fmt: skip
TOOLKIT_PROGRAMS_PACKAGE = "nvidia-container-toolkit-base"


def other_flavour_packages(distribution: str, *, branch: int, flavour: str) -> tuple[str, ...]:
    """Packages that bring or want the other kernel modules: they have to go where ``flavour`` comes."""
    rows = [r for r in DRIVER_PACKAGES if r.distribution == distribution]
    wanted = {name for r in rows if r.flavour == flavour for name in r.names}
    others = (
        name.format(branch=branch) for r in rows if r.flavour != flavour for name in r.names if name not in wanted
    )
    return tuple(dict.fromkeys(others))


def driver_packages(distribution: str, *, branch: int, flavour: str, package_set: str) -> DriverPackages | None:
    """The row for a distribution, branch and flavour, or None where there is none."""
    for row in DRIVER_PACKAGES:
        begun = row.first_branch is None or branch >= row.first_branch
        ended = row.last_branch is not None and branch > row.last_branch
        key = (row.distribution, row.flavour, row.package_set)
        if key == (distribution, flavour, package_set) and begun and not ended:
            return row
    return None
