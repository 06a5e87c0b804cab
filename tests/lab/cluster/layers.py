# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers of container images as tar files in memory: same input, same bytes."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# What a program linked against glibc needs: a "distroless" image.
LIBC = ("base-files", "base-passwd", "libc6", "libgcc-s1")
# And a shell with the usual small commands, as CUDA's own base images have them.
SHELL = (
    *LIBC,
    *("libc-bin", "libstdc++6", "libacl1", "libattr1", "libgmp10", "libpcre2-8-0", "libselinux1"),
    *("dash", "coreutils", "grep", "sed", "findutils", "debianutils"),
)
LEFT_OUT = (
    "/usr/share/doc",
    "/usr/share/man",
    "/usr/share/locale",
    "/usr/share/info",
    "/usr/share/lintian",
    "/usr/share/gcc",
)
FOLDERS = ("dev", "proc", "sys", "run", "root", "tmp", "var/tmp", "etc")
ACCOUNTS = {
    "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "etc/group": b"root:x:0:\nnogroup:x:65534:\n",
}


@dataclass(frozen=True)
class Layer:
    """One uncompressed tar."""

    content: bytes

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the tar in hex, its diff id."""
        return hashlib.sha256(self.content).hexdigest()


def file_layer(files: Mapping[str, Path]) -> Layer:
    """A layer with files (path in the image -> file here), their folders, and executable where they are so here."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        _add_folders(archive, {str(parent) for name in files for parent in Path(name).parents} - {"."})
        for name, source in sorted(files.items()):
            mode = 0o755 if os.access(source, os.X_OK) and not name.endswith(".csv") else 0o644
            _add_file(archive, name, source.read_bytes(), mode)
    return Layer(buffer.getvalue())


def debian_layer(root: Path, packages: Sequence[str]) -> Layer:
    """The files of Debian packages, out of a Debian root file system that has them installed."""
    buffer = io.BytesIO()
    paths = dict(_package_paths(root, packages))
    folders = {name for name, path in paths.items() if path.is_dir() and not path.is_symlink()} | set(FOLDERS)
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("bin", "sbin", "lib", "lib64"):
            _add_link(archive, name, f"usr/{name}")
        _add_folders(archive, folders | {str(parent) for name in paths for parent in Path(name).parents} - {"."})
        for name, path in sorted(paths.items()):
            if path.is_symlink():
                _add_link(archive, name, os.readlink(path))
            elif path.is_file() and name not in ACCOUNTS:
                _add_file(archive, name, path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for name, content in ACCOUNTS.items():
            _add_file(archive, name, content, 0o644)
    return Layer(buffer.getvalue())


def _package_paths(root: Path, packages: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """(path in the image, path here); /bin and the like are links into /usr, whatever the package says."""
    lists = root / "var/lib/dpkg/info"
    for package in packages:
        found = [p for p in (lists / f"{package}.list", lists / f"{package}:amd64.list") if p.exists()]
        if not found:
            raise FileNotFoundError(f"Debian package {package} is not installed in {root}")
        for line in found[0].read_text().splitlines():
            path = root / line.lstrip("/")
            if line != "/." and not line.startswith(LEFT_OUT) and path.is_relative_to(root) and os.path.lexists(path):
                name = _merged(line.lstrip("/"))
                if name not in ("bin", "sbin", "lib", "lib64"):
                    yield name, path


def _merged(name: str) -> str:
    top = name.partition("/")[0]
    return f"usr/{name}" if top != name and top in ("bin", "sbin", "lib", "lib64") else name


def _add_folders(archive: tarfile.TarFile, names: set[str]) -> None:
    for name in sorted(names):
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name in ("tmp", "var/tmp") else 0o755
        archive.addfile(entry)


def _add_link(archive: tarfile.TarFile, name: str, target: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    archive.addfile(entry)


def _add_file(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
