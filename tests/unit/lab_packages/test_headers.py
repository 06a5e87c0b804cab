# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Debian's kernel headers under another release; the packages here have the form of Debian's, with little in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.packages import deb, headers
from lab.packages.package import Package

DEBIAN, OTHER = "6.1.0-57-cloud-amd64", "5.14.0-687.51.1.el9_8.x86_64"
FLAVOUR, COMMON, KBUILD = (
    f"usr/src/linux-headers-{DEBIAN}",
    "usr/src/linux-headers-6.1.0-57-common",
    "usr/lib/linux-kbuild-6.1",
)
FILES = {
    f"linux-headers-{DEBIAN}": {
        f"{FLAVOUR}/.kernelvariables": f"override KERNELRELEASE = {DEBIAN}\n",
        f"{FLAVOUR}/include/generated/utsrelease.h": f'#define UTS_RELEASE "{DEBIAN}"\n',
        f"{FLAVOUR}/include/config/kernel.release": f"{DEBIAN}\n",
        f"{FLAVOUR}/Makefile": f"include /{COMMON}/Makefile\n",
        f"{FLAVOUR}/vmlinux": "large\n",
    },
    "linux-headers-6.1.0-57-common": {
        f"{COMMON}/Makefile": "all:\n",
        f"{COMMON}/arch/x86/Makefile": "\n",
        f"{COMMON}/arch/arm64/Makefile": "\n",
        f"{COMMON}/include/linux/module.h": "\n",
        f"{COMMON}/include/drm/drm.h": "\n",
        f"{COMMON}/include/uapi/drm/drm.h": "\n",
    },
    "linux-kbuild-6.1": {f"{KBUILD}/scripts/Makefile": "\n"},
}


@pytest.fixture
def debs(tmp_path: Path) -> Path:
    folder = tmp_path / "debs"
    folder.mkdir()
    (folder / "KERNEL").write_text(f"{DEBIAN}\n")
    for name, files in FILES.items():
        sources = {}
        for number, (target, text) in enumerate(files.items()):
            sources[target] = tmp_path / f"{name}-{number}"
            sources[target].write_text(text)
        links = {f"{FLAVOUR}/scripts": f"../../lib/{Path(KBUILD).name}/scripts"} if DEBIAN in name else {}
        deb.write(Package(name, "1", "headers", files=sources, links=links), folder, tmp_path)
    return folder


def test_release_is_another_everywhere(debs: Path, tmp_path: Path) -> None:
    headers.lay(debs, OTHER, "usr/src/kernels/other", tmp_path)
    root = tmp_path / "usr/src/kernels/other"
    assert (root / "include/generated/utsrelease.h").read_text() == f'#define UTS_RELEASE "{OTHER}"\n'
    assert not [path for path in root.rglob("*") if path.is_file() and DEBIAN in path.read_text()]
    assert not (root / "vmlinux").exists()


def test_links_lead_to_where_things_are(debs: Path, tmp_path: Path) -> None:
    headers.lay(debs, OTHER, "usr/src/kernels/other", tmp_path)
    assert str((tmp_path / "usr/src/kernels/other/scripts").readlink()) == f"/{KBUILD}/scripts"
    assert str((tmp_path / f"usr/lib/modules/{OTHER}/build").readlink()) == "/usr/src/kernels/other"


def test_common_headers_without_what_is_never_used(debs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    headers.lay_common(debs, out)
    found = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert found == {
        *(f"{COMMON}/{name}" for name in ("Makefile", "arch/x86/Makefile", "include/linux/module.h")),
        f"{KBUILD}/scripts/Makefile",
    }
