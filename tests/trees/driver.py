# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wish for the driver, and a host without one, as plain data: what tests of its decision begin with."""

from __future__ import annotations

from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_host import DriverHost
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_wish import DriverWish
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import Kernel, OsRelease, PciFunction, Service
from ansible_collections.gpu.fleet.plugins.module_utils._plan.modules import SERVER, ModuleHost

UNIT = "nvidia-persistenced.service"
H100 = PciFunction("0000:41:00.0", "10de", "2330", "", "0302", None)
WISH = DriverWish(
    state="present",
    branch=595,
    version="",
    flavour="auto",
    package_set="compute",
    hold=True,
    persistenced=True,
    kernel_headers=True,
    load=True,
    modules=SERVER,
    repository_url="",
    repository_key_url="",
    repository_key_fingerprint="",
)


def bare(os: OsRelease, release: str, *, headers: bool) -> DriverHost:
    """A host with one H100 that has neither packages nor files of a driver. ``release``: of its kernel."""
    return DriverHost(
        os=os,
        kernel=Kernel(release, "x86_64", headers=headers, secure_boot=None),
        pci=(H100,),
        packages={},
        files={},
        key=None,
        sources=(),
        module=ModuleHost({}, None, None, (), {}, {}, release),
        services={UNIT: Service(UNIT, "not-found", "inactive", "")},
        runfile=None,
        owned=(),
    )
