# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what of the host program is on a host. Private to this collection."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable, Iterator

from .._plan.host_program import PACKAGE, PYTHON, ProgramFile, ProgramHost, ProgramWish
from .command import Run
from .files import HostRoot
from .services import read_services


def read_host_program(host: HostRoot, run: Run, wish: ProgramWish, *, owned: Iterable[str]) -> ProgramHost:
    """One look at package, files and units. ``owned``: the names of role prereq's record."""
    record = tuple(owned)
    paths = dict.fromkeys((*wish.files, *(p for p in record if p.startswith("/") and p != PACKAGE)))
    files = ((path, read_program_file(host, path)) for path in paths)
    return ProgramHost(
        package={path: _digest(host, f"{PACKAGE}/{path}") for path in _walk(host, "")},
        files={path: found for path, found in files if found is not None},
        services=read_services(run, wish.enabled),
        owned=record,
        python=host.is_executable(PYTHON),
    )


def read_program_file(host: HostRoot, path: str) -> ProgramFile | None:
    """Digest and mode of a regular file, or None."""
    found = host.stat(path)
    if found is None or not stat.S_ISREG(found.st_mode):
        return None
    return ProgramFile(_digest(host, path), stat.S_IMODE(found.st_mode))


def _digest(host: HostRoot, path: str) -> str:
    return hashlib.sha256(host.data(path) or b"").hexdigest()


def _walk(host: HostRoot, below: str) -> Iterator[str]:
    """Files below PACKAGE as relative paths; what Python compiled for itself does not count."""
    for name in host.names(f"{PACKAGE}/{below}"):
        path = f"{below}/{name}" if below else name
        if host.is_dir(f"{PACKAGE}/{path}"):
            if name != "__pycache__":
                yield from _walk(host, path)
        else:
            yield path
