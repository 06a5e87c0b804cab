# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads all that the decision about the toolkit's packages takes. Private to this collection."""

from __future__ import annotations

from .._catalog.distributions import DNF, release_of
from .._plan.package_managers import manager_of
from .._plan.toolkit_packages import ROLE, ToolkitHost, ToolkitWish, toolkit_repository
from .apt_sources import read_sources
from .command import Run
from .dnf_sources import read_dnf_sources
from .files import HostRoot
from .kernel import read_kernel
from .os_release import read_os_release
from .packages import read_packages
from .repository_key import read_key
from .rpm import read_rpm_packages


def read_toolkit_host(host: HostRoot, run: Run, wish: ToolkitWish, *, owned: tuple[str, ...]) -> ToolkitHost:
    """One look at everything. ``owned``: the names of the record of the toolkit's packages. Raises NoRpm."""
    os, kernel = read_os_release(host), read_kernel(host)
    repository, manager = toolkit_repository(wish, os, kernel), manager_of(os)
    paths = (repository.key_path, repository.source_path, *manager.paths(ROLE))
    rpm = manager.name == DNF
    return ToolkitHost(
        os=os,
        kernel=kernel,
        packages=read_rpm_packages(host, run) if rpm else read_packages(host),
        files={p: host.text(p) for p in paths},
        key=read_key(host, repository.key_path),
        sources=() if rpm else read_sources(host),
        owned=owned,
        repositories=read_dnf_sources(host, release=release_of(DNF, os.version), machine=kernel.machine) if rpm else (),
    )
