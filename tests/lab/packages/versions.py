# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab's repositories offer: driver releases and what is wrong with some of them. A release is one row here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# What can be wrong with a release on purpose -> what a host then sees.
FAULTS = {
    "dkms": "its kernel modules do not compile",
    "postinst": "a script of one of its packages fails",
    "withdrawn": "its packages are in the index, and gone from the server",
}


@dataclass(frozen=True)
class Driver:
    """One driver release; `fault` is a key of FAULTS, or nothing."""

    version: str
    fault: str = ""

    @property
    def branch(self) -> int:
        """The number before the first dot."""
        return int(self.version.split(".")[0])

    @property
    def order(self) -> list[int]:
        """To compare releases by; a version has two or three numbers."""
        return [int(part) for part in self.version.split(".")]


# 570.158.01 is a release that NVIDIA's notes warn of, 570.172.08 has the fix: a pair for tests of that finding.
# 580.142 has two numbers only. The numbers of faulty releases and of branch 620 are invented: no such releases exist.
# A faulty release is never the newest of its branch: only who asks for it gets it.
DRIVERS = (
    Driver("570.158.01"),
    Driver("570.172.08"),
    Driver("570.211.01"),
    Driver("580.65.06"),
    Driver("580.90.01", fault="dkms"),
    Driver("580.90.02", fault="postinst"),
    Driver("580.90.03", fault="withdrawn"),
    Driver("580.142"),
    Driver("580.178.04"),
    Driver("595.58.03"),
    Driver("595.71.05"),
    Driver("620.43.02"),
    Driver("620.57.04"),
)
BRANCHES = tuple(dict.fromkeys(driver.branch for driver in DRIVERS))


def newest(branch: int, drivers: Iterable[Driver] = DRIVERS) -> Driver:
    """The newest release of a branch. Raises LookupError when the lab has none of it."""
    of_branch = [driver for driver in drivers if driver.branch == branch]
    if not of_branch:
        raise LookupError(f"the lab's repository has no driver branch {branch}, only {', '.join(map(str, BRANCHES))}")
    return max(of_branch, key=lambda driver: driver.order)


def faulty(fault: str) -> Driver:
    """The release with this fault, a key of FAULTS."""
    return next(driver for driver in DRIVERS if driver.fault == fault)
