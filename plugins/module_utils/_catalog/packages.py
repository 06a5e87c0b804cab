# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the driver's packages by distribution, source, branch and flavour. Private to this collection.

A rename is one row: close the old row with ``last_branch`` and add the new one.
Packages beside the driver (fabric manager, GDS ...) are in components.py, headers in kernel_packages.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .distributions import distribution_of
from .kernel_packages import kernel_words

GUIDE = "docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (590, 615, 620)"
ARCHIVE = "Debian archive index"
UBUNTU_ARCHIVE = (
    "packages.ubuntu.com; ubuntu.com/server/docs nvidia-drivers-installation; ubuntu-drivers-common 0.10.10"
)
MODULES = "github.com/NVIDIA/cuda-repo-management genmodules.py; github.com/NVIDIA/yum-packaging-nvidia-driver"
PRECOMPILED = "github.com/NVIDIA/yum-packaging-precompiled-kmod DISTROS.md, OCI.md"
AMAZON = "docs.aws.amazon.com/linux/al2023 release notes (its repository of NVIDIA's packages)"

CUDA_REPO, DISTRO = "cuda_repo", "distro"
OPEN, PROPRIETARY = "open", "proprietary"
COMPUTE, FULL = "compute", "full"

# 620 has no proprietary kernel modules (driver installation guide 620); what 615 has is not written down.
LAST_PROPRIETARY = 619

# Names of systems are folders of the CUDA repository (_catalog/distributions.py).
DEBIAN = ("debian12", "debian13")
UBUNTU = ("ubuntu2204", "ubuntu2404", "ubuntu2604")
STREAMS = ("rhel9", "amzn2023")
PLAIN_RPM = ("rhel10",)


@dataclass(frozen=True)
class DriverPackages:
    """The packages to ask for on ``systems`` from ``repository`` (cuda_repo or distro).

    ``first_branch`` and ``last_branch`` are inclusive, None is open-ended. ``kernel`` brings the kernel modules.
    ``names`` have the driver's version, ``others`` are wanted too and have versions of their own. ``version_of``: the
    one whose version is the driver's. ``follow`` brings the modules of later kernels. ``persistenced`` brings the
    daemon. ``stream``: of dnf module nvidia-driver, '' where there are none. ``ids``: only these of os-release,
    () for all. ``repository_package``: has to be installed before, it configures the repository.

    Rows may hold ``{branch}``, ``{kernel}`` (as uname -r), ``{kernel_build}`` (the same without distribution and
    machine) and ``{kernel_flavour}``. A ``*`` stands for the rest of a version.
    """

    systems: tuple[str, ...]
    repository: str
    first_branch: int | None
    last_branch: int | None
    flavour: str
    package_set: str
    kernel: str
    names: tuple[str, ...]
    source: str
    as_of: str
    precompiled: bool = False
    others: tuple[str, ...] = ()
    version_of: str = ""
    follow: str = ""
    persistenced: str = "nvidia-persistenced"
    stream: str = ""
    ids: tuple[str, ...] = ()
    repository_package: str = ""


def _debian_cuda(flavour: str, kernel: str, whole: str, last: int | None) -> tuple[DriverPackages, ...]:
    """NVIDIA's repository for Debian: whole sets have the branch in their names until 575."""
    former = (f"{whole}-{{branch}}", kernel)
    return (
        DriverPackages(
            DEBIAN, CUDA_REPO, None, last, flavour, COMPUTE, kernel,
            ("nvidia-driver-cuda", kernel), GUIDE, "2026-11-30",
        ),
        DriverPackages(DEBIAN, CUDA_REPO, None, 579, flavour, FULL, kernel, former, GUIDE, "2026-11-30"),
        DriverPackages(DEBIAN, CUDA_REPO, 580, last, flavour, FULL, kernel, (whole, kernel), GUIDE, "2026-11-30"),
    )  # fmt: skip


def _debian_archive(system: str, branch: int, flavour: str, kernel: str) -> tuple[DriverPackages, ...]:
    """Debian's own archive has one branch a release (2026-11-30); -open-kernel- is its order of words."""
    daemon = "nvidia-persistenced"
    compute = (kernel, "libcuda1", "libnvidia-ml1", "nvidia-smi", "firmware-nvidia-gsp")
    return (
        DriverPackages(
            (system,), DISTRO, branch, branch, flavour, COMPUTE, kernel, compute, ARCHIVE, "2026-11-30",
            others=("nvidia-modprobe", daemon), persistenced=daemon,
        ),
        DriverPackages(
            (system,), DISTRO, branch, branch, flavour, FULL, kernel, ("nvidia-driver", *compute), ARCHIVE,
            "2026-11-30", others=("nvidia-modprobe", daemon), persistenced=daemon,
        ),
    )  # fmt: skip


