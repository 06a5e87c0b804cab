# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Headers of the kernels that simulated hosts pretend to run: Debian's, under another release.

Modules that are compiled with them carry that release in their vermagic.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from dev.progress import run
from lab.packages.debian import KERNEL_FILE

# Files of Debian's headers that name the release.
NAMING = (".kernelvariables", "include/generated/utsrelease.h", "include/config/kernel.release")
# What no module of the lab includes: other machines, and subsystems with thousands of headers.
UNUSED = ("dt-bindings", "drm", "media", "sound")
# Debian compiles module BTF against it; without it the build says so and goes on.
VMLINUX = "vmlinux"
UNPACK = 'dpkg-deb --fsys-tarfile "$1" | { cd "$2"; shift 2; tar --extract --wildcards --no-same-owner "$@"; }'


def lay(debs: Path, release: str, folder: str, out: Path) -> None:
    """Lays the headers of kernel `release` in `out`/`folder`, with the link from /usr/lib/modules that builds follow.

    `debs` is a built Debian repository. The common headers and kbuild, which these refer to, are not among them.
    """
    debian = (debs / KERNEL_FILE).read_text().strip()
    with tempfile.TemporaryDirectory() as scratch:
        run(["dpkg-deb", "--extract", next(debs.glob(f"linux-headers-{debian}_*.deb")), scratch])
        target = out / folder
        target.parent.mkdir(parents=True, exist_ok=True)
        source = Path(scratch) / f"usr/src/linux-headers-{debian}"
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(VMLINUX))
    for name in NAMING:
        path = target / name
        if path.exists():
            path.write_text(path.read_text().replace(debian, release))
    for link in (path for path in target.iterdir() if path.is_symlink()):
        text = link.readlink()
        link.unlink()
        link.symlink_to(f"/usr/lib/{text.relative_to('../../lib')}")
    modules = out / f"usr/lib/modules/{release}"
    modules.mkdir(parents=True, exist_ok=True)
    (modules / "build").symlink_to(f"/{folder}")


def lay_common(debs: Path, out: Path) -> None:
    """Lays Debian's common headers and kbuild in `out`, at their places: all that `lay` left out, but for UNUSED."""
    unused = [f"./usr/src/*/include/{part}{name}" for name in UNUSED for part in ("", "uapi/")]
    left_out = [f"--exclude={pattern}" for pattern in ("./usr/share", "./usr/src/*/arch/[!x]*", *unused)]
    for pattern in ("linux-headers-*-common_*.deb", "linux-kbuild-*.deb"):
        run(["sh", "-c", UNPACK, "unpack", next(debs.glob(pattern)), out, *left_out])
