# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's packages as NVIDIA's CUDA repository for Debian names and splits them; README.md has the sources."""

from __future__ import annotations

from lab.packages.tables.component import FIRST, LAST, OPEN_ONLY_FROM, UNBRANCHED_FROM, Component, least, same
from lab.packages.tables.fabric import FABRIC
from lab.packages.tables.pinning import PINNING

BRANCHED = UNBRANCHED_FROM - 1
BINARY = OPEN_ONLY_FROM - 1


def library(name: str, summary: str, *depends: str, since: int = FIRST, version: str = "{p}") -> Component:
    """A package that holds libraries only (rows of libraries.py)."""
    return Component(name, summary, depends, since=since, version=version)


def kernel(name: str, other: str, summary: str, terms: str, *, until: int = LAST) -> Component:
    """A DKMS package; both flavours own /usr/src/nvidia-<version>, so they exclude each other."""
    return Component(
        name,
        summary,
        ("dkms", *same("firmware-nvidia-gsp", "nvidia-kernel-support")),
        provides=(f"{name}-any", "nvidia-kernel-{v}"),
        conflicts=(other,),
        tree="nvidia-dkms",
        also=("nvidia-kernel-source",),
        license=terms,
        until=until,
    )


def cuda(*further: str, since: int = FIRST, until: int = LAST) -> Component:
    """The compute part; what else it needs beside `COMPUTE` differs by branch."""
    modules = OPEN_MODULES if since >= OPEN_ONLY_FROM else MODULES
    return Component(
        "nvidia-driver-cuda",
        "driver components for CUDA",
        (*COMPUTE, *same(*further), modules),
        programs=("nvidia-smi",),
        also=("nvidia-cuda-mps", "nvidia-debugdump"),
        since=since,
        until=until,
    )


def desktop(*, since: int = FIRST, until: int = LAST) -> Component:
    """The graphics part. The X server's own packages are no dependency here: lab hosts have no display."""
    modules = OPEN_MODULES if since >= OPEN_ONLY_FROM else MODULES
    depends = (*DESKTOP, modules)
    return Component(
        "nvidia-driver", "NVIDIA driver, all but CUDA", depends, same("nvidia-settings"), since=since, until=until
    )


def whole(name: str, summary: str, kernel_package: str, *, since: int, until: int) -> Component:
    """A whole set that says `this version or a later one`, so it takes the newest there is unless a pin forbids it.

    As cuda-drivers-580 580.105.08-1 of Debian (forums.developer.nvidia.com 353805) and nvidia-open 595.91.07 of Ubuntu.
    """
    depends = least("nvidia-driver", "nvidia-driver-cuda", kernel_package, "nvidia-settings", "nvidia-xconfig")
    return Component(name, summary, depends, since=since, until=until)


OPEN_MODULES = "nvidia-kernel-open-dkms (= {p})"
MODULES = f"nvidia-kernel-dkms (= {{p}}) | {OPEN_MODULES}"
CUDA_LIBRARIES = same("libcuda1", "libnvidia-ml1", "libnvidia-cfg1", "libnvidia-ptxjitcompiler1", "libnvidia-nvvm4")
MEDIA_LIBRARIES = same("libnvcuvid1", "libnvidia-encode1", "libnvidia-fbc1", "libnvidia-opticalflow1", "libnvoptix1")
OTHER_CUDA = same("libcudadebugger1", "libnvidia-sandboxutils", "libnvidia-pkcs11-openssl3", "nvidia-opencl-icd")
COMPUTE = (*CUDA_LIBRARIES, *MEDIA_LIBRARIES, *OTHER_CUDA, *same("nvidia-modprobe", "nvidia-persistenced"))
SHADERS = same("libnvidia-rtcore", "libnvidia-glvkspirv", "libnvidia-ngx1", "libnvidia-vksc-core", "libnvidia-api1")
GLES = same("libgles-nvidia1", "libgles-nvidia2")
GRAPHICS = (*same("libglx-nvidia0", "nvidia-egl-icd", "nvidia-vulkan-icd"), *GLES, *SHADERS)
DESKTOP = same("nvidia-driver-libs", "nvidia-kernel-support", "nvidia-vdpau-driver", "xserver-xorg-video-nvidia")
FULL = same("nvidia-driver", "nvidia-driver-cuda")

