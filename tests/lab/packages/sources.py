# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives a host the lab's Debian repository. NVIDIA's two repositories are left for the product to configure."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab.packages.kernels import record_image
from lab.packages.keys import key
from lab.packages.variables import SERVER

KEYRING = "usr/share/keyrings/lab-debian.asc"
SOURCE = """\
Types: deb
URIs: {server}/debian/{suite}
Suites: ./
Signed-By: /{keyring}
"""


def apt_sources(rootfs: Path, suite: str) -> None:
    """Makes the lab's Debian repository the host's only one, and its running kernel one of its packages."""
    write_source(rootfs, suite)
    record_image(rootfs, suite)


def write_source(rootfs: Path, suite: str) -> None:
    """Writes the source of the lab's Debian repository; removes the distribution's own, which no lab host reaches."""
    folder = rootfs / "etc/apt/sources.list.d"
    folder.mkdir(parents=True, exist_ok=True)
    for path in (rootfs / "etc/apt/sources.list", *folder.iterdir()):
        path.unlink(missing_ok=True)
    keyring = rootfs / KEYRING
    keyring.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(key("debian").public, keyring)
    keyring.chmod(0o644)
    (folder / "lab-debian.sources").write_text(SOURCE.format(server=SERVER, suite=suite, keyring=KEYRING))
