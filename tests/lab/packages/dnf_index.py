# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns a folder of rpm packages into a signed dnf repository; module streams where there are some."""

from __future__ import annotations

from pathlib import Path

from dev.progress import run
from lab.packages.keys import Key, sign_metadata
from lab.packages.package import SOURCE_DATE

REPOSITORY = """\
[{name}]
name={name}
baseurl={url}
enabled=1
gpgcheck=1
gpgkey={key_url}
"""


def write(folder: Path, signer: Key, modules: str = "") -> None:
    """Indexes and signs `folder`; `modules` is the text of modules.yaml. Raises CommandFailed."""
    # zlib: what createrepo_c of every Debian writes and dnf of every distribution reads.
    run(["createrepo_c", "--quiet", "--no-database", "--general-compress-type=gz", f"--revision={SOURCE_DATE}", folder])
    if modules:
        document = folder / "modules.yaml"
        document.write_text(modules)
        run(["modifyrepo_c", "--mdtype=modules", document, folder / "repodata"])
        document.unlink()
    sign_metadata(signer, folder / "repodata/repomd.xml")


def write_repository_file(path: Path, name: str, url: str, key_url: str) -> None:
    """The .repo file that describes a repository, as NVIDIA offers one to download."""
    path.write_text(REPOSITORY.format(name=name, url=url, key_url=key_url))