def _ubuntu_cuda(flavour: str, mark: str, whole: str, last: int | None) -> tuple[DriverPackages, ...]:
    """NVIDIA's repository for Ubuntu: names with the branch until 580, none since 590."""
    former, present = f"nvidia-dkms-{{branch}}{mark}", f"nvidia-dkms{mark}"
    branched = (f"nvidia-headless-no-dkms-{{branch}}{mark}", former, "nvidia-utils-{branch}")
    daemon = "nvidia-compute-utils-{branch}"
    return (
        DriverPackages(
            UBUNTU, CUDA_REPO, None, 579, flavour, COMPUTE, former, branched, GUIDE, "2026-11-30", persistenced=daemon
        ),
        DriverPackages(UBUNTU, CUDA_REPO, 580, 589, flavour, COMPUTE, former, branched, GUIDE, "2026-11-30"),
        DriverPackages(
            UBUNTU, CUDA_REPO, 590, last, flavour, COMPUTE, present,
            (f"nvidia-headless-no-dkms{mark}", "libnvidia-compute", present), GUIDE, "2026-11-30",
        ),
        DriverPackages(
            UBUNTU, CUDA_REPO, None, 579, flavour, FULL, former, (f"{whole}-{{branch}}", former), GUIDE, "2026-11-30",
            persistenced=daemon,
        ),
        DriverPackages(
            UBUNTU, CUDA_REPO, 580, 589, flavour, FULL, former, (f"{whole}-{{branch}}", former), GUIDE, "2026-11-30"
        ),
        DriverPackages(
            UBUNTU, CUDA_REPO, 590, last, flavour, FULL, present, (whole, f"nvidia-driver{mark}", present), GUIDE,
            "2026-11-30",
        ),
    )  # fmt: skip


def _ubuntu_archive(flavour: str, mark: str, last: int | None) -> tuple[DriverPackages, ...]:
    """Ubuntu's archive, the line for servers: modules compiled and signed by Canonical, or DKMS."""
    line = "{branch}-server"
    library, daemon = f"libnvidia-compute-{line}", f"nvidia-compute-utils-{line}"
    modules, dkms = f"linux-modules-nvidia-{line}{mark}", f"nvidia-dkms-{line}{mark}"
    sets = {
        COMPUTE: (f"nvidia-headless-no-dkms-{line}{mark}", f"nvidia-utils-{line}", library),
        FULL: (f"nvidia-driver-{line}{mark}", library),
    }
    rows = []
    for package_set, names in sets.items():
        rows += [
            DriverPackages(
                UBUNTU, DISTRO, 535, last, flavour, package_set, f"{modules}-{{kernel}}", names, UBUNTU_ARCHIVE,
                "2026-11-30", precompiled=True, others=(f"{modules}-{{kernel}}", f"{modules}-{{kernel_flavour}}"),
                version_of=library, follow=f"{modules}-{{kernel_flavour}}", persistenced=daemon,
            ),
            DriverPackages(
                UBUNTU, DISTRO, 535, last, flavour, package_set, dkms, (*names, dkms), UBUNTU_ARCHIVE, "2026-11-30",
                persistenced=daemon,
            ),
        ]  # fmt: skip
    return tuple(rows)


def _rpm(flavour: str, kernel: str, whole: str, stream: str, last: int | None) -> tuple[DriverPackages, ...]:
    """NVIDIA's repository for dnf: a stream is a branch on EL 9 and Amazon Linux; EL 10 has none and begins at 580."""
    compute, full = ("nvidia-driver-cuda", kernel), (whole, "nvidia-driver", "nvidia-driver-cuda", kernel)
    rows = [
        (systems, first, package_set, names, stream if systems is STREAMS else "")
        for systems, first in ((STREAMS, None), (PLAIN_RPM, 580))
        for package_set, names in ((COMPUTE, compute), (FULL, full))
    ]
    return tuple(
        DriverPackages(
            systems, CUDA_REPO, first, last, flavour, package_set, kernel, names, MODULES, "2026-11-30", stream=of
        )
        for systems, first, package_set, names, of in rows
    )


def _rpm_signed(
    ids: tuple[str, ...], kernel: str, package: str, source: str, repository_package: str = ""
) -> tuple[DriverPackages, ...]:
    """Open modules that an Enterprise Linux builds and signs itself; NVIDIA's packages beside them."""
    sets = {COMPUTE: ("nvidia-driver-cuda",), FULL: ("nvidia-driver", "nvidia-driver-cuda")}
    return tuple(
        DriverPackages(
            ("rhel9", "rhel10"), DISTRO, 570, None, OPEN, package_set, kernel, (*names, kernel), source, "2026-11-30",
            precompiled=True, version_of="nvidia-driver-cuda", follow=package, ids=ids,
            repository_package=repository_package,
        )
        for package_set, names in sets.items()
    )  # fmt: skip


