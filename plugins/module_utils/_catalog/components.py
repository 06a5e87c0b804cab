# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages beside the driver: fabric manager, IMEX, GPUDirect Storage and others, by distribution and branch.

Private to this collection. A rename is one row: close the old row with ``last_branch`` and add the new one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .distributions import distribution_of
from .packages import CUDA_REPO, DEBIAN, DISTRO, PLAIN_RPM, STREAMS, UBUNTU, has_branch

DRIVER_CONTAINER = "github.com/NVIDIA/gpu-driver-container"
FABRIC_GUIDE = "docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide"
UBUNTU_ARCHIVE = "packages.ubuntu.com"
DEBIAN_INDEX = "Debian archive index"
STORAGE = "github.com/NVIDIA/gds-nvidia-fs 2.28.4"
COPY = "github.com/NVIDIA/gdrcopy 2.6"
LICENSING = "docs.nvidia.com vGPU software: files come from the licensing portal, not from a repository"
OPEN_MODULES = "github.com/NVIDIA/open-gpu-kernel-modules, nvidia-peermem.c"

FABRIC_MANAGER, NSCQ, NVSDM, NVLSM, IMEX = "fabric_manager", "nscq", "nvsdm", "nvlsm", "imex"
GDS, GDRCOPY, PEERMEM, GRIDD = "gds", "gdrcopy", "peermem", "gridd"
COMPONENTS = (FABRIC_MANAGER, NSCQ, NVSDM, NVLSM, IMEX, GDS, GDRCOPY, PEERMEM, GRIDD)

# Where packages come from when no repository has them.
REDIST, PORTAL, DRIVER = "redist", "portal", "driver"
GDRCOPY_REDIST = "https://developer.download.nvidia.com/compute/redist/gdrcopy"


@dataclass(frozen=True)
class ComponentPackages:
    """The packages of one component on ``systems`` (folders of the CUDA repository) from ``repository``.

    ``repository``: cuda_repo, distro, redist (single files to download), portal (files that the user has), driver
    (a part of the driver's own packages). ``first_branch`` and ``last_branch`` are inclusive, None is open-ended.
    ``names`` may hold ``{branch}``; ``needs`` are packages of the distribution. ``same_version``: they must have the
    driver's version. ``module``: the kernel module that they bring, ``unit``: their service; '' for none.
    """

    component: str
    systems: tuple[str, ...]
    repository: str
    first_branch: int | None
    last_branch: int | None
    names: tuple[str, ...]
    same_version: bool
    source: str
    as_of: str
    needs: tuple[str, ...] = ()
    module: str = ""
    unit: str = ""
    machines: tuple[str, ...] = ("x86_64", "aarch64")


RPM = (*STREAMS, *PLAIN_RPM)
DEB = (*DEBIAN, *UBUNTU)
EVERYWHERE = (*DEB, *RPM)
FABRIC_UNIT, IMEX_UNIT, GRIDD_UNIT = "nvidia-fabricmanager.service", "nvidia-imex.service", "nvidia-gridd.service"
X86 = ("x86_64",)

