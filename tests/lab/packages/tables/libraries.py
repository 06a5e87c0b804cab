# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's libraries by package: file name, SONAME, links. Names from package lists of 570.158.01 and 595.58.03."""

from __future__ import annotations

from dataclasses import dataclass

MULTIARCH, LIB64 = "usr/lib/x86_64-linux-gnu", "usr/lib64"
XORG = "xorg/modules"


@dataclass(frozen=True)
class Library:
    """`file` and `soname` may hold {v}, the driver's version. `links` are further names in the same folder.

    `below` is a folder in the distribution's own for libraries; that of the X server lies beside the multiarch one.
    """

    file: str
    soname: str
    links: tuple[str, ...] = ()
    below: str = ""

    def path(self, folder: str) -> str:
        """Where the file goes on a distribution that has its libraries in `folder`, MULTIARCH or LIB64."""
        base = folder.removesuffix("/x86_64-linux-gnu") if self.below.startswith(XORG) else folder
        return f"{base}/{self.below}" if self.below else base


def numbered(stem: str, number: int = 1, *, development_link: bool = False, below: str = "") -> Library:
    """`<stem>.so.<driver>` with SONAME `<stem>.so.<number>`, as most of them are."""
    links = (f"{stem}.so",) if development_link else ()
    return Library(f"{stem}.so.{{v}}", f"{stem}.so.{number}", links, below)


def exact(stem: str) -> Library:
    """A library whose SONAME is the driver's version: only its own siblings can use it."""
    return Library(f"{stem}.so.{{v}}", f"{stem}.so.{{v}}")


def plain(name: str) -> Library:
    """A library without the driver's version in its name."""
    return Library(name, name)


def platform(stem: str, version: str) -> Library:
    """An EGL external platform library, with a version of its own."""
    return Library(f"{stem}.so.{version}", f"{stem}.so.1")


LIBRARIES: dict[str, tuple[Library, ...]] = {
    "libcuda1": (numbered("libcuda", development_link=True),),
    "libcudadebugger1": (numbered("libcudadebugger"),),
    "libegl-nvidia0": (numbered("libEGL_nvidia", 0),),
    "libgles-nvidia1": (numbered("libGLESv1_CM_nvidia"),),
    "libgles-nvidia2": (numbered("libGLESv2_nvidia", 2),),
    "libglx-nvidia0": (numbered("libGLX_nvidia", 0),),
    "libnvcuvid1": (numbered("libnvcuvid", development_link=True),),
    "libnvidia-allocator1": (numbered("libnvidia-allocator"),),
    "libnvidia-api1": (plain("libnvidia-api.so.1"),),
    "libnvidia-cfg1": (numbered("libnvidia-cfg"),),
    "libnvidia-egl-gbm1": (platform("libnvidia-egl-gbm", "1.1.3"),),
    "libnvidia-egl-wayland21": (platform("libnvidia-egl-wayland2", "1.0.1"),),
    "libnvidia-egl-xcb1": (platform("libnvidia-egl-xcb", "1.0.5"),),
    "libnvidia-egl-xlib1": (platform("libnvidia-egl-xlib", "1.0.5"),),
    "libnvidia-eglcore": (exact("libnvidia-eglcore"), exact("libnvidia-glsi")),
    "libnvidia-encode1": (numbered("libnvidia-encode", development_link=True),),
    "libnvidia-fbc1": (numbered("libnvidia-fbc"),),
    "libnvidia-glcore": (exact("libnvidia-glcore"), exact("libnvidia-tls")),
    "libnvidia-glvkspirv": (exact("libnvidia-glvkspirv"),),
    "libnvidia-gpucomp": (exact("libnvidia-gpucomp"),),
    "libnvidia-ml1": (numbered("libnvidia-ml", development_link=True),),
    "libnvidia-ngx1": (numbered("libnvidia-ngx"),),
    "libnvidia-nscq": (numbered("libnvidia-nscq", 2),),
    "libnvidia-nvvm4": (numbered("libnvidia-nvvm", 4),),
    "libnvidia-nvvm704": (plain("libnvidia-nvvm70.so.4"),),
    "libnvidia-opticalflow1": (numbered("libnvidia-opticalflow"),),
    "libnvidia-pkcs11-openssl3": (exact("libnvidia-pkcs11-openssl3"),),
    "libnvidia-present": (exact("libnvidia-present"),),
    "libnvidia-ptxjitcompiler1": (numbered("libnvidia-ptxjitcompiler"),),
    "libnvidia-rtcore": (exact("libnvidia-rtcore"),),
    "libnvidia-sandboxutils": (numbered("libnvidia-sandboxutils"),),
    "libnvidia-tileiras": (exact("libnvidia-tileiras"),),
    "libnvidia-vksc-core": (numbered("libnvidia-vksc-core"),),
    "libnvoptix1": (numbered("libnvoptix"),),
    "libnvsdm": (numbered("libnvsdm"),),
    "libxnvctrl0": (Library("libXNVCtrl.so.0.0.0", "libXNVCtrl.so.0"),),
    "nvidia-opencl-icd": (numbered("libnvidia-opencl"),),
    "nvidia-vdpau-driver": (numbered("libvdpau_nvidia", below="vdpau"),),
    "xserver-xorg-video-nvidia": (
        Library("nvidia_drv.so", "nvidia_drv.so", below=f"{XORG}/drivers"),
        Library("libglxserver_nvidia.so.{v}", "libglxserver_nvidia.so", below=f"{XORG}/extensions"),
    ),
}
