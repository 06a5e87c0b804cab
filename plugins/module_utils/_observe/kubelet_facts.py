# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gathers what gpu_info tells of a host's kubelet. Private to this collection."""

from __future__ import annotations

from typing import Any

from .command import Run
from .files import HostRoot
from .kubelet import PROGRAMS, read_kubelet


def read_kubelet_facts(host: HostRoot, run: Run) -> dict[str, Any]:
    """The key ``kubelet`` of gpu_info."""
    found = read_kubelet(host)
    return {
        "present": found.present,
        "running": found.running,
        "version": _version(host, run),
        "root_directory": found.root,
        "cgroup_driver": found.cgroup_driver,
        "runtime_endpoint": found.endpoint or None,
        "engine": found.engine or None,
        "node_name": found.node_name or None,
        "device_plugin_sockets": list(found.sockets),
        "registered_devices": None if found.registered is None else dict(found.registered),
    }


def _version(host: HostRoot, run: Run) -> str | None:
    """``Kubernetes v1.35.0``; None where there is no program to ask, or another host's tree is read."""
    program = next((p for p in PROGRAMS if host.root == "/" and host.is_executable(p)), None)
    status, out, _err = run([program, "--version"]) if program else (127, "", "")
    return out.split()[-1].lstrip("v") if status == 0 and out.split() else None
