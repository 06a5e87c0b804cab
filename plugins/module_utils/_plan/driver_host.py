# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was read on a host for the decision about its driver. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .components import ComponentHost
from .facts import AptSource, DnfSource, Kernel, OsRelease, Package, PciFunction, Service
from .kernel_files import BootFiles
from .module_trust import ModuleTrust
from .modules import ModuleHost


@dataclass(frozen=True)
class DriverHost:
    """What was read. ``files``: path -> text of our files, None where absent. ``owned``: names in our record.

    ``key``: fingerprint of the repository key that the host has for us, None for none. ``sources`` are apt's,
    ``repositories`` dnf's: empty where the host has the other one. ``options``: text of our file of module parameters.
    """

    os: OsRelease
    kernel: Kernel
    pci: tuple[PciFunction, ...]
    packages: Mapping[str, Package]
    files: Mapping[str, str | None]
    key: str | None
    sources: tuple[AptSource, ...]
    module: ModuleHost
    services: Mapping[str, Service]
    runfile: str | None
    owned: tuple[str, ...]
    repositories: tuple[DnfSource, ...] = ()
    seen: ComponentHost = ComponentHost()
    boot: BootFiles = BootFiles()
    options: str | None = None
    trust: ModuleTrust = ModuleTrust()
