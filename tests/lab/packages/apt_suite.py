# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An apt archive with suites and components, as a distribution has: dists/<suite>/<component>, pool/."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

from dev.progress import output
from lab.packages.keys import Key, sign


def pool(archive: Path, suite: str, component: str) -> Path:
    """The folder for the packages of one component, made when absent."""
    folder = archive / "pool" / suite / component
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write(archive: Path, suite: str, components: Sequence[str], settings: dict[str, str], name: Key) -> None:
    """Indexes and signs one suite; `settings` are fields of its Release file, such as Origin. Raises CommandFailed."""
    inside = ["env", "-C", str(archive), "apt-ftparchive"]
    release = archive / "dists" / suite
    for component in components:
        text = output([*inside, "packages", str(pool(archive, suite, component).relative_to(archive))])
        folder = release / component / "binary-amd64"
        folder.mkdir(parents=True)
        (folder / "Packages").write_text(text)
        (folder / "Packages.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    fields = {**settings, "Suite": suite, "Components": " ".join(components), "Architectures": "amd64"}
    options = [f"-oAPT::FTPArchive::Release::{field}={value}" for field, value in fields.items()]
    (release / "Release").write_text(output([*inside, *options, "release", f"dists/{suite}"]))
    sign(name, release / "Release")
