# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's Debian packages as NVIDIA's CUDA repository names and splits them; README.md has the sources.

In `depends` and its relatives {p} stands for the package version (595.71.05-1), {v} for the driver's, {b} for its
branch.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST, LAST = 0, 9999


@dataclass(frozen=True)
class Component:
    """One binary package. `since` and `until` bound the branches; files are found in files/<tree or name>."""

    name: str
    summary: str
    depends: tuple[str, ...] = ()
    recommends: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    version: str = "{p}"
    since: int = FIRST
    until: int = LAST
    tree: str = ""
    license: str = ""

    def in_branch(self, branch: int) -> bool:
        """Whether releases of `branch` have this package."""
        return self.since <= branch <= self.until


def same(*names: str) -> tuple[str, ...]:
    """Dependencies on exactly this release of other packages."""
    return tuple(f"{name} (= {{p}})" for name in names)


def library(name: str, summary: str, *depends: str, since: int = FIRST, version: str = "{p}") -> Component:
    """A package that holds libraries only (rows of libraries.py)."""
    return Component(name, summary, depends, since=since, version=version)


def kernel(name: str, other: str, summary: str, terms: str) -> Component:
    """A DKMS package; both flavours own /usr/src/nvidia-<version>, so they exclude each other."""
    return Component(
        name,
        summary,
        ("dkms", *same("firmware-nvidia-gsp", "nvidia-kernel-support")),
        provides=(f"{name}-any", "nvidia-kernel-{v}"),
        conflicts=(other,),
        tree="nvidia-dkms",
        license=terms,
    )


MODULES = "nvidia-kernel-dkms (= {p}) | nvidia-kernel-open-dkms (= {p})"
CUDA_LIBRARIES = same("libcuda1", "libnvidia-ml1", "libnvidia-cfg1", "libnvidia-ptxjitcompiler1", "libnvidia-nvvm4")
MEDIA_LIBRARIES = same("libnvcuvid1", "libnvidia-encode1", "libnvidia-fbc1", "libnvidia-opticalflow1", "libnvoptix1")
OTHER_CUDA = same("libcudadebugger1", "libnvidia-sandboxutils", "libnvidia-pkcs11-openssl3", "nvidia-opencl-icd")
COMPUTE = (*CUDA_LIBRARIES, *MEDIA_LIBRARIES, *OTHER_CUDA, *same("nvidia-modprobe", "nvidia-persistenced"))
SHADERS = same("libnvidia-rtcore", "libnvidia-glvkspirv", "libnvidia-ngx1", "libnvidia-vksc-core", "libnvidia-api1")
GLES = same("libgles-nvidia1", "libgles-nvidia2")
GRAPHICS = (*same("libglx-nvidia0", "nvidia-egl-icd", "nvidia-vulkan-icd"), *GLES, *SHADERS)
DESKTOP = same("nvidia-driver-libs", "nvidia-kernel-support", "nvidia-vdpau-driver", "xserver-xorg-video-nvidia")
FULL = same("nvidia-driver", "nvidia-driver-cuda")

COMPONENTS: tuple[Component, ...] = (
    # Kernel side.
    kernel("nvidia-kernel-open-dkms", "nvidia-kernel-dkms", "NVIDIA open kernel modules, DKMS source", "Dual MIT/GPL"),
    kernel("nvidia-kernel-dkms", "nvidia-kernel-open-dkms", "NVIDIA binary kernel modules, DKMS source", "NVIDIA"),
    Component("nvidia-kernel-support", "module options and udev rules", same("nvidia-modprobe")),
    Component("firmware-nvidia-gsp", "GPU System Processor firmware"),
    Component("nvidia-modprobe", "loads the modules and makes device nodes", programs=("nvidia-modprobe",)),
    # Compute.
    Component(
        "nvidia-driver-cuda", "driver components for CUDA", (*COMPUTE, MODULES), programs=("nvidia-smi",), until=579
    ),
    Component(
        "nvidia-driver-cuda",
        "driver components for CUDA",
        (*COMPUTE, *same("libnvidia-nvvm704", "libnvidia-tileiras"), MODULES),
        programs=("nvidia-smi",),
        since=580,
    ),
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
    # Graphics. The X server's own packages are no dependency here: lab hosts have no display.
    Component("nvidia-driver", "NVIDIA driver, all but CUDA", (*DESKTOP, MODULES), same("nvidia-settings")),
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
    # Whole sets, old naming: the branch and the exact version are names of packages.
    Component("nvidia-open", "newest driver, open modules", same("nvidia-open-{b}"), until=589),
    Component("nvidia-open-{b}", "driver branch {b}, open modules", same("nvidia-open-{v}"), until=589),
    Component("nvidia-open-{v}", "driver {v}, open modules", (*FULL, *same("nvidia-kernel-open-dkms")), until=589),
    Component("cuda-drivers", "newest driver, binary modules", same("cuda-drivers-{b}"), until=589),
    Component("cuda-drivers-{b}", "driver branch {b}, binary modules", (*FULL, *same("nvidia-kernel-dkms")), until=589),
    # Whole sets, new naming: a pinning package chooses the branch or the exact version.
    Component("nvidia-open", "driver, open modules", (*FULL, *same("nvidia-kernel-open-dkms")), since=590),
    Component("cuda-drivers", "driver, binary modules", (*FULL, *same("nvidia-kernel-dkms")), since=590),
    Component(
        "nvidia-driver-pinning-{b}",
        "apt preferences that keep the driver at branch {b}",
        provides=("nvidia-driver-pinning",),
        conflicts=("nvidia-driver-pinning",),
        tree="pinning-branch",
        since=580,
    ),
    Component(
        "nvidia-driver-pinning-{v}",
        "apt preferences that keep the driver at version {v}",
        provides=("nvidia-driver-pinning",),
        conflicts=("nvidia-driver-pinning",),
        tree="pinning-version",
        since=580,
    ),
    # NVSwitch systems; until 575 the branch is part of the name.
    Component("nvidia-fabricmanager-{b}", "Fabric Manager", until=579, tree="nvidia-fabricmanager"),
    Component("nvidia-fabricmanager", "Fabric Manager", since=580),
    Component("nvidia-imex-{b}", "IMEX service", until=579, tree="nvidia-imex"),
    Component("nvidia-imex", "IMEX service", since=580),
    Component("libnvidia-nscq-{b}", "NVSwitch query library", until=579, tree="libnvidia-nscq"),
    library("libnvidia-nscq", "NVSwitch query library", since=580),
)


def of_branch(branch: int) -> list[Component]:
    """The packages that releases of `branch` consist of."""
    return [component for component in COMPONENTS if component.in_branch(branch)]
