# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where packages of the driver come from by their versions and names, and what makes a driver complete.

Private to this collection. A new packager is one row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

INDEX = "package indexes of the named repositories"


@dataclass(frozen=True)
class VersionOrigin:
    """A Debian version (regular expression, searched) and who builds such versions."""

    pattern: str
    origin: str
    source: str
    as_of: str


UBUNTU, CUDA_REPOSITORY, DEBIAN = "ubuntu", "cuda_repo", "debian"

# The first row that fits counts.
VERSION_ORIGINS = (
    VersionOrigin(r"\d+pop\d+", "pop_os", "github.com/NVIDIA/nvidia-docker#1170", "2020-01-31"),
    VersionOrigin(r"lambda", "lambda_stack", INDEX, "2026-11-30"),
    VersionOrigin(r"[~+](?:deb|bpo)\d+", DEBIAN, INDEX, "2026-11-30"),
    VersionOrigin(r"^[\d.]+-[01]ubuntu1$", CUDA_REPOSITORY, INDEX, "2026-11-30"),
    VersionOrigin(r"^\d{3}\.[\d.]+-1$", CUDA_REPOSITORY, INDEX, "2026-11-30"),
    VersionOrigin(r"ubuntu", UBUNTU, INDEX, "2026-11-30"),
    VersionOrigin(r"^\d{3}\.[\d.]+-\d[\d.]*$", DEBIAN, INDEX, "2026-11-30"),
)

# What the C library's version says about the release of a host (packages.debian.org, packages.ubuntu.com, 2026-11-30).
LIBC_RELEASES = {
    "2.27": "ubuntu1804",
    "2.31": "ubuntu2004",
    "2.35": "ubuntu2204",
    "2.39": "ubuntu2404",
}


def origin_of(version: str) -> str | None:
    """Who builds packages with such a version, or None where nothing tells."""
    return next((row.origin for row in VERSION_ORIGINS if re.search(row.pattern, version)), None)


@dataclass(frozen=True)
class DriverPart:
    """Packages (regular expression, whole name) that bring one part that every working driver needs."""

    part: str
    names: str
    source: str
    as_of: str


NAMES = "package indexes of Ubuntu, Debian and the CUDA repository"
LIBRARY, KERNEL, UTILITIES = "library", "kernel", "utilities"
SUFFIX = r"(-\d{3}(-server)?(-open)?)?"

# Debian packages. kernel: the name says how the modules get there, see MODULE_SOURCES.
DEB_PARTS = (
    DriverPart(LIBRARY, rf"libnvidia-compute{SUFFIX}|libcuda1|nvidia-tesla-\d+-libcuda1", NAMES, "2026-11-30"),
    DriverPart(KERNEL, rf"nvidia-dkms(-open)?{SUFFIX}", NAMES, "2026-11-30"),
    DriverPart(KERNEL, r"nvidia-(tesla-(\d+-)?)?(open-)?kernel(-open)?-dkms", NAMES, "2026-11-30"),
    DriverPart(KERNEL, rf"linux-modules-nvidia{SUFFIX}-\d+\.\d.*", NAMES, "2026-11-30"),
    DriverPart(
        UTILITIES, rf"nvidia-utils{SUFFIX}|nvidia-smi|nvidia-tesla-\d+-smi|nvidia-driver-cuda", NAMES, "2026-11-30"
    ),
)
RPM_PARTS = (
    DriverPart(LIBRARY, r"nvidia-driver-cuda-libs|xorg-x11-drv-nvidia-cuda-libs|libcuda.*", NAMES, "2026-11-30"),
    DriverPart(
        KERNEL, r"dkms-nvidia|kmod-nvidia-(open|latest)-dkms|akmod-nvidia.*|kmod-nvidia(-.*)?", NAMES, "2026-11-30"
    ),
    DriverPart(KERNEL, r"nvidia-open-kmod|kmod-nvidia-open.*|cuda-open.*", NAMES, "2026-11-30"),
    DriverPart(UTILITIES, r"nvidia-driver-(cuda|NVML)|xorg-x11-drv-nvidia-cuda", NAMES, "2026-11-30"),
)

# Name of a kernel package (regular expression, beginning) -> how it brings the modules.
MODULE_SOURCES = (
    ("linux-modules-nvidia", "linux-modules-nvidia"),
    (r"akmod-", "akmods"),
    (r"dkms-|.*-dkms", "dkms"),
    (r"kmod-nvidia-\d", "precompiled"),
    (r"kmod-|nvidia-open-kmod|cuda-open", "kmod"),
)


@dataclass(frozen=True)
class RpmSource:
    """A package (regular expression, whole name) that only one repository has."""

    source_name: str
    names: str
    source: str
    as_of: str


RPM_SOURCES = (
    RpmSource(
        "negativo17",
        r"dkms-nvidia|nvidia-driver-NVML|nvidia-libXNVCtrl",
        "github.com/negativo17/nvidia-driver#43",
        "2018-02-28",
    ),
    RpmSource("rpmfusion", r"akmod-nvidia.*|xorg-x11-drv-nvidia.*", "rpmfusion.org/Howto/NVIDIA", "2026-11-30"),
    RpmSource(
        "cuda_repo", r"kmod-nvidia-(open|latest)-dkms|dnf-plugin-nvidia|cuda-drivers|nvidia-open", NAMES, "2026-11-30"
    ),
    RpmSource("cuda_repo", r"kmod-nvidia-\d+\.\d+.*", "github.com/NVIDIA/yum-packaging-precompiled-kmod", "2026-11-30"),
    RpmSource("distribution", r"nvidia-open-kmod|kmod-nvidia-open(-\d.*)?|cuda-open.*", NAMES, "2026-11-30"),
)


