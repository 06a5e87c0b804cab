# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns a folder of .deb files into a signed flat apt repository: Packages, Packages.gz, Release, InRelease."""

from __future__ import annotations

import gzip
from pathlib import Path

from dev.progress import output
from lab.packages.keys import Key, sign


def write(folder: Path, origin: str, label: str, name: Key) -> None:
    """Indexes and signs `folder`. Raises CommandFailed."""
    # File names in the index are relative to where apt-ftparchive runs.
    inside = ["env", "-C", str(folder), "apt-ftparchive"]
    packages = output([*inside, "packages", "."])
    (folder / "Packages").write_text(packages)
    (folder / "Packages.gz").write_bytes(gzip.compress(packages.encode(), mtime=0))
    settings = {"Origin": origin, "Label": label, "Architectures": "amd64"}
    options = [f"-oAPT::FTPArchive::Release::{field}={value}" for field, value in settings.items()]
    (folder / "Release").write_text(output([*inside, *options, "release", "."]))
    sign(name, folder / "Release")
