# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes one Debian binary package: control file, maintainer scripts, conffiles, and the tree that it installs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from dev.progress import run
from lab.packages.package import EPOCH, Package, lay, scripts

CONTROL_FOLDER = "DEBIAN"
PREFERENCES = "etc/apt/preferences.d/"
MAINTAINER = "gpu.fleet lab <lab@example.org>"


def file_name(package: Package) -> str:
    """Name of the .deb; an epoch is not part of it."""
    return f"{package.name}_{package.version.rpartition(':')[2]}_{package.architecture}.deb"


def write(package: Package, folder: Path, scratch: Path) -> Path:
    """Builds `package` into `folder` by way of a tree in `scratch`. Returns the .deb; raises CommandFailed."""
    root = Path(tempfile.mkdtemp(dir=scratch))
    lay(package, root)
    _control(package, root)
    archive = folder / file_name(package)
    run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", root, archive], env=EPOCH)
    shutil.rmtree(root)
    return archive


def _control(package: Package, root: Path) -> None:
    fields = {
        "Package": package.name,
        "Version": package.version,
        "Architecture": package.architecture,
        "Maintainer": MAINTAINER,
        "Section": "NVIDIA",
        "Priority": "optional",
        **package.relations,
        "Description": f"{package.summary} (simulated)",
    }
    folder = root / CONTROL_FOLDER
    folder.mkdir()
    (folder / "control").write_text("".join(f"{name}: {value}\n" for name, value in fields.items() if value))
    (folder / "conffiles").write_text("".join(f"/{name}\n" for name in _configuration(root)))
    if any(".so" in name for name in (*package.files, *package.links)):
        (folder / "triggers").write_text("activate-noawait ldconfig\n")
    for name, text in scripts(package, CONTROL_FOLDER).items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def _configuration(root: Path) -> list[str]:
    """Files that stay after a removal. Not a pin: what it is for goes with the package."""
    names = (str(path.relative_to(root)) for path in sorted((root / "etc").rglob("*")) if path.is_file())
    return [name for name in names if not name.startswith(PREFERENCES)]