# compute: what containers and CUDA programs need. full: the same and everything for screens.
DRIVER_PACKAGES = (
    *_debian_cuda(OPEN, "nvidia-kernel-open-dkms", "nvidia-open", None),
    *_debian_cuda(PROPRIETARY, "nvidia-kernel-dkms", "cuda-drivers", LAST_PROPRIETARY),
    *_debian_archive("debian12", 535, OPEN, "nvidia-open-kernel-dkms"),
    *_debian_archive("debian12", 535, PROPRIETARY, "nvidia-kernel-dkms"),
    *_debian_archive("debian13", 550, OPEN, "nvidia-open-kernel-dkms"),
    *_debian_archive("debian13", 550, PROPRIETARY, "nvidia-kernel-dkms"),
    *_ubuntu_cuda(OPEN, "-open", "nvidia-open", None),
    *_ubuntu_cuda(PROPRIETARY, "", "cuda-drivers", LAST_PROPRIETARY),
    *_ubuntu_archive(OPEN, "-open", None),
    *_ubuntu_archive(PROPRIETARY, "", LAST_PROPRIETARY),
    *_rpm(OPEN, "kmod-nvidia-open-dkms", "nvidia-open", "{branch}-open", None),
    *_rpm(PROPRIETARY, "kmod-nvidia-latest-dkms", "cuda-drivers", "{branch}-dkms", LAST_PROPRIETARY),
    # NVIDIA compiles proprietary modules only; the stream without a mark has nothing else (genmodules.py).
    *(
        DriverPackages(
            ("rhel9",), CUDA_REPO, None, LAST_PROPRIETARY, PROPRIETARY, package_set,
            "kmod-nvidia-{branch}.*-{kernel_build}", (*names, "kmod-nvidia-{branch}.*-{kernel_build}"), PRECOMPILED,
            "2026-01-16", precompiled=True, version_of="nvidia-driver-cuda", stream="{branch}",
        )
        for package_set, names in ((COMPUTE, ("nvidia-driver-cuda",)), (FULL, ("nvidia-driver", "nvidia-driver-cuda")))
    ),
    *_rpm_signed(("rhel",), "kmod-nvidia-open-{branch}.*-{kernel_build}", "kmod-nvidia-open", PRECOMPILED),
    *_rpm_signed(
        ("almalinux",), "nvidia-open-kmod", "nvidia-open-kmod", "wiki.almalinux.org/documentation/nvidia.html",
        repository_package="almalinux-release-nvidia-driver",
    ),
    *(
        DriverPackages(
            ("amzn2023",), DISTRO, 570, None, OPEN, package_set, "kmod-nvidia-open-dkms",
            (*names, "kmod-nvidia-open-dkms"), AMAZON, "2026-06-30", repository_package="nvidia-release",
        )
        for package_set, names in ((COMPUTE, ("nvidia-driver-cuda",)), (FULL, ("nvidia-open", "nvidia-driver-cuda")))
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Transition:
    """Empty packages of branch ``former`` whose only content is a dependency on ``present``."""

    systems: tuple[str, ...]
    repository: str
    former: int
    present: int
    source: str
    as_of: str


# Who asks the archive for such a branch gets the other one without a word (dstackai/dstack#3967).
TRANSITIONS = (
    Transition(UBUNTU, DISTRO, 570, 580, "packages.ubuntu.com, nvidia-driver-570-server", "2026-11-30"),
    Transition(UBUNTU, DISTRO, 590, 595, "ubuntu.com/server/docs nvidia-drivers-installation", "2026-07-23"),
)

# Both bring nvidia.ko, so they exclude each other (driver installation guide, kernel modules).
KERNEL_PACKAGES = {"open": "nvidia-kernel-open-dkms", "proprietary": "nvidia-kernel-dkms"}

# Names under which packages of the driver appear in NVIDIA's repository: what a pin and the holds are about.
DRIVER_PATTERNS = (
    "nvidia-*", "libnvidia-*", "libnvsdm*", "libcuda1*", "libcudadebugger*", "libnvcuvid*", "libnvoptix*",
    "cuda-drivers*", "firmware-nvidia-*", "xserver-xorg-video-nvidia*", "libegl-nvidia*", "libgles-nvidia*",
    "libglx-nvidia*",
)  # fmt: skip

# The same with packages of Ubuntu's archive and of rpm systems: what a removal begins with.
OWN_PATTERNS = (
    *DRIVER_PATTERNS, "linux-modules-nvidia-*", "linux-objects-nvidia-*", "linux-signatures-nvidia-*",
    "kmod-nvidia*", "xorg-x11-nvidia", "nvlsm", "libnvsdm*", "gdrcopy*", "gdrdrv-dkms",
)  # fmt: skip

# Found installed beside our preferences file they fight over the branch.
PINNING_PATTERN = "nvidia-driver-pinning-*"

# Names that only Debian's own archive has: found installed, the driver came from there (driver-installation by Debian).
DEBIAN_ARCHIVE_PATTERNS = (
    "nvidia-open-kernel-dkms", "nvidia-open-kernel-support", "nvidia-alternative", "nvidia-legacy-check",
    "nvidia-tesla-*",
)  # fmt: skip

# Found installed, the driver came from the named distribution's archive or from a third party. Those that rows name
# as ``kernel`` of source distro say so too (package indexes of Ubuntu, RPM Fusion and negativo17).
OTHER_SOURCES = {
    "debian": DEBIAN_ARCHIVE_PATTERNS,
    "ubuntu": ("linux-modules-nvidia-*", "linux-objects-nvidia-*"),
    "rhel": ("akmod-nvidia*", "xorg-x11-drv-nvidia*", "dkms-nvidia"),
    "rocky": ("akmod-nvidia*", "xorg-x11-drv-nvidia*", "dkms-nvidia", "nvidia-open-kmod", "kmod-nvidia-open-[0-9]*"),
    "almalinux": ("akmod-nvidia*", "xorg-x11-drv-nvidia*", "dkms-nvidia"),
    "amzn": (),
}

# Left by NVIDIA's .run installer.
RUNFILE_PATHS = ("/usr/bin/nvidia-uninstall", "/usr/bin/nvidia-installer")

PERSISTENCED_UNIT = "nvidia-persistenced.service"
MODPROBE_PACKAGE = "nvidia-modprobe"

HEADERS_PATTERNS = ("linux-headers-*", "kernel-devel*", "kernel*-devel*")
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


def driver_packages(
    distribution: str,
    version: str = "",
    *,
    branch: int,
    flavour: str,
    package_set: str,
    source: str = CUDA_REPO,
    precompiled: bool = False,
    kernel_release: str = "",
) -> DriverPackages | None:
    """The row with its names filled in, or None where there are no such packages.

    ``distribution`` and ``version`` as in os-release; without ``version`` the newest release of the distribution.
    """
    key = (source, flavour, package_set, precompiled)
    for row in DRIVER_PACKAGES:
        if (row.repository, row.flavour, row.package_set, row.precompiled) != key:
            continue
        if _is_for(row, distribution, version) and has_branch(row.first_branch, row.last_branch, branch):
            return _filled(row, {"branch": str(branch), **kernel_words(kernel_release)})
    return None


def transition_of(distribution: str, version: str, *, branch: int, source: str) -> Transition | None:
    """The row of a branch whose packages bring another one; None where they bring what their names say."""
    known = distribution_of(distribution, version)
    for row in TRANSITIONS:
        if known is not None and known.directory in row.systems and (row.repository, row.former) == (source, branch):
            return row
    return None


def has_branch(first: int | None, last: int | None, branch: int) -> bool:
    """Whether a branch is between two inclusive ends, None for an open one."""
    return (first is None or branch >= first) and (last is None or branch <= last)


def _is_for(row: DriverPackages, distribution: str, version: str) -> bool:
    if row.ids and distribution not in row.ids:
        return False
    if not version:
        return any(system.startswith(distribution) for system in row.systems)
    known = distribution_of(distribution, version)
    return known is not None and known.directory in row.systems


def _filled(row: DriverPackages, words: dict[str, str]) -> DriverPackages:
    return replace(
        row,
        kernel=row.kernel.format(**words),
        names=tuple(n.format(**words) for n in row.names),
        others=tuple(n.format(**words) for n in row.others),
        version_of=(row.version_of or row.kernel).format(**words),
        follow=row.follow.format(**words),
        persistenced=row.persistenced.format(**words),
        stream=row.stream.format(**words),
    )


def rows_for(distribution: str, version: str) -> tuple[DriverPackages, ...]:
    """Every row of a distribution, as it is written: names with their braces."""
    return tuple(row for row in DRIVER_PACKAGES if _is_for(row, distribution, version))


def pattern_of(name: str, branch: int | None = None) -> str:
    """A name of a row as a pattern (fnmatch) that fits every kernel, and every branch where none is given."""
    for word in ("kernel", "kernel_build", "kernel_flavour", "kernel_version"):
        name = name.replace(f"{{{word}}}", "*")
    return name.replace("{branch}", str(branch) if branch else "[0-9][0-9][0-9]")
