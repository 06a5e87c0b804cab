# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folders of labs below the cache: claimed at the start, removed at the end, swept when their owner died."""

from __future__ import annotations

import json
import secrets
import shutil
from dataclasses import asdict
from pathlib import Path

from dev import cache

from . import cgroups
from .processes import Identity, alive, identity

RECORD = "owner.json"


def root() -> Path:
    """Where every lab of this user has its folder."""
    path = cache.root() / "labs"
    path.mkdir(exist_ok=True)
    return path


def claim() -> Path:
    """A new, empty folder that belongs to this process; sweeps first."""
    with cache.locked(root() / ".lock"):
        _sweep()
        folder = root() / _free_id()
        folder.mkdir(mode=0o755)
        record(folder, identity())
    return folder


def record(folder: Path, owner: Identity) -> None:
    """Writes down with whom the lab lives and dies."""
    temporary = folder / f"{RECORD}.tmp"
    temporary.write_text(json.dumps(asdict(owner)))
    temporary.rename(folder / RECORD)


def owner(folder: Path) -> Identity | None:
    """With whom the lab lives and dies; None for one that is being removed, or was left half removed."""
    try:
        return Identity(**json.loads((folder / RECORD).read_text()))
    except FileNotFoundError:
        return None


def _lives(folder: Path) -> bool:
    who = owner(folder)
    return who is not None and alive(who)


def sweep() -> list[str]:
    """Removes what dead labs left: processes, control groups, folders. Returns their ids."""
    with cache.locked(root() / ".lock"):
        return _sweep()


def running() -> list[Path]:
    """Folders of the labs whose owner lives."""
    return [folder for folder in _folders() if _lives(folder)]


def remove(folder: Path) -> None:
    """Ends a lab: kills every process in its control groups, then removes these and the folder."""
    # Under the lock: a sweep at the same time would see a lab without an owner and remove it, too.
    with cache.locked(root() / ".lock"):
        _remove(folder)


def _remove(folder: Path) -> None:
    # The record goes first: whoever looks meanwhile sees that the lab is being removed.
    (folder / RECORD).unlink(missing_ok=True)
    cgroups.kill_and_remove(folder.name)
    if folder.exists():
        shutil.rmtree(folder)


def _sweep() -> list[str]:
    dead = [folder for folder in _folders() if not _lives(folder)]
    for folder in dead:
        _remove(folder)
    return [folder.name for folder in dead]


def _folders() -> list[Path]:
    return sorted(path for path in root().iterdir() if path.is_dir())


def _free_id() -> str:
    """Short, since an interface name has room for 15 characters."""
    while True:
        name = secrets.token_hex(2)
        if not (root() / name).exists() and not any(folder.exists() for folder in cgroups.folders(name)):
            return name
