# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The distributions that NVIDIA's CUDA repository has a folder for, as far as the lab has hosts of them."""

from __future__ import annotations

from dataclasses import dataclass

from lab.packages.versions import DRIVERS, Driver

ARCHITECTURE = "x86_64"


@dataclass(frozen=True)
class Distribution:
    """`folder` below the CUDA repository; `suite`: the Debian whose programs and compiler its hosts really have.

    `kernel` is the release that its hosts pretend to run; empty: that of the newest headers in Debian's archive.
    `first_branch`: the oldest driver branch that NVIDIA has for it.
    """

    folder: str
    family: str
    suite: str
    kernel: str = ""
    first_branch: int = 0

    @property
    def releases(self) -> tuple[Driver, ...]:
        """The driver releases that NVIDIA has for it."""
        return tuple(release for release in DRIVERS if release.branch >= self.first_branch)

    @property
    def simulated(self) -> bool:
        """Whether hosts of it are Debian hosts that only look like it."""
        return self.family != "debian"


# Kernel releases as seen in public logs of 2026; apt 2.6 and dnf 4.14 of bookworm are what Ubuntu 24.04 and EL 9 have.
DISTRIBUTIONS = {
    row.folder: row
    for row in (
        Distribution("debian12", "debian", "bookworm"),
        Distribution("debian13", "debian", "trixie"),
        Distribution("ubuntu2404", "ubuntu", "bookworm", "6.8.0-149-generic"),
        Distribution("rhel9", "el", "bookworm", "5.14.0-687.51.1.el9_8.x86_64"),
        Distribution("rhel10", "el", "trixie", "6.12.0-211.61.1.el10_2.x86_64", first_branch=580),
    )
}
SUITES = tuple(dict.fromkeys(row.suite for row in DISTRIBUTIONS.values()))


def of_family(family: str) -> list[Distribution]:
    """The rows of one family: debian, ubuntu or el."""
    return [row for row in DISTRIBUTIONS.values() if row.family == family]
