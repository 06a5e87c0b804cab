# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes an engine's files, has the engine check them, and puts everything back if it refuses.

Private to this collection.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterable
from typing import Any

from .._observe.files import HostRoot
from .._plan.engine import FileChange, Owned, differences
from .files import remove_file, write_atomically
from .ownership import Ownership
from .toml_file import edited_json, edited_toml

DEFAULT_MODE = 0o644

# path -> (text, permission bits), None where there was no file
Backup = dict[str, "tuple[bytes, int] | None"]


class Refused(Exception):
    """The engine does not accept its new configuration; the old one is in place again."""


def read_owned(ownership: Ownership) -> list[Owned]:
    """The values that this collection has set in shared files."""
    rows = []
    for name, row in ownership.objects.items():
        path, mark, key = name.partition("#")
        if mark:
            rows.append(Owned(path, tuple(json.loads(key)), row["before"], row["ours"]))
    return rows


class EngineFiles:
    """Carries out file changes one by one; ``check`` is called after the last of them and raises Refused.

    ``shared`` is the file that others write too: what is set there is remembered first.
    """

    def __init__(
        self, host: HostRoot, ownership: Ownership, *, shared: str, toml: Any, check: Callable[[], None]
    ) -> None:
        self._host = host
        self._ownership = ownership
        self._shared = shared
        self._toml = toml
        self._check = check
        self._backup: Backup = {}

    def apply(self, change: FileChange, *, last: bool) -> None:
        """Writes or removes one file. Raises Refused, EditError or OSError; then all files are as they were."""
        try:
            self._keep(change.path)
            self._record(change)
            self._write(change)
            if last:
                self._check()
            self._settle(change)
        except BaseException:
            self._restore()
            raise

    def forget(self) -> None:
        """Nothing in the shared file is ours any more."""
        for name in [n for n in self._ownership.objects if n.startswith(f"{self._shared}#")]:
            self._ownership.forget(name)

    def _write(self, change: FileChange) -> None:
        path, old = self._host.where(change.path), self._backup[change.path]
        if change.after is None:
            remove_file(path)
            return
        text, mode = (old[0].decode("utf-8", "surrogateescape"), old[1]) if old else ("", DEFAULT_MODE)
        if change.path.endswith(".json"):
            new = edited_json(text, change.after)
        else:
            new = edited_toml(text, change.after, self._toml)
        write_atomically(path, new.encode("utf-8", "surrogateescape"), mode=mode)

    def _keep(self, path: str) -> None:
        data, found = self._host.data(path), self._host.stat(path)
        self._backup[path] = None if data is None or found is None else (data, stat.S_IMODE(found.st_mode))

    def _restore(self) -> None:
        for path, old in self._backup.items():
            if old is None:
                remove_file(self._host.where(path))
            else:
                write_atomically(self._host.where(path), old[0], mode=old[1])

    def _record(self, change: FileChange) -> None:
        """Remembers every value before it is set."""
        if change.path != self._shared:
            return
        if change.before is None:
            self._ownership.record(owned_name(change.path, ()), before=None, ours="present")
        for key, old, new in differences(change.before or {}, change.after or {}):
            name = owned_name(change.path, key)
            row = self._ownership.objects.get(name)
            if (row is None or row["before"] != new) and (new is not None or row is None):
                self._ownership.record(name, before=old, ours=new)

    def _settle(self, change: FileChange) -> None:
        """Forgets what was set back to what it was: not before that is done, or a run that dies could not go on."""
        if change.path != self._shared:
            return
        for key, _old, new in differences(change.before or {}, change.after or {}):
            name = owned_name(change.path, key)
            row = self._ownership.objects.get(name)
            if row is not None and row["before"] == new:
                self._ownership.forget(name)


def owned_name(path: str, key: Iterable[str]) -> str:
    """The name under which a value is remembered."""
    return f"{path}#{json.dumps(list(key))}"
