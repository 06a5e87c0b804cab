# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads all that the decision about the driver takes. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._catalog.distributions import DNF, distribution_of, release_of
from .._catalog.packages import RUNFILE_PATHS
from .._plan.driver import MODULES_LOAD, settled
from .._plan.driver_host import DriverHost
from .._plan.driver_parts import parameters_for
from .._plan.driver_repository import driver_repository, our_repositories
from .._plan.driver_set import ROLE
from .._plan.driver_wish import DriverWish
from .._plan.facts import DnfSource, Kernel, OsRelease, Package
from .._plan.module_parameters import OPTIONS_PATH
from .._plan.module_trust import ModuleTrust
from .._plan.modules import RELOADED, UNLOADED
from .._plan.package_managers import manager_of
from .apt_sources import read_sources
from .boot_files import read_boot_files
from .command import Run
from .component_host import UNITS, read_component_host
from .dkms_trust import read_dkms_trust
from .dnf_sources import read_dnf_sources
from .files import HostRoot
from .kernel import read_kernel
from .module_host import read_module_host, with_users
from .module_parameters import read_stale_parameters
from .os_release import read_os_release
from .packages import read_packages
from .pci import read_pci
from .repository_key import read_key
from .rpm import read_rpm_packages
from .services import read_services


def read_driver_host(
    host: HostRoot, run: Run, wish: DriverWish, *, owned: tuple[str, ...], before: Mapping[str, Any]
) -> DriverHost:
    """One look at everything. ``owned``: the names of role driver's ownership record, ``before``: their values before
    us. Raises NoRpm.
    """
    os, kernel = read_os_release(host), read_kernel(host)
    found = DriverHost(
        os=os,
        kernel=kernel,
        pci=read_pci(host),
        packages=_packages(host, run, os),
        files={},
        key=None,
        sources=read_sources(host),
        module=read_module_host(host, run, state=UNLOADED if wish.state == "absent" else RELOADED, parameters={}),
        services=read_services(run, UNITS),
        runfile=next((p for p in RUNFILE_PATHS if host.exists(p)), None),
        owned=owned,
        repositories=_repositories(host, os, kernel),
        seen=read_component_host(host, run, before={n: v for n, v in before.items() if n.startswith("setting:")}),
        boot=read_boot_files(host),
        options=host.text(OPTIONS_PATH),
        trust=read_dkms_trust(host, run) if kernel.secure_boot else ModuleTrust(),
    )
    found = _with_parameters(host, run, wish, found)
    repository = driver_repository(wish, found)
    ours = [p for r in our_repositories(wish, found) for p in (r.key_path, r.source_path)]
    paths = (*ours, *manager_of(os).paths(ROLE), MODULES_LOAD)
    key = read_key(host, repository.key_path) if repository else None
    return replace(found, files={p: host.text(p) for p in paths}, key=key)


def _with_parameters(host: HostRoot, run: Run, wish: DriverWish, found: DriverHost) -> DriverHost:
    """The same with what the loaded modules have of the parameters that they are to have."""
    if wish.state == "absent" or not found.module.modules:
        return found
    wanted = settled(wish, found)
    stale = read_stale_parameters(host, parameters_for(wanted, wanted.branch))
    module = replace(found.module, parameters=stale)
    return replace(found, module=with_users(host, run, module) if stale else module)


def _manager(os: OsRelease) -> str:
    row = distribution_of(os.id, os.version)
    return row.manager if row else ""


def _packages(host: HostRoot, run: Run, os: OsRelease) -> dict[str, Package]:
    return read_rpm_packages(host, run) if _manager(os) == DNF else read_packages(host)


def _repositories(host: HostRoot, os: OsRelease, kernel: Kernel) -> tuple[DnfSource, ...]:
    if _manager(os) != DNF:
        return ()
    return read_dnf_sources(host, release=release_of(DNF, os.version), machine=kernel.machine)


def with_holders(host: HostRoot, run: Run, found: DriverHost) -> DriverHost:
    """The same with whoever holds the loaded driver: asked only when its packages are about to change."""
    if found.module.loaded is None:
        return found
    return replace(found, module=with_users(host, run, found.module))
