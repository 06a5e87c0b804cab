# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel release that lab hosts of a suite pretend to run: the one whose headers the lab's repository has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lab.packages import repository
from lab.packages.debian import KERNEL_FILE
from lab.packages.versions import DISTRIBUTIONS


def release(suite: str) -> str:
    """Such as 6.12.118+deb13-cloud-amd64; builds the suite's repository when it is not in the cache."""
    return (repository.debian_dir(suite) / KERNEL_FILE).read_text().strip()


class _Kernels(Mapping[str, str]):
    """Suite -> release, looked up when asked for, because Debian's archive keeps only the newest headers."""

    def __getitem__(self, suite: str) -> str:
        if suite not in DISTRIBUTIONS.values():
            raise KeyError(suite)
        return release(suite)

    def __iter__(self) -> Iterator[str]:
        return iter(DISTRIBUTIONS.values())

    def __len__(self) -> int:
        return len(DISTRIBUTIONS)


KERNELS: Mapping[str, str] = _Kernels()
