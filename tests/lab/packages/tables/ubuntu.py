# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's packages as NVIDIA's CUDA repository for Ubuntu names and splits them; README.md has the sources.

Up to 580 the branch is in nearly every name, from 590 on in none.
"""

from __future__ import annotations

from lab.packages.tables.canonical import Split, rows
from lab.packages.tables.component import FIRST, LAST, OPEN_ONLY_FROM, UNBRANCHED_FROM, Component, least, same
from lab.packages.tables.fabric import FABRIC
from lab.packages.tables.pinning import PINNING

BRANCHED, BINARY = UNBRANCHED_FROM - 1, OPEN_ONLY_FROM - 1
FORMER = Split("-{b}", "nvidia-firmware-{b}-{v}", own_persistenced=False, own_gpucomp=False)
SEPARATE = Split("-{b}", "nvidia-firmware-{b}")
MERGED = Split("", "nvidia-firmware", own_programs=False)


def whole(name: str, summary: str, *depends: str, since: int = FIRST, until: int = LAST) -> Component:
    """A whole set; since 590 the pinning package of the branch comes along where recommendations are followed."""
    recommends = ("nvidia-driver-pinning-{b}",) if since >= UNBRANCHED_FROM else ()
    return Component(name, summary, depends, recommends, since=since, until=until)


UBUNTU: tuple[Component, ...] = (
    *rows(FORMER, until=579),
    *rows(SEPARATE, since=580, until=BRANCHED),
    *rows(MERGED, since=UNBRANCHED_FROM),
    Component(
        "nvidia-persistenced",
        "keeps the driver's state while no client runs",
        ("adduser",),
        programs=("nvidia-persistenced",),
        since=580,
    ),
    Component("nvidia-modprobe", "loads the modules and makes device nodes", programs=("nvidia-modprobe",)),
    Component("nvidia-settings", "tool for the driver's settings", same("libxnvctrl0")),
    Component("libxnvctrl0", "NV-CONTROL X extension library"),
    Component("nvidia-xconfig", "tool for X configuration", since=UNBRANCHED_FROM),
    Component("libnvidia-egl-gbm1", "EGL platform GBM", version="1.1.3-1ubuntu1", since=595),
    Component("libnvidia-egl-wayland21", "EGL platform Wayland, version 2", version="1.0.1-1ubuntu1", since=595),
    Component("libnvidia-egl-xcb1", "EGL platform XCB", version="1:1.0.5-1ubuntu1", since=595),
    Component("libnvidia-egl-xlib1", "EGL platform Xlib", version="1:1.0.5-1ubuntu1", since=595),
    whole("nvidia-open", "newest driver, open modules", *same("nvidia-open-{b}"), until=BRANCHED),
    whole("nvidia-open-{b}", "driver branch {b}, open modules", *same("nvidia-driver-{b}-open"), until=BRANCHED),
    whole("cuda-drivers", "newest driver, binary modules", *same("cuda-drivers-{b}"), until=BRANCHED),
    whole("cuda-drivers-{b}", "driver branch {b}, binary modules", *same("nvidia-driver-{b}"), until=BRANCHED),
    whole("nvidia-open", "driver, open modules", *least("nvidia-driver-open"), since=UNBRANCHED_FROM),
    whole("cuda-drivers", "driver, binary modules", *least("nvidia-driver"), since=UNBRANCHED_FROM, until=BINARY),
    *PINNING,
    *FABRIC,
)