COMPONENT_PACKAGES = (
    # Names with the branch until 575, without it since 580 (gpu-driver-container, ubuntu and rhel install scripts).
    ComponentPackages(
        FABRIC_MANAGER, DEB, CUDA_REPO, None, 579, ("nvidia-fabricmanager-{branch}",), True, DRIVER_CONTAINER,
        "2026-08-17", unit=FABRIC_UNIT,
    ),
    ComponentPackages(
        FABRIC_MANAGER, RPM, CUDA_REPO, None, 579, ("nvidia-fabric-manager",), True,
        "github.com/NVIDIA/yum-packaging-fabric-manager", "2026-08-17", unit=FABRIC_UNIT,
    ),
    ComponentPackages(
        FABRIC_MANAGER, EVERYWHERE, CUDA_REPO, 580, None, ("nvidia-fabricmanager",), True, DRIVER_CONTAINER,
        "2026-08-17", unit=FABRIC_UNIT,
    ),
    ComponentPackages(
        FABRIC_MANAGER, UBUNTU, DISTRO, 535, None, ("nvidia-fabricmanager-{branch}",), True, UBUNTU_ARCHIVE,
        "2026-11-30", unit=FABRIC_UNIT,
    ),
    ComponentPackages(
        NSCQ, EVERYWHERE, CUDA_REPO, None, 579, ("libnvidia-nscq-{branch}",), True, DRIVER_CONTAINER, "2026-08-17"
    ),
    ComponentPackages(
        NSCQ, EVERYWHERE, CUDA_REPO, 580, None, ("libnvidia-nscq",), True, DRIVER_CONTAINER, "2026-08-17"
    ),
    ComponentPackages(
        NSCQ, UBUNTU, DISTRO, 535, None, ("libnvidia-nscq-{branch}",), True, UBUNTU_ARCHIVE, "2026-11-30"
    ),
    ComponentPackages(
        NVSDM, EVERYWHERE, CUDA_REPO, 560, 579, ("libnvsdm-{branch}",), True, DRIVER_CONTAINER, "2026-08-17",
        machines=X86,
    ),
    ComponentPackages(
        NVSDM, EVERYWHERE, CUDA_REPO, 580, None, ("libnvsdm",), True, DRIVER_CONTAINER, "2026-08-17", machines=X86
    ),
    # Started by the fabric manager's own script: it has no unit.
    ComponentPackages(
        NVLSM, DEB, CUDA_REPO, 570, None, ("nvlsm",), False, FABRIC_GUIDE, "2026-08-17",
        needs=("libibumad3", "infiniband-diags"),
    ),
    ComponentPackages(
        NVLSM, RPM, CUDA_REPO, 570, None, ("nvlsm",), False, FABRIC_GUIDE, "2026-08-17",
        needs=("libibumad", "infiniband-diags"),
    ),
    ComponentPackages(
        IMEX, EVERYWHERE, CUDA_REPO, 550, 579, ("nvidia-imex-{branch}",), True, DRIVER_CONTAINER, "2026-08-17",
        unit=IMEX_UNIT,
    ),
    ComponentPackages(
        IMEX, EVERYWHERE, CUDA_REPO, 580, None, ("nvidia-imex",), True, DRIVER_CONTAINER, "2026-08-17", unit=IMEX_UNIT
    ),
    ComponentPackages(
        IMEX, UBUNTU, DISTRO, 550, None, ("nvidia-imex-{branch}",), True, UBUNTU_ARCHIVE, "2026-11-30", unit=IMEX_UNIT
    ),
    # Versions of its own; since 2.17.5 it needs the open modules. Its DKMS source compiles against the driver's.
    ComponentPackages(
        GDS, EVERYWHERE, CUDA_REPO, None, None, ("nvidia-fs", "nvidia-fs-dkms"), False, STORAGE, "2026-04-24",
        module="nvidia_fs",
    ),
    ComponentPackages(
        GDS, DEBIAN, DISTRO, None, None, ("nvidia-fs-dkms",), False, DEBIAN_INDEX, "2026-11-30", module="nvidia_fs"
    ),
    ComponentPackages(
        GDRCOPY, DEB, REDIST, None, None, ("gdrdrv-dkms", "libgdrapi", "gdrcopy"), False, COPY, "2026-06-15",
        module="gdrdrv",
    ),
    ComponentPackages(
        GDRCOPY, RPM, REDIST, None, None, ("gdrcopy-kmod", "gdrcopy"), False, COPY, "2026-06-15", module="gdrdrv"
    ),
    ComponentPackages(
        PEERMEM, EVERYWHERE, DRIVER, None, None, (), True, OPEN_MODULES, "2026-03-05", module="nvidia_peermem"
    ),
    ComponentPackages(
        GRIDD, DEB, PORTAL, None, None, ("nvidia-linux-grid-{branch}",), True, LICENSING, "2026-11-30",
        unit=GRIDD_UNIT,
    ),
    ComponentPackages(
        GRIDD, RPM, PORTAL, None, None, ("nvidia-linux-grid-{branch}",), True, LICENSING, "2026-11-30",
        unit=GRIDD_UNIT,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class BuildLimit:
    """Modules of a component before version ``below`` do not compile on kernels from ``kernel`` on."""

    component: str
    below: str
    kernel: str
    source: str
    as_of: str


BUILD_LIMITS = (
    BuildLimit(GDS, "2.28", "7.0", "public build scripts for Ubuntu 26.04", "2026-11-30"),
    BuildLimit(GDRCOPY, "2.5.2", "6.15", "github.com/NVIDIA/gdrcopy CHANGELOG", "2026-06-15"),
)

# The repository that has a component beside a driver of CUDA_REPO or DISTRO: its own first, then these.
ELSEWHERE = (DRIVER, REDIST, PORTAL)


def component_packages(
    component: str,
    distribution: str,
    version: str,
    *,
    branch: int,
    source: str = CUDA_REPO,
    machine: str = "x86_64",
) -> ComponentPackages | None:
    """The row of a component with its names filled in, beside a driver of ``branch`` from ``source``.

    None where nobody has such packages for this host. ``distribution`` and ``version`` as in os-release, ``machine`` as
    uname -m. ``repository`` of the row is ``source``, or says where else the packages are.
    """
    known = distribution_of(distribution, version)
    for repository in (source, *ELSEWHERE):
        for row in COMPONENT_PACKAGES:
            if known is None or (row.component, row.repository) != (component, repository):
                continue
            there = known.directory in row.systems and machine in row.machines
            if there and has_branch(row.first_branch, row.last_branch, branch):
                return replace(row, names=tuple(n.format(branch=branch) for n in row.names))
    return None
