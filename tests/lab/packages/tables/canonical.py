# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The split of the driver into packages that Canonical made, and that NVIDIA's repository for Ubuntu keeps.

Relations: NVIDIA/ubuntu-packaging-nvidia-driver (control.in), pages of packages.ubuntu.com.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lab.packages.tables.component import FIRST, LAST, LICENSES, OPEN_ONLY_FROM, Component, same

COMPUTE = [
    "libcuda1",
    "libcudadebugger1",
    "libnvidia-ml1",
    "libnvidia-nvvm4",
    "libnvidia-pkcs11-openssl3",
    "libnvidia-ptxjitcompiler1",
    "libnvidia-sandboxutils",
    "nvidia-opencl-icd",
]
GRAPHICS = [
    "libegl-nvidia0",
    "libgles-nvidia1",
    "libgles-nvidia2",
    "libglx-nvidia0",
    "libnvidia-eglcore",
    "libnvidia-glcore",
    "libnvidia-glvkspirv",
    "libnvidia-ngx1",
    "libnvidia-rtcore",
    "libnvidia-vksc-core",
    "libnvoptix1",
]

BINARY = OPEN_ONLY_FROM - 1


@dataclass(frozen=True)
class Split:
    """What differs from branch to branch and between the two repositories.

    `suffix` ends the names; `firmware` is the name of that package. The others say what has a package of its own:
    nvidia-persistenced (else part of nvidia-compute-utils), libnvidia-gpucomp (else of libnvidia-compute), and the
    programs (else nvidia-smi and MPS are part of libnvidia-compute).
    """

    suffix: str
    firmware: str
    own_persistenced: bool = True
    own_gpucomp: bool = True
    own_programs: bool = True


def rows(split: Split, *, since: int = FIRST, until: int = LAST) -> tuple[Component, ...]:
    """All rows of one split; the binary flavour ends with the last branch that has it."""
    found = [*_libraries(split), *_programs(split), *_kernel_side(split)]
    bounded = [replace(row, since=since, until=until) for row in found]
    for flavour in LICENSES:
        last = until if flavour else min(until, BINARY)
        bounded += [replace(row, since=since, until=last) for row in _flavour(split, flavour)]
    return tuple(bounded)


def _libraries(split: Split) -> list[Component]:
    s = split.suffix
    gpucomp = same(f"libnvidia-gpucomp{s}") if split.own_gpucomp else ()
    found = [
        _compute(split),
        Component(
            f"libnvidia-cfg1{s}", "configuration library", sole=("libnvidia-cfg1-any",), libraries=("libnvidia-cfg1",)
        ),
        Component(
            f"libnvidia-common{s}",
            "shared files of the libraries",
            sole=("libnvidia-common",),
            tree="libnvidia-common",
            of_all=True,
        ),
        Component(
            f"libnvidia-decode{s}",
            "video decoding",
            same(f"libnvidia-compute{s}"),
            sole=("libnvidia-decode",),
            libraries=("libnvcuvid1", "libnvidia-opticalflow1", "nvidia-vdpau-driver"),
        ),
        Component(
            f"libnvidia-encode{s}", "video encoding", sole=("libnvidia-encode",), libraries=("libnvidia-encode1",)
        ),
        Component(
            f"libnvidia-extra{s}",
            "extra libraries",
            sole=("libnvidia-extra",),
            libraries=("libnvidia-allocator1", "libnvidia-api1"),
        ),
        Component(
            f"libnvidia-fbc1{s}", "frame buffer capture", sole=("libnvidia-fbc1",), libraries=("libnvidia-fbc1",)
        ),
        Component(
            f"libnvidia-gl{s}",
            "OpenGL, EGL, GLES libraries and Vulkan ICD",
            (*same(f"libnvidia-common{s}"), *gpucomp),
            sole=("libnvidia-gl",),
            libraries=tuple(GRAPHICS),
            also=("nvidia-egl-icd", "nvidia-vulkan-icd"),
        ),
        Component(
            f"xserver-xorg-video-nvidia{s}",
            "X.org driver",
            same(f"libnvidia-cfg1{s}"),
            sole=("nvidia-driver-binary",),
            libraries=("xserver-xorg-video-nvidia",),
        ),
    ]
    if split.own_gpucomp:
        found.append(Component(f"libnvidia-gpucomp{s}", "GPU compiler library", libraries=("libnvidia-gpucomp",)))
    return found


