# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a host's driver for reports: installed, loaded, libraries, kernels, services. Private to this collection."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from typing import Any

from .._catalog.branches import branch_of, state_of
from .._catalog.kernel_packages import kernel_words
from .._catalog.packages import PERSISTENCED_UNIT, RUNFILE_PATHS
from .._plan.driver_source import (
    CONTAINER,
    RUNFILE,
    UNACCOUNTED,
    DriverSource,
    driver_packages,
    driver_parts,
    driver_source,
    driver_sources,
)
from .._plan.facts import DriverVersion, Kernel, Package
from .._plan.versions import branch_number
from .boot import now
from .command import Run
from .dkms_tree import read_dkms_state
from .driver_version import module_version, read_module_file
from .files import HostRoot
from .installed import NO_DATABASE, read_installed
from .kernel import read_kernel
from .loaded_driver import read_loaded, read_module_options
from .module_trust import read_module_trust
from .modules import read_modules
from .nouveau import read_nouveau
from .package_locks import read_locks, read_streams
from .repository_facts import read_repositories
from .services import read_services

SERVICES = (
    PERSISTENCED_UNIT,
    "nvidia-fabricmanager.service",
    "nvidia-imex.service",
    "nvidia-gridd.service",
    "nvidia-topologyd.service",
    "nvidia-vgpud.service",
    "nvidia-vgpu-mgr.service",
    "nvidia-powerd.service",
    "nvidia-dcgm.service",
    "gdrcopy.service",
    "gpu-fleet-mig.service",
    "gpu-fleet-cdi.service",
    "gpu-fleet-validation.service",
)
# The subnet manager of NVLink 5 has no unit: the fabric manager's script starts it and leaves this file.
NVLSM, NVLSM_PID = "nvlsm", "/run/nvidia-fabricmanager/nvlsm.pid"
NO_UNIT = "no-unit"

LIBRARY_DIRECTORIES = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
)
LIBRARY = re.compile(r"libnvidia-ml\.so\.(\d+(?:\.\d+)+)")

# A driver container mounts its root here (gpu-operator).
CONTAINER_ROOT = "/run/nvidia/driver"
CONTAINER_PROGRAM = f"{CONTAINER_ROOT}/usr/bin/nvidia-smi"
# What nvidia-installer has written for its own removal: the version is the first line (nvidia-installer backup.c).
RUNFILE_LOG = "/var/lib/nvidia/log"
RELEASE = re.compile(r"\d{3}\.\d+(?:\.\d+)?")

NO_MODULE = "modinfo finds no nvidia module for the running kernel"
NO_LIBRARY = f"no libnvidia-ml.so.1 in {', '.join(LIBRARY_DIRECTORIES)}"
NO_EFI_VARIABLE = "the EFI variable SecureBoot is absent: no EFI, or the firmware hides it"
NOT_SIGNED = "the module on disk is not signed"


def read_driver_facts(host: HostRoot, run: Run) -> dict[str, Any]:
    """The part of gpu_info's ``driver`` that NVML has no say in. ``unknown``: key -> why its value is None."""
    kernel = read_kernel(host)
    packages, no_packages = read_installed(host, run)
    on_disk = read_module_file(host, run, release=kernel.release)
    nouveau = read_nouveau(host, run, set(read_modules(host)), release=kernel.release)
    sources = driver_sources(packages, runfile=_runfile(host), container=_container(host))
    loaded = read_loaded(host, on_disk)
    found = {
        "source": driver_source(
            sources, there=bool(loaded or on_disk["version"] or no_packages not in ("", NO_DATABASE))
        ),
        "sources": [{**asdict(row), "evidence": list(row.evidence)} for row in sources],
        **_versions(host, on_disk, loaded),
        **_packages(packages),
        "streams": read_streams(host),
        "locks": read_locks(host, packages),
        "repositories": read_repositories(host, packages),
        "loaded": loaded,
        "module_options": read_module_options(host),
        "kernels": _kernels(host, run, {kernel.release: on_disk}),
        "secure_boot": kernel.secure_boot,
        "module_trust": read_module_trust(host, run),
        **{name: value for name, value in nouveau.items() if name != "unknown"},
        "services": _services(host, run),
    }
    return {**found, "unknown": {**_unknown(found, kernel, no_packages), **nouveau["unknown"]}}


def _versions(host: HostRoot, on_disk: Mapping[str, Any], loaded: Mapping[str, Any] | None) -> dict[str, Any]:
    """Of the module on disk, the loaded one and the library; flavour, and state of the branch on this day."""
    known = DriverVersion(loaded["version"], loaded["flavour"]) if loaded else module_version(on_disk)
    branch = branch_of(branch_number(known.version) or 0) if known else None
    return {
        "installed_version": on_disk["version"],
        "loaded_version": loaded["version"] if loaded else None,
        "library_version": _library_version(host),
        "flavour": known.flavour if known else None,
        "signer": on_disk["signer"],
        "module_path": on_disk["filename"],
        "module_kind": on_disk["path_kind"],
        "branch": {
            "number": branch.number,
            "state": state_of(branch, date.fromisoformat(now()[:10])),
            "support_end": branch.support_end,
            "cuda": branch.cuda,
        }
        if branch
        else None,
    }


