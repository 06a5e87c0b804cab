# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's packages as NVIDIA's CUDA repository for EL names and splits them; README.md has the sources.

All have epoch 3. {p} is epoch, version and release; {e} epoch and version, which is what most relations name.
"""

from __future__ import annotations

from lab.packages.tables.component import FIRST, LAST, OPEN_ONLY_FROM, Component

BINARY = OPEN_ONLY_FROM - 1
WITH_BRANCH, WITHOUT = 579, 580


def exact(*names: str) -> tuple[str, ...]:
    """Relations to this version of packages of the same machine."""
    return tuple(f"{name}(x86-64) = {{e}}" for name in names)


def others(*names: str) -> tuple[str, ...]:
    """Packages of other makers that own the same files (RPM Fusion, ELRepo)."""
    return tuple(f"{name}{series}{part}" for name, part in _parted(names) for series in ("", "-470xx"))


def _parted(names: tuple[str, ...]) -> list[tuple[str, str]]:
    parted = (name.partition("+") for name in names)
    return [(name, f"-{part}" if part else "") for name, _plus, part in parted]


def kernel(name: str, other: str, summary: str, terms: str, *, until: int = LAST) -> Component:
    """A DKMS package (NVIDIA/yum-packaging-dkms-nvidia). Its scripts ignore what dkms says."""
    return Component(
        name,
        summary,
        ("nvidia-kmod-common = {e}", "dkms"),
        provides=("nvidia-kmod = {e}",),
        conflicts=(other,),
        tree="nvidia-dkms",
        also=("nvidia-kernel-source",),
        license=terms,
        until=until,
    )


def plain(name: str, summary: str, *, tree: str = "", since: int = FIRST, until: int = LAST) -> Component:
    """A package without the distribution's mark in its release."""
    return Component(name, summary, version="{n}", tree=tree, since=since, until=until)


def bundle(name: str, *, until: int = LAST) -> Component:
    """All that an NVLink 5 system needs."""
    parts = ("libnvidia-nscq", "libnvsdm", "nvidia-fabricmanager", "nvidia-imex")
    needs = (*(f"{part} >= {{b}}" for part in parts), "nvlsm", "nvidia-driver-cuda >= 3:{b}")
    return Component(name, "NVLink 5 software", needs, version="{n}", since=WITHOUT, until=until)


CUDA_LIBRARIES = [
    "libcuda1",
    "libcudadebugger1",
    "libnvcuvid1",
    "libnvidia-encode1",
    "libnvidia-nvvm4",
    "libnvidia-opticalflow1",
    "libnvidia-pkcs11-openssl3",
    "libnvidia-ptxjitcompiler1",
    "libnvidia-sandboxutils",
    "nvidia-opencl-icd",
]
GRAPHICS_LIBRARIES = [
    "libegl-nvidia0",
    "libgles-nvidia1",
    "libgles-nvidia2",
    "libglx-nvidia0",
    "libnvidia-allocator1",
    "libnvidia-api1",
    "libnvidia-eglcore",
    "libnvidia-glcore",
    "libnvidia-glvkspirv",
    "libnvidia-ngx1",
    "libnvidia-rtcore",
    "libnvidia-vksc-core",
    "libnvoptix1",
    "nvidia-vdpau-driver",
]
GLVND = ("libvdpau(x86-64) >= 0.5", "libglvnd(x86-64) >= 1.0", "libglvnd-egl(x86-64) >= 1.0", "vulkan-loader")


def driver_libraries(*needs: str, further: tuple[str, ...] = (), since: int = FIRST, until: int = LAST) -> Component:
    """Graphics libraries; which ones differs by branch."""
    return Component(
        "nvidia-driver-libs",
        "libraries of the driver",
        (*GLVND, "libnvidia-ml(x86-64) = {p}", *needs),
        conflicts=others("nvidia-x11-drv+libs", "xorg-x11-drv-nvidia+libs"),
        libraries=(*GRAPHICS_LIBRARIES, *further),
        also=("nvidia-egl-icd", "nvidia-vulkan-icd"),
        since=since,
        until=until,
    )


def cuda_libraries(*needs: str, further: tuple[str, ...] = (), since: int = FIRST, until: int = LAST) -> Component:
    """Compute libraries; which ones differs by branch."""
    return Component(
        "nvidia-driver-cuda-libs",
        "CUDA libraries of the driver",
        ("libnvidia-ml(x86-64) = {p}", "libnvidia-cfg(x86-64) = {p}", *needs),
        provides=("nvidia-driver-devel = {p}",),
        replaces=("nvidia-driver-devel < {p}",),
        conflicts=others("xorg-x11-drv-nvidia+cuda-libs"),
        libraries=(*CUDA_LIBRARIES, *further),
        since=since,
        until=until,
    )


