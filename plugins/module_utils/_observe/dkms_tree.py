# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads how far DKMS got with the driver's modules, from DKMS's own tree. Private to this collection.

Source: dkms(8) and the dkms program: a folder <module>/<version>/<kernel>/<arch> is a build, and the link
<module>/kernel-<kernel>-<arch> names the build that is installed. Reading it costs no start of a program.
"""

from __future__ import annotations

import re

from .._catalog.module_origins import DKMS_NAMES
from .files import HostRoot

TREE = "/var/lib/dkms"
INSTALLED, BUILT, ADDED = "installed", "built", "added"


def read_dkms_state(host: HostRoot, release: str) -> str | None:
    """``installed``, ``built`` or ``added`` (known to DKMS, not built for kernel ``release``): the furthest of the
    driver's modules; None where DKMS has none.
    """
    names = [n for n in host.names(TREE) if any(re.fullmatch(row.name, n) for row in DKMS_NAMES)]
    states = [_state(host, name, release) for name in names]
    return next((state for state in (INSTALLED, BUILT, ADDED) if state in states), None)


def _state(host: HostRoot, module: str, release: str) -> str | None:
    names = host.names(f"{TREE}/{module}")
    if any(n.startswith(f"kernel-{release}-") for n in names):
        return INSTALLED
    versions = [n for n in names if not n.startswith("kernel-")]
    if any(host.is_dir(f"{TREE}/{module}/{v}/{release}") for v in versions):
        return BUILT
    return ADDED if versions else None
