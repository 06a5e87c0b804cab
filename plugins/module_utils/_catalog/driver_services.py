# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that hold the driver without work of users, and may be stopped for it. Private to this collection.

A new service is one row in SERVICES.
"""

from __future__ import annotations

from dataclasses import dataclass

CONTAINER = "github.com/NVIDIA/gpu-driver-container 06a208c (order in which it stops its daemons)"


@dataclass(frozen=True)
class DriverService:
    """A unit, and its processes by the name that /proc/<pid>/comm cuts to 15 characters."""

    unit: str
    processes: tuple[str, ...]
    source: str
    as_of: str


# In the order of stopping: those that ask before those that are asked.
SERVICES = (
    DriverService("dcgm-exporter.service", ("dcgm-exporter",), "github.com/NVIDIA/dcgm-exporter", "2026-11-30"),
    DriverService("nvidia-dcgm.service", ("nv-hostengine",), "github.com/NVIDIA/DCGM 4.6.0", "2026-07-06"),
    DriverService("nvidia-topologyd.service", ("nvidia-topology",), CONTAINER, "2026-08-17"),
    DriverService("nvidia-gridd.service", ("nvidia-gridd",), CONTAINER, "2026-08-17"),
    DriverService(
        "nvidia-imex.service", ("nvidia-imex",), "docs.nvidia.com/multi-node-nvlink-systems/imex-guide", "2026-11-30"
    ),
    DriverService("nvidia-fabricmanager.service", ("nv-fabricmanage", "nvlsm"), CONTAINER, "2026-08-17"),
    DriverService("nvidia-persistenced.service", ("nvidia-persiste",), CONTAINER, "2026-08-17"),
)
UNITS = tuple(s.unit for s in SERVICES)


@dataclass(frozen=True)
class DropIn:
    """What the unit of the persistence daemon lacks in a distribution's packages, as a drop-in of systemd."""

    distribution: str
    text: str
    source: str
    as_of: str


PERSISTENCED_DROP_IN = "/etc/systemd/system/nvidia-persistenced.service.d/gpu-fleet.conf"
DROP_INS = (
    # Ubuntu's unit runs without persistence mode, has no [Install] section and ends when nothing asks for it.
    DropIn(
        "ubuntu",
        "# Managed by gpu.fleet; removed with the role that wrote it.\n"
        "[Unit]\nStopWhenUnneeded=false\n\n"
        "[Service]\nExecStart=\nExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --verbose\n\n"
        "[Install]\nWantedBy=multi-user.target\n",
        "packages nvidia-compute-utils-580 and -595-server of Ubuntu; public boot logs",
        "2026-11-30",
    ),
)


def drop_in_for(distribution: str) -> str:
    """The text of the drop-in, '' where the distribution's unit does by itself what is wanted."""
    return next((d.text for d in DROP_INS if d.distribution == distribution), "")


def unit_of(process: str) -> str | None:
    """The unit that runs a process of this name, None for one that is no service of the driver."""
    return next((s.unit for s in SERVICES if process in s.processes), None)