DEBIAN: tuple[Component, ...] = (
    # Kernel side.
    kernel("nvidia-kernel-open-dkms", "nvidia-kernel-dkms", "NVIDIA open kernel modules, DKMS source", "Dual MIT/GPL"),
    kernel(
        "nvidia-kernel-dkms",
        "nvidia-kernel-open-dkms",
        "NVIDIA binary kernel modules, DKMS source",
        "NVIDIA",
        until=BINARY,
    ),
    Component("nvidia-kernel-support", "module options and udev rules", same("nvidia-modprobe")),
    Component("firmware-nvidia-gsp", "GPU System Processor firmware", firmware=True),
    Component("nvidia-modprobe", "loads the modules and makes device nodes", programs=("nvidia-modprobe",)),
    # Compute.
    cuda(until=579),
    cuda("libnvidia-nvvm704", since=580, until=589),
    cuda("libnvidia-nvvm704", "libnvidia-tileiras", since=UNBRANCHED_FROM, until=BINARY),
    cuda("libnvidia-nvvm704", "libnvidia-tileiras", since=OPEN_ONLY_FROM),
    Component(
        "nvidia-persistenced",
        "keeps the driver's state while no client runs",
        ("adduser", *same("libnvidia-cfg1")),
        programs=("nvidia-persistenced",),
    ),
    Component("nvidia-opencl-icd", "OpenCL installable client driver", same("libcuda1")),
    library(
        "libcuda1", "CUDA driver library", *same("libnvidia-ptxjitcompiler1", "libnvidia-nvvm4", "libnvidia-gpucomp")
    ),
    library("libcudadebugger1", "CUDA debugger library", *same("libcuda1")),
    library("libnvcuvid1", "video decoding", *same("libcuda1")),
    library("libnvidia-cfg1", "configuration library"),
    library("libnvidia-encode1", "video encoding", *same("libcuda1", "libnvcuvid1")),
    library("libnvidia-fbc1", "frame buffer capture"),
    library("libnvidia-gpucomp", "GPU compiler library"),
    library("libnvidia-ml1", "NVIDIA Management Library (NVML)"),
    library("libnvidia-nvvm4", "NVVM compiler library"),
    library("libnvidia-nvvm704", "NVVM compiler library", since=580),
    library("libnvidia-opticalflow1", "optical flow", *same("libcuda1")),
    library("libnvidia-pkcs11-openssl3", "PKCS #11 library for OpenSSL 3"),
    library("libnvidia-ptxjitcompiler1", "PTX just-in-time compiler"),
    library("libnvidia-sandboxutils", "driver and GPU information for containers"),
    library("libnvidia-tileiras", "Tile IR compiler", since=590),
    library("libnvoptix1", "OptiX ray tracing", *same("libcuda1", "libnvidia-rtcore")),
    # Graphics.
    desktop(until=BINARY),
    desktop(since=OPEN_ONLY_FROM),
    Component("nvidia-driver-libs", "OpenGL, EGL, GLES and Vulkan libraries", GRAPHICS),
    Component("nvidia-egl-icd", "EGL installable client driver", same("libegl-nvidia0")),
    Component("nvidia-vulkan-icd", "Vulkan installable client driver", same("libglx-nvidia0")),
    Component("nvidia-settings", "tool for the driver's settings", same("libxnvctrl0"), tree="nvidia-settings"),
    Component("nvidia-xconfig", "tool for X configuration"),
    Component("nvidia-vdpau-driver", "VDPAU driver"),
    Component("xserver-xorg-video-nvidia", "X.org driver", same("libnvidia-glcore", "libnvidia-cfg1")),
    library("libegl-nvidia0", "EGL library", *same("libnvidia-eglcore")),
    library("libgles-nvidia1", "OpenGL ES 1 library", *same("libnvidia-eglcore")),
    library("libgles-nvidia2", "OpenGL ES 2 library", *same("libnvidia-eglcore")),
    library("libglx-nvidia0", "GLX library", *same("libnvidia-glcore")),
    library("libnvidia-allocator1", "allocator library"),
    library("libnvidia-api1", "NVAPI library"),
    library("libnvidia-eglcore", "EGL core libraries", *same("libnvidia-gpucomp")),
    library("libnvidia-glcore", "OpenGL core libraries", *same("libnvidia-gpucomp", "libnvidia-allocator1")),
    library("libnvidia-glvkspirv", "Vulkan SPIR-V compiler"),
    library("libnvidia-ngx1", "NGX library"),
    library("libnvidia-present", "present layer", since=580),
    library("libnvidia-rtcore", "ray tracing core"),
    library("libnvidia-vksc-core", "Vulkan SC core"),
    library("libxnvctrl0", "NV-CONTROL X extension library"),
    library("libnvidia-egl-gbm1", "EGL platform GBM", version="1.1.3-1", since=595),
    library("libnvidia-egl-wayland21", "EGL platform Wayland, version 2", version="1.0.1-1", since=595),
    library("libnvidia-egl-xcb1", "EGL platform XCB", version="1:1.0.5-1", since=595),
    library("libnvidia-egl-xlib1", "EGL platform Xlib", version="1:1.0.5-1", since=595),
    # Whole sets with the branch and the exact version as names of packages.
    Component("nvidia-open", "newest driver, open modules", same("nvidia-open-{b}"), until=579),
    Component("nvidia-open-{b}", "driver branch {b}, open modules", same("nvidia-open-{v}"), until=579),
    Component("nvidia-open-{v}", "driver {v}, open modules", (*FULL, *same("nvidia-kernel-open-dkms")), until=579),
    Component("cuda-drivers", "newest driver, binary modules", same("cuda-drivers-{b}"), until=579),
    Component("cuda-drivers-{b}", "driver branch {b}, binary modules", (*FULL, *same("nvidia-kernel-dkms")), until=579),
    # Whole sets since pinning packages choose the branch or the exact version.
    whole("nvidia-open", "driver, open modules", "nvidia-kernel-open-dkms", since=580, until=LAST),
    whole("nvidia-open-{b}", "driver branch {b}, open modules", "nvidia-kernel-open-dkms", since=580, until=BRANCHED),
    whole("cuda-drivers", "driver, binary modules", "nvidia-kernel-dkms", since=580, until=BINARY),
    whole("cuda-drivers-{b}", "driver branch {b}, binary modules", "nvidia-kernel-dkms", since=580, until=BRANCHED),
    *PINNING,
    *FABRIC,
)
