# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a host as far as it can be read, and keeps what could not be read and why. Private to this collection.

For reports only: what changes a host must not take a file that it may not read for one that is absent.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from .files import HostRoot

Found = TypeVar("Found")


class LenientRoot(HostRoot):
    """A HostRoot whose answer is "absent" where HostRoot raises OSError: no permission, or a device that is gone.

    ``unreadable`` maps the path to the system's words for it.
    """

    def __init__(self, root: str = "/") -> None:
        super().__init__(root)
        self.unreadable: dict[str, str] = {}

    def data(self, path: str) -> bytes | None:
        """See HostRoot.data."""
        return self._lenient(path, super().data, None)

    def names(self, path: str) -> list[str]:
        """See HostRoot.names."""
        return self._lenient(path, super().names, [])

    def stat(self, path: str) -> os.stat_result | None:
        """See HostRoot.stat."""
        return self._lenient(path, super().stat, None)

    def link(self, path: str) -> str | None:
        """See HostRoot.link."""
        return self._lenient(path, super().link, None)

    def resolve(self, path: str) -> str:
        """See HostRoot.resolve; the path itself where its links cannot be followed."""
        return self._lenient(path, super().resolve, path)

    def _lenient(self, path: str, read: Callable[[str], Found], absent: Found) -> Found:
        try:
            return read(path)
        except OSError as error:
            self.unreadable[path] = error.strerror or type(error).__name__
            return absent
