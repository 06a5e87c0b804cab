# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is remembered of MIG on a host: the wish, the state before the last change. Private to this collection.

/var/lib/gpu-fleet/mig/: ``wish.yaml``, ``checkpoint.json``, ``stopped.json`` (units that are to be started again).
The wish is written as JSON, which is YAML too, so that the boot unit needs no YAML parser.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from .files import make_directory, remove_file, write_atomically
from .ownership import STATE_DIRECTORY

# In the checkpoint: whether the change after it came to its end.
FINISHED = "finished"


class MigStateError(Exception):
    """A file that cannot be read; the message names it and the way out."""


class MigState:
    """The files below ``directory`` (default /var/lib/gpu-fleet); reading an absent one gives None."""

    def __init__(self, directory: str = STATE_DIRECTORY) -> None:
        self.directory = directory
        self.wish_path = os.path.join(directory, "mig", "wish.yaml")
        self.checkpoint_path = os.path.join(directory, "mig", "checkpoint.json")
        self.stopped_path = os.path.join(directory, "mig", "stopped.json")

    def wish(self) -> Any:
        """The saved wish's document."""
        return self._read(self.wish_path)

    def save_wish(self, document: Any) -> None:
        """Call it before the change that it asks for."""
        self._write(self.wish_path, document)

    def forget_wish(self) -> bool:
        """Whether there was one."""
        return remove_file(self.wish_path)

    def checkpoint(self) -> Any:
        """The state before the last change, as mig_info's ``checkpoint``."""
        return self._read(self.checkpoint_path)

    def save_checkpoint(self, document: Mapping[str, Any]) -> None:
        """Call it before a change. What an unfinished change of the same GPUs has left is not what was there before
        it, so then the older state stays.
        """
        older = self.checkpoint()
        if older is None or older.get(FINISHED, True) or _uuids(older) != _uuids(document):
            self._write(self.checkpoint_path, {**document, FINISHED: False})

    def finish_checkpoint(self) -> None:
        """Call it when a change, or all that an earlier run left of one, is done."""
        document = self.checkpoint()
        if document is not None and not document.get(FINISHED, True):
            self._write(self.checkpoint_path, {**document, FINISHED: True})

    def forget_checkpoint(self) -> None:
        """Where there is none, nothing happens."""
        remove_file(self.checkpoint_path)

    def stopped(self) -> list[str]:
        """Units that a run stopped and did not start again, because it was killed in between."""
        return list(self._read(self.stopped_path) or ())

    def save_stopped(self, units: list[str]) -> None:
        """Call it before the units are stopped; an empty list after they were started removes the record."""
        if units:
            self._write(self.stopped_path, units)
        else:
            remove_file(self.stopped_path)

    def _read(self, path: str) -> Any:
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise MigStateError(f"{path} is no JSON ({error}); run role mig again, or remove it") from error

    def _write(self, path: str, document: Any) -> None:
        make_directory(self.directory, mode=0o700)
        os.chmod(self.directory, 0o700)
        write_atomically(path, (json.dumps(document, indent=1, sort_keys=True) + "\n").encode(), mode=0o600)


def _uuids(document: Mapping[str, Any]) -> set[str]:
    """The GPUs that a checkpoint is about."""
    return {row["uuid"] for row in document.get("gpus", ())}
