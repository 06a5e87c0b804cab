# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads which packages are installed, whatever the host's package manager is. Private to this collection."""

from __future__ import annotations

from .._catalog.distributions import APT, DNF, distribution_of
from .._plan.facts import Package
from .command import Run
from .files import HostRoot
from .os_release import read_os_release
from .packages import STATUS, read_packages
from .rpm import NoRpm, read_rpm_packages

# The newer place, and the older one, which is a link to it on newer systems.
RPM_DATABASES = ("/usr/lib/sysimage/rpm", "/var/lib/rpm")
NO_DATABASE = f"neither dpkg's database ({STATUS}) nor rpm's ({RPM_DATABASES[1]}) is on this host"


def package_manager(host: HostRoot) -> str | None:
    """apt or dnf: what the host's distribution has; on one of none of ours the database that is there; None for none.

    zypper and others of rpm's family count as dnf: the database is the same.
    """
    os = read_os_release(host)
    known = distribution_of(os.id, os.version)
    if known is not None:
        return known.manager
    if host.exists(STATUS):
        return APT
    return DNF if any(host.names(path) for path in RPM_DATABASES) else None


def read_installed(host: HostRoot, run: Run) -> tuple[dict[str, Package], str]:
    """Packages by name, and why they are not known ('' where they are)."""
    manager = package_manager(host)
    if manager == APT:
        return read_packages(host), ""
    if manager is None:
        return {}, NO_DATABASE
    try:
        return read_rpm_packages(host, run), ""
    except NoRpm as error:
        return {}, str(error)
