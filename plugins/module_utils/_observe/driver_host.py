# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads all that the decision about the driver takes. Private to this collection."""

from __future__ import annotations

from dataclasses import replace

from .._catalog.packages import PERSISTENCED_UNIT, RUNFILE_PATHS
from .._plan.driver import MODULES_LOAD, ROLE, DriverHost, driver_repository
from .._plan.driver_wish import DriverWish
from .._plan.packages import pin_path
from .apt_sources import read_sources
from .command import Run
from .files import HostRoot
from .kernel import read_kernel
from .module_host import read_module_host
from .modules import read_holders
from .os_release import read_os_release
from .packages import read_packages
from .pci import read_pci
from .repository_key import read_key
from .services import read_services


def read_driver_host(host: HostRoot, run: Run, wish: DriverWish, *, owned: tuple[str, ...]) -> DriverHost:
    """One look at everything. ``owned``: the names of role driver's ownership record."""
    found = DriverHost(
        os=read_os_release(host),
        kernel=read_kernel(host),
        pci=read_pci(host),
        packages=read_packages(host),
        files={},
        key=None,
        sources=read_sources(host),
        module=read_module_host(host, run, state="unloaded" if wish.state == "absent" else "reloaded"),
        services=read_services(run, [PERSISTENCED_UNIT]),
        runfile=next((p for p in RUNFILE_PATHS if host.exists(p)), None),
        owned=owned,
    )
    repository = driver_repository(wish, found)
    paths = (repository.key_path, repository.source_path, pin_path(ROLE), MODULES_LOAD)
    return replace(found, files={p: host.text(p) for p in paths}, key=read_key(host, repository.key_path))


def with_holders(host: HostRoot, found: DriverHost) -> DriverHost:
    """The same with whoever holds the loaded driver: asked only when its packages are about to change."""
    if found.module.loaded is None:
        return found
    return replace(found, module=replace(found.module, holders=read_holders(host)))
