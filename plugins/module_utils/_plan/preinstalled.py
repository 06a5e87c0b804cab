# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A driver that somebody else installed: only proved. Private to this collection."""

from __future__ import annotations

from .driver_host import DriverHost
from .driver_wish import DriverWish
from .facts import DriverVersion
from .model import Finding
from .packages import is_of

SOURCE = "github.com/NVIDIA/gpu-operator#126"


def find_preinstalled(wish: DriverWish, host: DriverHost) -> tuple[Finding, ...]:
    """There is no driver, or it is another than a branch, version or flavour that was asked for."""
    driver = host.module.loaded or host.module.on_disk
    if driver is None:
        return (_absent(host),)
    if not wish.any_branch and not is_of(driver.version, wish.prefix):
        return (_other(f"driver {wish.prefix}", "driver_version and driver_branch", driver),)
    if wish.flavour not in ("auto", driver.flavour):
        return (_other(f"the {wish.flavour} kernel modules", "driver_flavour", driver),)
    return ()


def _absent(host: DriverHost) -> Finding:
    return Finding(
        id="GPU-PKG-118",
        severity="error",
        summary="driver_source is preinstalled, and this host has no driver",
        wanted="a driver that is loaded, or installed for the running kernel",
        found=f"no /proc/driver/nvidia/version, no nvidia module for {host.kernel.release} (modinfo)",
        remedy="install one, or set driver_source to cuda_repo or distro",
        source=SOURCE,
    )


def _other(wanted: str, options: str, driver: DriverVersion) -> Finding:
    return Finding(
        id="GPU-PKG-119",
        severity="error",
        summary=f"the driver of this host is not the one asked for: {driver.version}, {driver.flavour}",
        wanted=wanted,
        found=f"{driver.version} {driver.flavour} (/proc/driver/nvidia/version, modinfo)",
        remedy=f"leave {options} empty, or install that driver where this one came from",
        source=SOURCE,
    )
