# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads version and flavour of the driver, loaded and on disk. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plan.facts import DriverVersion
from .command import Run
from .files import HostRoot
from .texts.driver_banner import read_driver_banner
from .texts.modinfo import read_modinfo

BANNER = "/proc/driver/nvidia/version"


def read_loaded_driver(host: HostRoot) -> DriverVersion | None:
    """The loaded nvidia module, or None where none is loaded."""
    found = parse_banner(host.text(BANNER) or "")
    loaded = host.line("/sys/module/nvidia/version")
    if found is None or loaded is None:
        return found
    return DriverVersion(version=loaded, flavour=found.flavour)


def parse_banner(text: str) -> DriverVersion | None:
    """The first line of /proc/driver/nvidia/version; None for a text without it."""
    found = read_driver_banner(text)
    return DriverVersion(version=found["driver"], flavour=found["flavour"]) if found["driver"] else None


def read_module_on_disk(host: HostRoot, run: Run, *, release: str) -> DriverVersion | None:
    """The nvidia module that modprobe would load into kernel ``release``; None where there is none."""
    return module_version(read_module_file(host, run, release=release))


def read_module_file(host: HostRoot, run: Run, *, release: str) -> dict[str, Any]:
    """What modinfo(8) says of that module, as read_modinfo() has it; every value is None where there is none.

    modinfo reads the compressed forms too, and the index that depmod made: what it does not list cannot be loaded.
    """
    base = [] if host.root == "/" else ["-b", host.root]
    status, text, _errors = run(["modinfo", *base, "-k", release, "nvidia"])
    return read_modinfo(text if status == 0 else "")


def module_version(found: Mapping[str, Any]) -> DriverVersion | None:
    """modinfo's fields version, license and signer, as read_modinfo() has them; None without a version."""
    if not found["version"]:
        return None
    return DriverVersion(version=found["version"], flavour=found["flavour"] or "proprietary", signer=found["signer"])