def _compute(split: Split) -> Component:
    virtual = () if split.own_programs else ("nvidia-utils", "nvidia-smi", "nvidia-compute-utils")
    depends = (
        *(same(f"libnvidia-gpucomp{split.suffix}") if split.own_gpucomp else ()),
        *(() if split.own_programs else same("nvidia-persistenced")),
    )
    return Component(
        f"libnvidia-compute{split.suffix}",
        "NVIDIA libcompute package",
        depends,
        provides=("libcuda1 (= {p})", "libnvidia-ml1 (= {p})", "nvidia-opencl-icd", "opencl-icd", *virtual),
        conflicts=("nvidia-opencl-icd", *virtual),
        replaces=("nvidia-opencl-icd", *virtual),
        programs=() if split.own_programs else ("nvidia-smi",),
        libraries=(*COMPUTE, *(() if split.own_gpucomp else ("libnvidia-gpucomp",))),
        also=("nvidia-opencl-icd", *(() if split.own_programs else ("nvidia-cuda-mps", "nvidia-debugdump"))),
    )


def _programs(split: Split) -> list[Component]:
    if not split.own_programs:
        return []
    s = split.suffix
    utilities = Component(
        f"nvidia-utils{s}",
        "NVIDIA driver support binaries",
        sole=(
            "nvidia-utils",
            "nvidia-smi",
        ),
        programs=("nvidia-smi",),
        also=("nvidia-debugdump", "nvidia-xconfig"),
    )
    daemon = not split.own_persistenced
    compute = Component(
        f"nvidia-compute-utils{s}",
        "NVIDIA compute utilities",
        (f"libnvidia-compute{s}", "adduser") if daemon else (f"libnvidia-compute{s}",),
        sole=("nvidia-compute-utils", *(("nvidia-persistenced",) if daemon else ())),
        programs=("nvidia-persistenced",) if daemon else (),
        also=("nvidia-cuda-mps", *(("nvidia-compute-utils",) if daemon else ())),
    )
    return [utilities, compute]


def _kernel_side(split: Split) -> list[Component]:
    name = f"nvidia-kernel-common{split.suffix}"
    depends = same(split.firmware)
    return [
        Component(
            name,
            "shared files of the kernel module",
            depends,
            sole=("nvidia-kernel-common",),
            tree="nvidia-kernel-common",
        ),
        Component(split.firmware, "firmware files used by the kernel module", firmware=True),
    ]


def _flavour(split: Split, flavour: str) -> list[Component]:
    """Modules of one flavour, "" or "-open", and the whole sets that want it."""
    s = split.suffix
    source, dkms = f"nvidia-kernel-source{s}{flavour}", f"nvidia-dkms{s}{flavour}"
    headless = f"nvidia-headless-no-dkms{s}{flavour}"
    terms = LICENSES[flavour]
    return [
        Component(
            source,
            "NVIDIA kernel source package",
            sole=("nvidia-kernel-source",),
            tree="nvidia-kernel-source",
            license=terms,
        ),
        Component(
            dkms,
            "NVIDIA DKMS package",
            ("dkms", *same(source, f"nvidia-kernel-common{s}")),
            sole=("nvidia-dkms-kernel",),
            tree="nvidia-dkms",
        ),
        Component(headless, "NVIDIA headless metapackage, no DKMS", same(source, *_headless(split))),
        Component(f"nvidia-headless{s}{flavour}", "NVIDIA headless metapackage", same(headless, dkms)),
        Component(
            f"nvidia-driver{s}{flavour}",
            "NVIDIA driver metapackage",
            same(dkms, source, *_desktop(split)),
            ("nvidia-settings",),
        ),
    ]


def _headless(split: Split) -> list[str]:
    s = split.suffix
    programs = [f"nvidia-compute-utils{s}"] if split.own_programs else []
    return [f"libnvidia-compute{s}", *programs, f"libnvidia-cfg1{s}"]


def _desktop(split: Split) -> list[str]:
    parts = (
        "libnvidia-gl libnvidia-compute libnvidia-extra libnvidia-decode libnvidia-encode libnvidia-cfg1 libnvidia-fbc1"
    )
    programs = ["nvidia-compute-utils", "nvidia-utils"] if split.own_programs else []
    return [f"{part}{split.suffix}" for part in (*parts.split(), *programs, "xserver-xorg-video-nvidia")]
