# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel release that lab hosts of a suite pretend to run: the one whose headers the lab's repository has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from lab.packages import deb, repository
from lab.packages.debian import KERNEL_FILE, image_version
from lab.packages.distributions import SUITES


def release(suite: str) -> str:
    """Such as 6.12.118+deb13-cloud-amd64; builds the suite's repository when it is not in the cache."""
    return (repository.debian_dir(suite) / KERNEL_FILE).read_text().strip()


def record(rootfs: Path, name: str, version: str) -> None:
    """Makes dpkg believe that the kernel image `name` is installed, as on a host that was not made in a lab."""
    folder = rootfs / "var/lib/dpkg"
    stanza = {
        "Package": name,
        "Status": "install ok installed",
        "Section": "kernel",
        "Maintainer": deb.MAINTAINER,
        "Architecture": "amd64",
        "Version": version,
        "Description": "Linux kernel image (simulated)",
    }
    with (folder / "status").open("a") as status:
        status.write("".join(f"{field}: {value}\n" for field, value in stanza.items()) + "\n")
    (folder / f"info/{name}.list").write_text("/.\n")
    (folder / f"info/{name}.md5sums").touch()  # without it `dpkg --audit` complains


def record_image(rootfs: Path, suite: str) -> None:
    """`record` for the image of the kernel that hosts of `suite` pretend to run."""
    running = release(suite)
    record(rootfs, f"linux-image-{running}", image_version(repository.debian_dir(suite), running))


class _Kernels(Mapping[str, str]):
    """Suite -> release, looked up when asked for, because Debian's archive keeps only the newest headers."""

    def __getitem__(self, suite: str) -> str:
        if suite not in SUITES:
            raise KeyError(suite)
        return release(suite)

    def __iter__(self) -> Iterator[str]:
        return iter(SUITES)

    def __len__(self) -> int:
        return len(SUITES)


KERNELS: Mapping[str, str] = _Kernels()
