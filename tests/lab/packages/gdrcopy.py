# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GDRCopy, which NVIDIA offers as single files: redist/gdrcopy/CUDA <release>/<distribution>/x64/."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from lab.packages import deb, extras, pool
from lab.packages.distributions import Distribution
from lab.packages.el_base import mark
from lab.packages.keys import key
from lab.packages.package import Package
from lab.packages.tables.extras import GDRCOPY, GDRCOPY_DEBS, GDRCOPY_RPMS

CUDA = "13.0"
# Of those for Ubuntu and EL names were seen, for Debian they are derived.
NAMES = {
    "debian12": "Debian12",
    "debian13": "Debian13",
    "ubuntu2404": "Ubuntu24_04",
    "rhel9": "rhel9",
    "rhel10": "rhel10",
}


def path(distribution: Distribution) -> str:
    """Where the files are below the server."""
    return f"redist/gdrcopy/CUDA {CUDA}/{NAMES[distribution.folder].lower()}"


def build(distribution: Distribution, out: Path) -> None:
    """Lays out x64/ in `out`. Raises CommandFailed."""
    folder = out / "x64"
    folder.mkdir()
    with tempfile.TemporaryDirectory() as work:
        scratch = Path(work)
        if distribution.family == "el":
            pool.write_rpms(_rpms(distribution), folder, scratch, key("cuda-rpm"))
            return
        packages = list(extras.deb_packages(GDRCOPY_DEBS))
        pool.write_debs(packages, folder, scratch)
        for package in packages:
            cuda = f"+cuda{CUDA}" if package.name.endswith("-tests") else ""
            name = deb.file_name(package).removesuffix(".deb")
            (folder / f"{name}.deb").rename(folder / f"{name}.{NAMES[distribution.folder]}{cuda}.deb")


def _rpms(distribution: Distribution) -> Iterator[Package]:
    for version in GDRCOPY:
        for name, (summary, needs, tree, end) in GDRCOPY_RPMS.items():
            yield Package(
                name,
                f"{version}-1{end}{mark(distribution)}",
                summary,
                "x86_64" if name == "gdrcopy" else "noarch",
                {"Requires": ", ".join(needs).format(v=version)},
                trees=(tree,) if tree else (),
                tokens={"VERSION": version},
            )
