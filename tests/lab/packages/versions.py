# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab's repositories offer: driver releases, toolkit release, distributions. A new release is one row here."""

from __future__ import annotations

from dataclasses import dataclass

# Folder of NVIDIA's CUDA repository -> Debian suite (driver-packages facts, DIG and apt-packaging-cuda-keyring).
DISTRIBUTIONS = {"debian12": "bookworm", "debian13": "trixie"}
ARCHITECTURE = "x86_64"
REVISION = "1"  # Debian revision of NVIDIA's driver and toolkit packages


@dataclass(frozen=True)
class Driver:
    """One driver release."""

    version: str

    @property
    def branch(self) -> int:
        """The number before the first dot."""
        return int(self.version.split(".")[0])

    @property
    def package_version(self) -> str:
        """Version of every package that is built from this release."""
        return f"{self.version}-{REVISION}"


# 570.158.01 is a release that NVIDIA's notes warn of, 570.172.08 has the fix: a pair for tests of that finding.
DRIVERS = (Driver("570.158.01"), Driver("570.172.08"), Driver("595.58.03"), Driver("595.71.05"))
BRANCHES = tuple(dict.fromkeys(driver.branch for driver in DRIVERS))


def newest(branch: int) -> Driver:
    """The newest release of a branch. Raises LookupError when the lab has none of it."""
    of_branch = [driver for driver in DRIVERS if driver.branch == branch]
    if not of_branch:
        raise LookupError(f"the lab's repository has no driver branch {branch}, only {', '.join(map(str, BRANCHES))}")
    return max(of_branch, key=lambda driver: [int(part) for part in driver.version.split(".")])
