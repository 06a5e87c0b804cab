# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Built packages by what they are built from: a change in one table or program builds anew what it concerns."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import cache
from pathlib import Path

from dev.cache import digest, root
from lab.packages import deb, package, rpm
from lab.packages.keys import Key
from lab.packages.links import link
from lab.packages.package import FILES, Package

CONTENT = ("trees", "files", "folders")
HERE = Path(__file__).resolve().parent


def write_debs(packages: Iterable[Package], folder: Path, scratch: Path) -> None:
    """Puts the packages into `folder`, each file name once. Raises CommandFailed."""

    def build(missing: Sequence[Package], where: Path) -> None:
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            for done in [workers.submit(deb.write, one, where, scratch) for one in missing]:
                done.result()

    _fill({deb.file_name(one): one for one in packages}, folder, build, "deb", _code(deb))


def write_rpms(packages: Iterable[Package], folder: Path, scratch: Path, signer: Key) -> None:
    """Puts the packages, signed, into `folder`, each file name once. Raises CommandFailed."""

    def build(missing: Sequence[Package], where: Path) -> None:
        rpm.write(missing, where, scratch, signer)

    _fill({rpm.file_name(one): one for one in packages}, folder, build, "rpm", f"{_code(rpm)}{signer.fingerprint}")


def _fill(
    wanted: dict[str, Package], folder: Path, build: Callable[[Sequence[Package], Path], None], kind: str, how: str
) -> None:
    store = root() / "packages-pool"
    store.mkdir(exist_ok=True)
    kept = {name: store / f"{_key(one, how)}.{kind}" for name, one in wanted.items()}
    missing = {name: one for name, one in wanted.items() if not kept[name].exists()}
    if missing:
        with tempfile.TemporaryDirectory(dir=store) as work:
            build(list(missing.values()), Path(work))
            for name in missing:
                (Path(work) / name).replace(kept[name])
    for name, path in kept.items():
        link(str(path), str(folder / name))


def _key(one: Package, how: str) -> str:
    """What the package file is made from, as a name."""
    plain = {field.name: getattr(one, field.name) for field in fields(one) if field.name not in CONTENT}
    content = {
        "trees": [_tree(name) for name in one.trees],
        "files": {target: [digest([path]), os.access(path, os.X_OK)] for target, path in one.files.items()},
        "folders": {target: list(_folder(path)) for target, path in one.folders.items()},
    }
    text = json.dumps([plain, content, how], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def _code(module: object) -> str:
    """Content of the code that writes packages of one format."""
    return digest([HERE / "package.py", Path(str(getattr(module, "__file__", package.__file__)))])


@cache
def _tree(name: str) -> str:
    """Content of a folder below files/."""
    return digest([FILES / name]) if (FILES / name).exists() else ""


def _folder(path: Path) -> Iterator[list[str]]:
    for entry in sorted(path.rglob("*")):
        name = str(entry.relative_to(path))
        if entry.is_symlink():
            yield [name, str(entry.readlink())]
        elif entry.is_file():
            yield [name, hashlib.sha256(entry.read_bytes()).hexdigest()]
