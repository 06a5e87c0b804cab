# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages beside the driver, with versions of their own: NVLink subnet manager, GPUDirect Storage, GDRCopy."""

from __future__ import annotations

from dataclasses import dataclass

from lab.packages.tables.component import Component

CUDA_RELEASE, CUDA_NAME = "13.2.1", "13-2"


@dataclass(frozen=True)
class Extra:
    """A package and the versions that the repository has of it; {v} in its row stands for one of them."""

    component: Component
    versions: tuple[str, ...]


# NVIDIA/gds-nvidia-fs and NVIDIA/gdrcopy: names, DKMS settings, dependencies. Both compile against nvidia.ko.
NVIDIA_FS = ("2.26.6", "2.28.4")
GDRCOPY = ("2.5.2",)
MFT = ("4.35.0.159",)

EXTRAS: tuple[Extra, ...] = (
    Extra(
        Component("nvlsm", "NVLink subnet manager", ("libibumad3", "infiniband-diags")), ("2025.06.11", "2025.10.14")
    ),
    Extra(Component("mft", "NVIDIA firmware tools"), MFT),
    Extra(Component("mft-oem", "NVIDIA firmware tools, OEM part", ("mft",)), MFT),
    Extra(Component("mft-autocomplete", "NVIDIA firmware tools, shell completion", ("mft",)), MFT),
    Extra(Component("collectx-bringup", "NVLink bring-up tools"), ("1.22.1",)),
    Extra(Component("nvidia-fs", "GPUDirect Storage", ("nvidia-fs-dkms (= {v}-1)",)), NVIDIA_FS),
    Extra(Component("nvidia-fs-dkms", "GPUDirect Storage, DKMS source", ("dkms",)), NVIDIA_FS),
    Extra(
        Component("nvidia-gds", "GPUDirect Storage, newest", (f"nvidia-gds-{CUDA_NAME} (>= {{v}})",)), (CUDA_RELEASE,)
    ),
    Extra(Component(f"nvidia-gds-{CUDA_NAME}", "GPUDirect Storage", ("nvidia-fs (>= 2.26)",)), (CUDA_RELEASE,)),
)

# Not in a repository: single files below redist/gdrcopy, to download.
GDRCOPY_DEBS: tuple[Extra, ...] = (
    Extra(
        Component("gdrcopy", "GDRCopy", ("gdrdrv-dkms (= {v}-1)", "libgdrapi (= {v}-1)", "gdrcopy-tests (= {v}-1)")),
        GDRCOPY,
    ),
    Extra(Component("gdrdrv-dkms", "GDRCopy, DKMS source", ("dkms",)), GDRCOPY),
    Extra(Component("libgdrapi", "GDRCopy library"), GDRCOPY),
    Extra(Component("gdrcopy-tests", "GDRCopy tests", ("libgdrapi (= {v}-1)",)), GDRCOPY),
)
# Name -> summary, what it needs, its files, end of the release.
GDRCOPY_RPMS = {
    "gdrcopy": ("GDRCopy library and tests", ("gdrcopy-kmod",), "", ""),
    "gdrcopy-devel": ("GDRCopy headers", ("gdrcopy = {v}",), "", ""),
    "gdrcopy-kmod": ("GDRCopy, DKMS source", ("dkms",), "gdrdrv-dkms", "dkms"),
}
