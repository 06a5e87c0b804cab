# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads /proc/<pid>/cgroup: unit, container and pod of a process. Private to this collection.

Sources: cgroups(7); names that systemd, containerd, CRI-O, Docker, Podman and the kubelet give.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

UNIT = re.compile(r"/([^/]+\.service)(?=/|$)")
# cri-containerd-<id>.scope, crio-<id>.scope, docker-<id>.scope, libpod-<id>.scope, or <id> alone (cgroupfs).
CONTAINER = re.compile(r"(?:^|[/-])([0-9a-f]{64})(?:\.scope)?(?=/|$)")
# The systemd driver writes pod<uid> with underscores, below slices; cgroupfs with dashes.
POD = re.compile(r"pod([0-9a-f]{8}[_-][0-9a-f]{4}[_-][0-9a-f]{4}[_-][0-9a-f]{4}[_-][0-9a-f]{12})(?:\.slice)?(?=/|$)")


@dataclass(frozen=True)
class Place:
    """The innermost unit, the container's id and the pod's uid of a process; '' for none."""

    unit: str = ""
    container: str = ""
    pod: str = ""


def read_control_group(text: str) -> Place:
    """``0::/path`` of the unified hierarchy, or lines of several controllers: the longest path says most."""
    paths = [line.split(":", 2)[2] for line in text.splitlines() if line.count(":") >= 2]
    path = max(paths, key=len, default="")
    unit, container, pod = UNIT.findall(path), CONTAINER.findall(path), POD.search(path)
    return Place(
        # Of a container it is the engine's unit at most, which is none that the process can be stopped by.
        unit=unit[-1] if unit and not container else "",
        container=container[-1] if container else "",
        pod=pod.group(1).replace("_", "-") if pod else "",
    )