@dataclass(frozen=True)
class DriverKind:
    """A package of kernel modules (regular expression, whole name) and what it says about the driver's source.

    ``version_from``: who builds its version (origin_of()), '' for anybody. ``beside``: a package that is installed too,
    '' for none. ``repository``: distro stands for everybody but NVIDIA; ``packager`` says who. ``modules``: how they
    get into the module tree: precompiled, dkms, kmod, akmods.
    """

    names: str
    version_from: str
    beside: str
    repository: str
    packager: str
    modules: str
    source: str
    as_of: str


DISTRO = "distro"
PRECOMPILED, DKMS, KMOD, AKMODS = "precompiled", "dkms", "kmod", "akmods"
KMODS = "github.com/NVIDIA/yum-packaging-precompiled-kmod DISTROS.md"

# The first row that fits counts. Debian and NVIDIA have a package of the same name and mostly the same form of version:
# what only Debian has beside it decides.
DRIVER_KINDS = (
    DriverKind(
        rf"linux-modules-nvidia{SUFFIX}-\d+\.\d.*", "", "", DISTRO, UBUNTU, PRECOMPILED, NAMES, "2026-11-30"
    ),
    DriverKind(r"nvidia-dkms-\d{3}-server(-open)?", "", "", DISTRO, UBUNTU, DKMS, NAMES, "2026-11-30"),
    DriverKind(
        r"nvidia-dkms-\d{3}(-open)?", CUDA_REPOSITORY, "", CUDA_REPOSITORY, "nvidia", DKMS, NAMES, "2026-11-30"
    ),
    DriverKind(r"nvidia-dkms-\d{3}(-open)?", UBUNTU, "", DISTRO, UBUNTU, DKMS, NAMES, "2026-11-30"),
    DriverKind(r"nvidia-dkms-\d{3}(-open)?", "pop_os", "", DISTRO, "pop_os", DKMS, NAMES, "2026-11-30"),
    DriverKind(r"nvidia-dkms-\d{3}(-open)?", "lambda_stack", "", DISTRO, "lambda_stack", DKMS, NAMES, "2026-11-30"),
    DriverKind(r"nvidia-dkms(-open)?", "", "", CUDA_REPOSITORY, "nvidia", DKMS, NAMES, "2026-11-30"),
    DriverKind(r"nvidia-open-kernel-dkms", "", "", DISTRO, DEBIAN, DKMS, NAMES, "2026-11-30"),
    DriverKind(r"nvidia-(tesla|legacy)-.*kernel-dkms", "", "", DISTRO, DEBIAN, DKMS, NAMES, "2026-11-30"),
    DriverKind(r"nvidia-kernel-dkms", "", "nvidia-alternative", DISTRO, DEBIAN, DKMS, NAMES, "2026-11-30"),
    DriverKind(r"nvidia-kernel(-open)?-dkms", "", "", CUDA_REPOSITORY, "nvidia", DKMS, NAMES, "2026-11-30"),
    DriverKind(
        r"kmod-nvidia-(open|latest)-dkms", "", "", CUDA_REPOSITORY, "nvidia", DKMS,
        "github.com/NVIDIA/yum-packaging-dkms-nvidia", "2026-11-30",
    ),
    DriverKind(r"kmod-nvidia-\d+\.\d+[\d.]*-\d.*", "", "", CUDA_REPOSITORY, "nvidia", PRECOMPILED, KMODS, "2026-01-16"),
    DriverKind(r"nvidia-open-kmod", "", "", DISTRO, "almalinux", KMOD, KMODS, "2026-01-16"),
    DriverKind(r"kmod-nvidia-open(-\d.*)?", "", "", DISTRO, "redhat", PRECOMPILED, KMODS, "2026-01-16"),
    DriverKind(r"kmod-nvidia-dc-open.*", "", "", DISTRO, "ciq", KMOD, KMODS, "2026-01-16"),
    DriverKind(r"cuda-open(-hwe)?", "", "", DISTRO, "azurelinux", KMOD, KMODS, "2026-01-16"),
    DriverKind(r"akmod-nvidia.*", "", "", DISTRO, "rpmfusion", AKMODS, "rpmfusion.org/Howto/NVIDIA", "2026-11-30"),
    DriverKind(
        r"dkms-nvidia", "", "", DISTRO, "negativo17", DKMS, "github.com/negativo17/nvidia-driver#43", "2018-02-28"
    ),
)  # fmt: skip

# Names of packages that belong to a driver or to what must have its version, whoever made them.
DRIVER_NAMES = (
    r"nvidia-(?!container|gds|ctk).*", r"libnvidia-(?!container).*", r"libcuda1.*", r"libcudadebugger.*",
    r"libnvcuvid.*", r"libnvoptix.*", r"libnvsdm.*", r"cuda-drivers.*", r"cuda-open.*", r"firmware-nvidia-.*",
    r"xserver-xorg-video-nvidia.*", r"lib(egl|gles|glx)-nvidia.*", r"linux-(modules|objects|signatures)-nvidia-.*",
    r"kmod-nvidia.*", r"akmod-nvidia.*", r"dkms-nvidia", r"xorg-x11-(drv-)?nvidia.*", r"nvlsm", r"nvlink5.*",
    r"gdrdrv-dkms", r"gdrcopy.*", r"dnf-plugin-nvidia",
)  # fmt: skip
