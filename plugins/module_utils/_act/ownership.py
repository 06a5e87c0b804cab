# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remembers what a role put on a host, so that removal undoes exactly that. Private to this collection.

One file a role, /var/lib/gpu-fleet/owned/<role>.json:
``{"schema": 1, "objects": {"<object>": {"before": <value or null>, "ours": <value>}}}``.
``before`` is what stood there before the first change and is never overwritten by a later one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from .._observe.files import HostRoot
from .files import make_directory, remove_file, write_atomically

STATE_DIRECTORY = "/var/lib/gpu-fleet"
SCHEMA = 1


class OwnershipError(Exception):
    """A record that cannot be read; the message names the file and the way out."""


class RootRefused(ValueError):
    """A change was asked for below another root than the running machine's."""


def record_below(root: str, role: str, *, check_mode: bool) -> Ownership:
    """The record of the host below ``root``. Raises RootRefused where it would be changed elsewhere than on /."""
    host = HostRoot(root)
    if host.root != "/" and not check_mode:
        raise RootRefused(f"host_root is {root!r}, but packages and units are changed on / only; use check mode")
    return Ownership(role, directory=host.where(STATE_DIRECTORY))


class Ownership:
    """The record of one role. Values are anything JSON holds."""

    def __init__(self, role: str, *, directory: str = STATE_DIRECTORY) -> None:
        self.path = os.path.join(directory, "owned", f"{role}.json")
        self._directory = directory
        self.objects = self._read()

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            with open(self.path, encoding="utf-8") as file:
                document = json.load(file)
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise OwnershipError(f"{self.path} is no JSON ({error}); restore it from a backup or remove it") from error
        if document.get("schema") != SCHEMA:
            raise OwnershipError(
                f"{self.path} has schema {document.get('schema')!r}, wanted {SCHEMA}; update gpu.fleet"
            )
        return dict(document["objects"])

    def record(self, name: str, *, before: Any, ours: Any) -> None:
        """Remembers ``name`` on disk; call it before the change itself. A second call keeps the first ``before``."""
        kept = self.objects.get(name, {}).get("before", before)
        row = {"before": kept, "ours": ours}
        if self.objects.get(name) == row:
            return
        self.objects[name] = row
        self._write()

    def take(self, objects: Mapping[str, tuple[Any, Any]], *, gone: Iterable[str] = ()) -> None:
        """Records ``objects`` (name -> before, ours) before they are changed and forgets what is ``gone``, at once."""
        kept = {name: self.objects.get(name, {}).get("before", before) for name, (before, _ours) in objects.items()}
        rows = {name: {"before": kept[name], "ours": ours} for name, (_before, ours) in objects.items()}
        drop = set(gone)
        after = {name: row for name, row in {**self.objects, **rows}.items() if name not in drop}
        if after == self.objects:
            return
        self.objects = after
        self._write_or_remove()

    def forget(self, name: str) -> None:
        """Drops ``name``; call it after its removal."""
        if self.objects.pop(name, None) is None:
            return
        self._write_or_remove()

    def _write_or_remove(self) -> None:
        if self.objects:
            self._write()
        else:
            remove_file(self.path)

    def _write(self) -> None:
        make_directory(self._directory, mode=0o700)
        os.chmod(self._directory, 0o700)
        document = {"schema": SCHEMA, "objects": self.objects}
        write_atomically(self.path, (json.dumps(document, indent=1, sort_keys=True) + "\n").encode(), mode=0o600)
