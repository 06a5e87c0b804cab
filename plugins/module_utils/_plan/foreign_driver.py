# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A driver that somebody else brought. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence

from .._catalog import packages as names
from .driver_host import DriverHost
from .driver_set import kernel_packages, of_other_sources
from .driver_wish import CUDA_REPO
from .facts import OsRelease
from .model import Finding
from .modules import ModuleHost
from .packages import matches


def find_foreign(host: DriverHost, *, any_source: bool) -> tuple[Finding, ...]:
    """A driver that came another way, and preferences that are not ours.

    Who names a source has decided about packages of another one: they make way. Without that they are refused.
    """
    found = []
    if host.runfile:
        found.append(_runfile(host.runfile))
    archive = of_other_sources(host.os, CUDA_REPO, host.packages) if any_source else ()
    if archive:
        found.append(_archive(archive, host.os))
    pinning = [n for n in host.packages if matches(n, (names.PINNING_PATTERN,))]
    if pinning:
        found.append(_pinning(pinning[0]))
    ours = any(o.startswith("package:") for o in host.owned)
    if not found and host.module.loaded and not ours and not kernel_packages(host.os, host.packages):
        found.append(_preinstalled(host.module))
    return tuple(found)


def _runfile(path: str) -> Finding:
    return Finding(
        id="GPU-PKG-011",
        severity="error",
        summary="NVIDIA's .run installer put a driver on this host",
        wanted="a driver from one source: packages",
        found=path,
        remedy="remove it first: nvidia-uninstall --silent",
        source="github.com/GoogleCloudPlatform/compute-gpu-installation#10",
    )


def _archive(found: Sequence[str], os: OsRelease) -> Finding:
    return Finding(
        id="GPU-PKG-006",
        severity="error",
        summary=f"this host has a driver that is not of NVIDIA's CUDA repository ({os.name})",
        wanted="a decision about it, or packages of NVIDIA's CUDA repository only",
        found=f"installed: {', '.join(found)}",
        remedy="set driver_source to cuda_repo to replace it, or to distro to keep the distribution's",
        source="github.com/canonical/tdx#370",
    )


def _pinning(package: str) -> Finding:
    return Finding(
        id="GPU-PKG-105",
        severity="error",
        summary=f"{package} is installed, and its preferences fight ours over the version",
        wanted="one preferences file about the driver: /etc/apt/preferences.d/gpu-fleet-driver",
        found=f"package {package}",
        remedy=f"remove it: apt-get remove {package}",
        source="docs.nvidia.com/datacenter/tesla/driver-installation-guide/version-locking",
    )


def _preinstalled(module: ModuleHost) -> Finding:
    version = module.loaded.version if module.loaded else ""
    return Finding(
        id="GPU-PKG-110",
        severity="error",
        summary=f"a driver {version} is loaded that no package of this host brought",
        wanted="no driver, or one that packages brought",
        found=f"{version} in /proc/driver/nvidia/version; no package of kernel modules is installed",
        remedy="set driver_source to preinstalled to keep it, or remove that driver and reboot",
        source="github.com/NVIDIA/gpu-operator#126",
    )
