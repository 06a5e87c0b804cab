# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages for NVSwitch and NVLink systems, the same in NVIDIA's repositories for Debian and Ubuntu.

Until 575 the branch is part of the name; since 580 the name with it is a virtual package only, so that
`apt-get install nvidia-imex-580` works and `nvidia-imex-580=<version>` is not found (NVIDIA/gpu-driver-container#451).
"""

from __future__ import annotations

from lab.packages.tables.component import Component

WITH_BRANCH, WITHOUT = 579, 580


def former(name: str, summary: str) -> Component:
    """A package with the branch in its name; NVIDIA/apt-packaging-fabric-manager has the relations."""
    return Component(
        f"{name}-{{b}}",
        summary,
        sole=(name,),
        version="{n}",
        until=WITH_BRANCH,
        tree=name,
    )


def present(name: str, summary: str) -> Component:
    """The same without it."""
    return Component(name, summary, provides=(f"{name}-{{b}}",), version="{n}", since=WITHOUT)


def bundle(name: str, *, since: int, until: int) -> Component:
    """All that an NVLink 5 system needs; relations as `apt-cache show nvlink5-580` of 580.159.04-1 has them."""
    fabric = ("libnvidia-nscq", "libnvsdm", "nvidia-fabricmanager", "nvidia-imex")
    former_names = "-{b}" if until <= WITH_BRANCH else ""
    return Component(
        name,
        "NVLink 5 software",
        (
            *(f"{part}{former_names} (>= {{b}})" for part in fabric),
            "nvidia-dkms{s}-open | nvidia-kernel-open-dkms (>= {b})",
            "libnvidia-compute{s} | nvidia-driver-cuda (>= {b})",
            "collectx-bringup (>= 1.22.1)",
            "mft (>= 4.35.0.159)",
            "mft-oem (>= 4.35.0.159)",
            "mft-autocomplete (>= 4.35.0.159)",
            "nvlsm (>= 2025.06.11)",
        ),
        provides=("nvlink5-branch",),
        version="{n}",
        since=since,
        until=until,
    )


FABRIC_MANAGER, IMEX, NSCQ, NVSDM = (
    "Fabric Manager",
    "IMEX service",
    "NVSwitch query library",
    "NVSwitch device manager",
)
FABRIC: tuple[Component, ...] = (
    former("nvidia-fabricmanager", FABRIC_MANAGER),
    former("nvidia-fabricmanager-dev", f"{FABRIC_MANAGER}, headers and library"),
    former("nvidia-imex", IMEX),
    former("libnvidia-nscq", NSCQ),
    former("libnvsdm", NVSDM),
    Component(
        "cuda-drivers-fabricmanager-{b}",
        f"{FABRIC_MANAGER} and the driver of branch {{b}}",
        ("nvidia-fabricmanager-{b} (= {n})", "cuda-drivers-{b} (= {p})"),
        sole=("cuda-drivers-fabricmanager-branch",),
        version="{n}",
        until=WITH_BRANCH,
    ),
    Component(
        "cuda-drivers-fabricmanager",
        f"{FABRIC_MANAGER} and the driver",
        ("cuda-drivers-fabricmanager-{b} (= {n})",),
        version="{n}",
        until=WITH_BRANCH,
    ),
    present("nvidia-fabricmanager", FABRIC_MANAGER),
    present("nvidia-fabricmanager-dev", f"{FABRIC_MANAGER}, headers and library"),
    present("nvidia-imex", IMEX),
    present("libnvidia-nscq", NSCQ),
    present("libnvsdm", NVSDM),
    present("libnvsdm-dev", f"{NVSDM}, headers"),
    bundle("nvlink5-{b}", since=0, until=WITH_BRANCH),
    bundle("nvlink5-{b}", since=WITHOUT, until=589),
    bundle("nvlink5", since=WITHOUT, until=9999),
)
