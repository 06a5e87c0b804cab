# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expensive results kept below the user's cache, one folder per content hash of what they are made from."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

KEY_LENGTH = 16
IGNORED = frozenset({"__pycache__", ".git"})


def root() -> Path:
    """`${XDG_CACHE_HOME:-~/.cache}/gpu-fleet`, made when absent."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "gpu-fleet"
    path.mkdir(parents=True, exist_ok=True)
    return path


def digest(key_inputs: Iterable[bytes | str | Path]) -> str:
    """First 16 hex digits of the SHA-256 over the inputs; a Path counts by its content, a folder by all its files."""
    total = hashlib.sha256()
    for item in key_inputs:
        for part in _parts(item):
            total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:KEY_LENGTH]


def artifact(kind: str, key_inputs: Iterable[bytes | str | Path], build: Callable[[Path], None]) -> Path:
    """The folder `<root>/<kind>/<hash>`; built once, also when several processes ask at the same time.

    `build` gets an empty folder to fill; its exceptions reach the caller and leave nothing behind.
    The folder is renamed into place afterwards, so `build` must not write its own path into what it makes;
    where that cannot be helped (virtual environments), use `artifact_in_place`.
    """
    return _artifact(kind, digest(key_inputs), build, in_place=False)


def artifact_in_place(kind: str, key_inputs: Iterable[bytes | str | Path], build: Callable[[Path], None]) -> Path:
    """As `artifact`, but built at its final path; a marker file beside it says that it is complete."""
    return _artifact(kind, digest(key_inputs), build, in_place=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds an exclusive lock on the file `path` (made when absent); the kernel drops it when the holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _artifact(kind: str, key: str, build: Callable[[Path], None], *, in_place: bool) -> Path:
    folder = root() / kind
    target, marker = folder / key, folder / f"{key}.complete"
    if marker.exists() and target.exists():
        return target
    with locked(folder / f"{key}.lock"):
        if not (marker.exists() and target.exists()):
            shutil.rmtree(target, ignore_errors=True)
            _build_in_place(target, build) if in_place else _build_and_rename(target, build)
            marker.touch()
    return target


def _build_in_place(target: Path, build: Callable[[Path], None]) -> None:
    target.mkdir(parents=True)
    try:
        build(target)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def _build_and_rename(target: Path, build: Callable[[Path], None]) -> None:
    for leftover in target.parent.glob(f".{target.name}.*"):  # of a builder that was killed: we hold its lock now
        shutil.rmtree(leftover, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    work.chmod(0o755)
    try:
        build(work)
        work.rename(target)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def _parts(item: bytes | str | Path) -> Iterator[bytes]:
    if isinstance(item, bytes):
        yield item
    elif isinstance(item, str):
        yield item.encode()
    elif item.is_dir():
        for path in sorted(p for p in item.rglob("*") if p.is_file() and not IGNORED & set(p.parts)):
            yield str(path.relative_to(item)).encode()
            yield path.read_bytes()
    else:
        yield item.read_bytes()
