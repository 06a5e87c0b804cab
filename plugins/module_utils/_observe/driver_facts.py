# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a host's driver for reports: installed, loaded, libraries, kernels, services. Private to this collection."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from .._catalog.packages import PERSISTENCED_UNIT, RUNFILE_PATHS
from .._plan.driver_source import driver_packages, driver_source
from .command import Run
from .dkms_tree import read_dkms_state
from .driver_version import read_loaded_driver, read_module_on_disk
from .files import HostRoot
from .kernel import read_kernel
from .modules import read_modules
from .packages import read_packages
from .services import read_services

SERVICES = (
    PERSISTENCED_UNIT,
    "nvidia-fabricmanager.service",
    "nvidia-imex.service",
    "nvidia-gridd.service",
    "nvidia-dcgm.service",
    "gpu-fleet-mig.service",
    "gpu-fleet-cdi.service",
    "gpu-fleet-validation.service",
)
LIBRARY_DIRECTORIES = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
)
LIBRARY = re.compile(r"libnvidia-ml\.so\.(\d+(?:\.\d+)+)")

# A driver container mounts its root here (gpu-operator).
CONTAINER_MODULE = "/run/nvidia/driver/usr/bin/nvidia-smi"


def read_driver_facts(host: HostRoot, run: Run) -> dict[str, Any]:
    """The part of gpu_info's ``driver`` that NVML has no say in. What is not there is None."""
    kernel, modules, packages = read_kernel(host), read_modules(host), read_packages(host)
    loaded = read_loaded_driver(host)
    on_disk = read_module_on_disk(host, run, release=kernel.release)
    known = loaded or on_disk
    names = driver_packages(n for n, p in packages.items() if p.installed)
    services = read_services(run, SERVICES) if host.root == "/" else {}
    return {
        "source": driver_source(
            names,
            runfile=any(host.exists(p) for p in RUNFILE_PATHS),
            container=host.exists(CONTAINER_MODULE),
            loaded=loaded is not None,
        ),
        "installed_version": on_disk.version if on_disk else None,
        "loaded_version": loaded.version if loaded else None,
        "library_version": _library_version(host),
        "flavour": known.flavour if known else None,
        "signer": on_disk.signer if on_disk else None,
        "packages": {n: packages[n].version for n in names},
        "held": [n for n in names if packages[n].held],
        "kernels": _kernels(host, run, kernel.release),
        "secure_boot": kernel.secure_boot,
        "nouveau": "nouveau" in modules,
        "services": {n: {"loaded": s.loaded, "active": s.active, "enabled": s.enabled} for n, s in services.items()},
    }


def _library_version(host: HostRoot) -> str | None:
    """Out of the real name behind libnvidia-ml.so.1."""
    for directory in LIBRARY_DIRECTORIES:
        name = posixpath.basename(host.resolve(f"{directory}/libnvidia-ml.so.1"))
        found = LIBRARY.fullmatch(name)
        if found and host.exists(f"{directory}/libnvidia-ml.so.1"):
            return found.group(1)
    return None


def _kernels(host: HostRoot, run: Run, running: str) -> list[dict[str, Any]]:
    """Every kernel whose modules are installed, with the nvidia module that modprobe would load there."""
    releases = [r for r in host.names("/lib/modules") if host.exists(f"/lib/modules/{r}/modules.dep")]
    return [_kernel(host, run, release, running=release == running) for release in releases]


def _kernel(host: HostRoot, run: Run, release: str, *, running: bool) -> dict[str, Any]:
    module = read_module_on_disk(host, run, release=release)
    return {
        "version": release,
        "running": running,
        "headers": host.is_dir(f"/lib/modules/{release}/build"),
        "module": module.version if module else None,
        "module_flavour": module.flavour if module else None,
        "module_signer": module.signer if module else None,
        "dkms": read_dkms_state(host, release),
    }
