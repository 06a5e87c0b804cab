# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads which containers compute on a GPU just now. Private to this collection."""

from __future__ import annotations

from .files import HostRoot
from .modules import read_holders

# What programs that compute or draw hold open. Those that only look (exporters, device plugins) do without.
WORK = ("/dev/nvidia-uvm", "/dev/nvidia-modeset")
SHORT = 12


def read_gpu_containers(host: HostRoot) -> tuple[str, ...]:
    """``program (pod, or the container's short id)`` of each process in a container that holds a GPU for work."""
    holders = (h for h in read_holders(host) if h.container and any(d.startswith(WORK) for d in h.devices))
    return tuple(dict.fromkeys(f"{h.name} ({h.pod or h.container[:SHORT]})" for h in holders))
