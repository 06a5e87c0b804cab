# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of the distribution itself that NVIDIA's packages want on EL.

All but the kernel's headers are empty: what they stand for is in the root file system, or nothing in a lab calls it.
{k} is version and release of the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stub:
    """`version` is version-release without the distribution's mark."""

    name: str
    version: str
    requires: tuple[str, ...] = ()
    of_all: bool = False


KERNEL = "{k}"
# What hosts have from the beginning is not here. Versions are of no distribution in particular.
STUBS: tuple[Stub, ...] = (
    Stub("patch", "2.7.6-16"),
    Stub("mokutil", "0.7.2-3"),
    Stub("linux-firmware", "20250812-152", of_all=True),
    Stub("kernel-devel-matched", KERNEL, requires=("kernel-devel = {k}", "kernel-core = {k}")),
    Stub("kernel-headers", KERNEL),
    # Wanted by the driver.
    Stub("libglvnd", "1.3.4-1"),
    Stub("libglvnd-egl", "1.3.4-1", requires=("libglvnd(x86-64) = 1:1.3.4",)),
    Stub("libvdpau", "1.5-1"),
    Stub("vulkan-loader", "1.4.304-1"),
    Stub("ocl-icd", "2.2.13-4"),
    Stub("opencl-filesystem", "1.0-15", of_all=True),
    Stub("xorg-x11-server-Xorg", "1.20.11-31"),
    # Wanted by NVLink 5 software.
    Stub("libibumad", "54.0-1"),
    Stub("infiniband-diags", "54.0-1", requires=("libibumad",)),
)
EPOCHS = {"libglvnd": "1", "libglvnd-egl": "1"}
# The programs that dkms calls, as EPEL's package says; and headers for the kernels that are there.
DKMS_REQUIRES = ("coreutils", "gcc", "kmod", "make", "patch", "openssl", "(kernel-devel-matched if kernel-core)")