def _packages(packages: Mapping[str, Package]) -> dict[str, Any]:
    """Installed ones, those that dpkg did not finish, those on hold, and parts of several versions."""
    names = driver_packages(packages)
    parts = driver_parts(packages)
    return {
        "packages": {n: packages[n].version for n in names if packages[n].installed},
        "unfinished": {n: packages[n].state for n in names if not packages[n].installed},
        "held": [n for n in names if packages[n].held],
        "mixed_versions": parts if len(parts) > 1 else {},
    }


def _runfile(host: HostRoot) -> DriverSource | None:
    paths = tuple(p for p in (*RUNFILE_PATHS, RUNFILE_LOG) if host.exists(p))
    first = next(iter((host.text(RUNFILE_LOG) or "").splitlines()), "").strip()
    version = first if RELEASE.fullmatch(first) else None
    return DriverSource(RUNFILE, "", None, version, paths) if paths else None


def _container(host: HostRoot) -> DriverSource | None:
    if not host.exists(CONTAINER_PROGRAM):
        return None
    return DriverSource(CONTAINER, "", None, _library_version(host, CONTAINER_ROOT), (CONTAINER_PROGRAM,))


def _library_version(host: HostRoot, root: str = "") -> str | None:
    """Out of the real name behind libnvidia-ml.so.1."""
    for directory in LIBRARY_DIRECTORIES:
        name = posixpath.basename(host.resolve(f"{root}{directory}/libnvidia-ml.so.1"))
        found = LIBRARY.fullmatch(name)
        if found and host.exists(f"{root}{directory}/libnvidia-ml.so.1"):
            return found.group(1)
    return None


def _kernels(host: HostRoot, run: Run, running: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every kernel whose modules are installed, with the nvidia module that modprobe would load there.

    ``running``: the release of the running kernel -> what modinfo said of its module.
    """
    releases = [r for r in host.names("/lib/modules") if host.exists(f"/lib/modules/{r}/modules.dep")]
    files = {r: running[r] if r in running else read_module_file(host, run, release=r) for r in releases}
    return [_kernel(host, release, file, running=release in running) for release, file in files.items()]


def _kernel(host: HostRoot, release: str, file: Mapping[str, Any], *, running: bool) -> dict[str, Any]:
    return {
        "version": release,
        "flavour": kernel_words(release)["kernel_flavour"] or None,
        "running": running,
        "headers": host.is_dir(f"/lib/modules/{release}/build"),
        "module": file["version"],
        "module_flavour": file["flavour"],
        "module_signer": file["signer"],
        "module_kind": file["path_kind"],
        "dkms": read_dkms_state(host, release),
    }


def _services(host: HostRoot, run: Run) -> dict[str, dict[str, str]]:
    """Units as systemd has them. Another root's systemd cannot be asked."""
    if host.root != "/":
        return {}
    units = read_services(run, SERVICES)
    found = {n: {"loaded": s.loaded, "active": s.active, "enabled": s.enabled} for n, s in units.items()}
    pid = host.line(NVLSM_PID) or ""
    active = "active" if pid.isdigit() and host.exists(f"/proc/{pid}") else "inactive"
    return {**found, NVLSM: {"loaded": NO_UNIT, "active": active, "enabled": ""}}


def _unknown(found: Mapping[str, Any], kernel: Kernel, no_packages: str) -> dict[str, str]:
    """Key -> why nothing is known: null alone does not say whether something is absent or could not be read."""
    reasons = {
        "source": no_packages if no_packages not in ("", NO_DATABASE) else UNACCOUNTED,
        "installed_version": NO_MODULE,
        "loaded_version": "no driver is loaded",
        "library_version": NO_LIBRARY,
        "flavour": "no driver is loaded or on disk",
        "signer": NOT_SIGNED if found["installed_version"] else NO_MODULE,
        "module_path": NO_MODULE,
        "module_kind": "the path of the module is none that a known packager uses"
        if found["module_path"]
        else NO_MODULE,
        "branch": "no driver, or its branch is not in the catalog",
        "loaded": "no driver is loaded",
        "secure_boot": NO_EFI_VARIABLE,
    }
    unknown = {name: why for name, why in reasons.items() if found[name] is None}
    if no_packages:
        unknown["packages"] = no_packages
    if not kernel.release:
        unknown["kernels"] = "the release of the running kernel is not known"
    return unknown