GPUCOMP = "libnvidia-gpucomp(x86-64) = {p}"
EL: tuple[Component, ...] = (
    # Kernel side.
    kernel("kmod-nvidia-open-dkms", "kmod-nvidia-latest-dkms", "NVIDIA open kernel modules, DKMS", "Dual MIT/GPL"),
    kernel("kmod-nvidia-latest-dkms", "kmod-nvidia-open-dkms", "NVIDIA binary modules, DKMS", "NVIDIA", until=BINARY),
    Component("nvidia-kmod-source", "source of the open kernel modules", conflicts=("kmod-nvidia-latest-dkms",)),
    Component("nvidia-kmod-headers", "headers of the kernel modules", until=BINARY),
    Component(
        "nvidia-kmod-common",
        "what all kernel module packages share",
        ("linux-firmware", "nvidia-modprobe", "nvidia-kmod = {e}"),
        provides=("nvidia-kmod-common = {e}",),
        firmware=True,
        of_all=True,
    ),
    Component("nvidia-modprobe", "loads the modules and makes device nodes", programs=("nvidia-modprobe",)),
    # Compute.
    Component(
        "nvidia-driver-cuda",
        "CUDA integration",
        (
            *exact("nvidia-driver-cuda-libs"),
            "nvidia-kmod-common = {e}",
            "nvidia-persistenced = {e}",
            "opencl-filesystem",
            "ocl-icd",
        ),
        conflicts=others("xorg-x11-drv-nvidia+cuda"),
        also=("nvidia-opencl-icd", "nvidia-cuda-mps", "nvidia-debugdump"),
        programs=("nvidia-smi",),
    ),
    cuda_libraries(until=WITH_BRANCH),
    cuda_libraries(GPUCOMP, further=("libnvidia-nvvm704",), since=WITHOUT, until=589),
    cuda_libraries(GPUCOMP, further=("libnvidia-nvvm704", "libnvidia-tileiras"), since=590),
    Component(
        "nvidia-persistenced",
        "keeps the driver's state while no client runs",
        ("libnvidia-cfg(x86-64) >= {e}",),
        programs=("nvidia-persistenced",),
    ),
    Component("libnvidia-cfg", "configuration library", libraries=("libnvidia-cfg1",)),
    Component("libnvidia-gpucomp", "GPU compiler library", since=WITHOUT),
    Component(
        "libnvidia-ml",
        "NVIDIA Management Library (NVML)",
        provides=("cuda-nvml = {p}", "nvidia-driver-NVML = {p}"),
        replaces=("nvidia-driver-NVML < {p}",),
        libraries=("libnvidia-ml1",),
    ),
    # Graphics.
    Component(
        "nvidia-driver",
        "the driver, all but CUDA",
        (*exact("nvidia-driver-libs"), "nvidia-kmod-common = {e}"),
        provides=("nvidia-drivers",),
        conflicts=others("nvidia-x11-drv", "xorg-x11-drv-nvidia"),
    ),
    driver_libraries(further=("libnvidia-gpucomp",), until=WITH_BRANCH),
    driver_libraries(GPUCOMP, further=("libnvidia-present",), since=WITHOUT),
    Component(
        "libnvidia-fbc",
        "frame buffer capture",
        exact("nvidia-driver-cuda-libs"),
        provides=("nvidia-driver-NvFBCOpenGL = {p}",),
        replaces=("nvidia-driver-NvFBCOpenGL < {p}",),
        libraries=("libnvidia-fbc1",),
    ),
    Component(
        "xorg-x11-nvidia",
        "X.org driver",
        (*exact("nvidia-driver"), "xorg-x11-server-Xorg(x86-64)"),
        supplements=("(nvidia-driver and xorg-x11-server-Xorg)",),
        conflicts=others("xorg-x11-drv-nvidia"),
        tree="xserver-xorg-video-nvidia",
    ),
    Component("nvidia-settings", "tool for the driver's settings", ("nvidia-libXNVCtrl(x86-64) = {e}",)),
    Component("nvidia-libXNVCtrl", "NV-CONTROL X extension library", libraries=("libxnvctrl0",)),
    Component("nvidia-libXNVCtrl-devel", "NV-CONTROL headers", ("nvidia-libXNVCtrl = {p}",)),
    Component("nvidia-xconfig", "tool for X configuration"),
    # Whole sets.
    Component(
        "nvidia-open",
        "driver, open modules",
        ("nvidia-driver >= {e}", "nvidia-driver-cuda >= {e}", "kmod-nvidia-open-dkms >= {e}", "nvidia-settings"),
    ),
    Component(
        "cuda-drivers",
        "driver, binary modules",
        (
            "nvidia-driver >= {e}",
            "nvidia-driver-cuda >= {e}",
            "nvidia-kmod >= {e}",
            "nvidia-settings",
            "nvidia-xconfig",
        ),
        until=BINARY,
    ),
    # NVSwitch and NVLink. The devel package keeps its old name.
    plain("nvidia-fabric-manager", "Fabric Manager", tree="nvidia-fabricmanager", until=WITH_BRANCH),
    plain("nvidia-fabricmanager", "Fabric Manager", since=WITHOUT),
    plain("nvidia-fabric-manager-devel", "Fabric Manager, headers and library"),
    plain("libnvidia-nscq-{b}", "NVSwitch query library", tree="libnvidia-nscq", until=WITH_BRANCH),
    plain("libnvidia-nscq", "NVSwitch query library", since=WITHOUT),
    plain("libnvsdm-{b}", "NVSwitch device manager", tree="libnvsdm", until=WITH_BRANCH),
    plain("libnvsdm", "NVSwitch device manager", since=WITHOUT),
    plain("libnvsdm-devel", "NVSwitch device manager, headers", since=WITHOUT),
    plain("nvidia-imex-{b}", "IMEX service", tree="nvidia-imex", until=WITH_BRANCH),
    plain("nvidia-imex", "IMEX service", since=WITHOUT),
    bundle("nvlink5-{b}", until=589),
    bundle("nvlink5"),
)
