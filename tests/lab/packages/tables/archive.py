# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ubuntu's own archive has of the driver: lines, each a branch for desktops or servers; transitional packages.

Names and relations: packages.ubuntu.com, ubuntu-drivers-common.
"""

from __future__ import annotations

from dataclasses import dataclass

from lab.packages.tables.canonical import Split, rows
from lab.packages.tables.component import Component, same
from lab.packages.versions import Driver


@dataclass(frozen=True)
class Line:
    """A line of driver packages in the archive; `with_modules`: there are modules compiled for the lab's kernel.

    `server`: the line for servers, whose names end in -server and whose DKMS module is nvidia-srv.
    """

    driver: Driver
    server: bool
    with_modules: bool = True

    @property
    def name(self) -> str:
        """As in names of packages: 580, 580-server."""
        return f"{self.driver.branch}{'-server' if self.server else ''}"

    @property
    def folder(self) -> str:
        """As in /lib/modules/<kernel>/kernel/nvidia-580srv."""
        return f"nvidia-{self.driver.branch}{'srv' if self.server else ''}"

    @property
    def dkms_name(self) -> str:
        """Name of the DKMS module."""
        return "nvidia-srv" if self.server else "nvidia"


# The modules of 595 were compiled before the newest packages of that line came: the two do not fit together.
LINES = (
    Line(Driver("580.178.04"), server=False),
    Line(Driver("580.178.04"), server=True),
    Line(Driver("595.71.05"), server=True),
    Line(Driver("595.84"), server=True, with_modules=False),
)
# Packages that the archive has once, whatever the branch; the settings tool with a version seen on 24.04.
OF_NO_BRANCH = (
    Component("nvidia-modprobe", "loads the modules and makes device nodes", programs=("nvidia-modprobe",)),
    Component("nvidia-settings", "tool for the driver's settings", ("libxnvctrl0",), version="510.47.03-0ubuntu4"),
    Component("libxnvctrl0", "NV-CONTROL X extension library", version="510.47.03-0ubuntu4"),
)
# Former branch -> what its packages bring now.
TRANSITIONAL = {"570-server": "580-server"}
TRANSITIONAL_NAMES = (
    "nvidia-driver-{}",
    "nvidia-driver-{}-open",
    "nvidia-headless-{}",
    "nvidia-headless-{}-open",
    "nvidia-headless-no-dkms-{}",
    "nvidia-headless-no-dkms-{}-open",
    "nvidia-dkms-{}",
    "nvidia-dkms-{}-open",
    "nvidia-utils-{}",
    "nvidia-compute-utils-{}",
    "libnvidia-compute-{}",
)


def line_rows(line: Line) -> tuple[Component, ...]:
    """The packages of a line; for servers also what NVSwitch systems need, with the branch in the name."""
    split = Split(f"-{line.name}", f"nvidia-firmware-{line.name}-{{v}}", own_persistenced=False, own_gpucomp=False)
    return (*rows(split), *(_fabric() if line.server else OF_NO_BRANCH))


def transitional_rows(line: Line) -> tuple[Component, ...]:
    """Empty packages with names of a former branch that bring this line."""
    formers = [former for former, present in TRANSITIONAL.items() if present == line.name]
    return tuple(
        Component(name.format(former), "transitional package", same(name.format(line.name)), of_all=True)
        for former in formers
        for name in TRANSITIONAL_NAMES
    )


def _fabric() -> tuple[Component, ...]:
    parts = {"nvidia-fabricmanager": "Fabric Manager", "nvidia-imex": "IMEX service", "libnvidia-nscq": "query library"}
    return tuple(
        Component(f"{name}-{{b}}", summary, sole=(name,), libraries=(name,), tree=name)
        for name, summary in parts.items()
    )
