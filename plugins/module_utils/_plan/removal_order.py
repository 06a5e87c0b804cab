# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides whether a role may be removed while others are still on the host. Private to this collection."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .model import Finding

RECORDS = "/var/lib/gpu-fleet/owned"


@dataclass(frozen=True)
class Earlier:
    """A role that has to be removed before another, and what goes wrong otherwise; ``lost``: nothing brings it back."""

    role: str
    harm: str
    lost: bool


# role -> roles that are removed before it; the order of playbook uninstall
EARLIER = {
    "driver": (
        Earlier("mig", "MIG modes and layouts can be set back only while the driver runs", lost=True),
        Earlier("toolkit", "engines and the CDI spec would still offer GPUs that nothing drives", lost=False),
    ),
}


def find_not_removed(role: str, records: Collection[str], *, planned: bool) -> tuple[Finding, ...]:
    """A finding for every role of ``records`` (those with a record on the host) that has to go before ``role``.

    ``planned``: check mode, in which what a role before was to remove is still there.
    """
    return tuple(_finding(role, row, planned) for row in EARLIER.get(role, ()) if row.role in records)


def _finding(role: str, row: Earlier, planned: bool) -> Finding:
    return Finding(
        id="GPU-ANS-103",
        severity="error" if row.lost and not planned else "warning",
        summary=f"role {row.role} is still on this host, and is to be removed before role {role}: {row.harm}",
        wanted=f"no record of role {row.role}",
        found=f"{RECORDS}/{row.role}.json",
        remedy=f"run role {row.role} with {row.role}_state: absent before, or playbook gpu.fleet.uninstall, which has "
        "the order",
        source="gpu.fleet",
    )
