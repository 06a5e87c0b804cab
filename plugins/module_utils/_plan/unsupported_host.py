# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that this release installs nothing on. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence

from .._catalog import distributions
from .facts import Kernel, OsRelease
from .model import Finding

BOTH = (distributions.APT, distributions.DNF)


def find_unsupported(os: OsRelease, kernel: Kernel, *, managers: Sequence[str] = BOTH) -> tuple[Finding, ...]:
    """A distribution or machine that this release does not install on."""
    found: tuple[Finding, ...] = ()
    row = distributions.distribution_of(os.id, os.version)
    if row is None or row.manager not in managers:
        what = f"operating system {os.name or 'without /etc/os-release'}"
        found += (_unsupported("GPU-PKG-101", what, f"{os.id} {os.version}", managers),)
    if distributions.machine_of(kernel.machine) is None:
        found += (_unsupported("GPU-PKG-102", f"machine {kernel.machine}", kernel.machine, managers),)
    return found


def _unsupported(identifier: str, what: str, found: str, managers: Sequence[str]) -> Finding:
    return Finding(
        id=identifier,
        severity="error",
        summary=f"unsupported {what}: this release installs nothing on it",
        wanted=distributions.supported(managers),
        found=f"{found.strip() or 'nothing'} (/etc/os-release, uname -m)",
        remedy="take the host out of the play (--limit), or give it one of these systems",
        source="plugins/module_utils/_catalog/distributions.py",
    )
