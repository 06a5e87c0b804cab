# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the driver's libraries below a driver root. Private to this collection."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from .._catalog.driver_files import LIBRARY_DIRECTORIES
from .._plan.cdi_host import Library
from .devices import join
from .elf import NotElf, read_soname
from .files import MAX_LINKS, HostRoot
from .ldcache import LdCacheError, read_ldcache

VERSION_OF_LIBRARY = re.compile(r"lib(?:cuda|nvidia-ml)\.so\.(\d+\.\d+(?:\.\d+)?)$")


def find_files(host: HostRoot, directories: Iterable[str], pattern: str, *, root: str = "/") -> list[str]:
    """Host paths of what matches ``pattern`` and is no directory, in the order given.

    A pattern is a name whose last part may have wildcards.
    """
    found = []
    for directory in dict.fromkeys(directories):
        place, name = posixpath.split(join(root, f"{directory}/{pattern}"))
        if not any(c in name for c in "*?["):
            names = [name]
        else:
            names = [n for n in host.names(place) if fnmatchcase(n, name)]
        paths = (posixpath.join(place, n) for n in names)
        found += [p for p in paths if host.exists(p) and not host.is_dir(p)]
    return found


class Libraries:
    """The libraries that the driver root has; asks the loader's cache only where the usual directories have nothing."""

    def __init__(self, host: HostRoot, *, root: str = "/", search_paths: Iterable[str] = ()) -> None:
        self._host = host
        self._root = root
        self._search_paths = tuple(search_paths)
        self._cached: list[str] | None = None

    def locate(self, pattern: str) -> list[str]:
        """Host paths of the real files behind what matches ``pattern``, each once."""
        if self._search_paths:
            return self._resolved(find_files(self._host, self._search_paths, pattern))
        found = self._resolved(find_files(self._host, LIBRARY_DIRECTORIES, pattern, root=self._root))
        return found or self._resolved(p for p in self._cache() if fnmatchcase(posixpath.basename(p), pattern))

    def locate_in(self, directories: Iterable[str], pattern: str) -> list[str]:
        """The same in ``directories`` below the root only."""
        return self._resolved(find_files(self._host, directories, pattern, root=self._root))

    def directories(self, version: str) -> tuple[str, ...]:
        """Directories, relative to the root, that hold libraries of the driver ``version``, in the order of search."""
        places = (posixpath.dirname(p) for p in self.locate(f"lib*.so.{version}"))
        return tuple(dict.fromkeys(self.relative(p) for p in places))

    def versions(self) -> list[str]:
        """Driver versions that libcuda or libnvidia-ml are there for, the newest first."""
        names = (posixpath.basename(p) for stem in ("libcuda", "libnvidia-ml") for p in self.locate(f"{stem}.so.*.*"))
        found = {m.group(1) for m in map(VERSION_OF_LIBRARY.match, names) if m}
        return sorted(found, key=lambda v: [int(n) for n in v.split(".")], reverse=True)

    def relative(self, path: str) -> str:
        """The host's ``path`` as a container sees it: without the root."""
        root = self._root.rstrip("/")
        return path[len(root) :] if root and path.startswith(f"{root}/") else path

    def library(self, host_path: str) -> Library:
        """What links of the library at ``host_path`` can be made of."""
        directory, name = posixpath.split(host_path)
        try:
            soname = read_soname(self._host, host_path) or name
        except NotElf:
            soname = None
        beside = {soname, so_name(soname or name), so_name(name)} - {None, ""}
        links = frozenset(n for n in beside if n and self._host.link(f"{directory}/{n}") is not None)
        return Library(self.relative(host_path), host_path, soname, links)

    def _resolved(self, paths: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(self._host.resolve(p) for p in paths))

    def _cache(self) -> list[str]:
        if self._cached is None:
            try:
                entries = read_ldcache(self._host, root=self._root)
            except LdCacheError:
                # A damaged cache is as good as none: what then is not found is reported by its name.
                entries = []
            self._cached = [p for e in entries for p in self._chain(join(self._root, e))]
        return self._cached

    def _chain(self, path: str) -> list[str]:
        """``path`` and every file on its way along symbolic links; nothing where the end is missing."""
        chain = [path]
        while len(chain) <= MAX_LINKS:
            text = self._host.link(chain[-1])
            if text is None:
                return chain if self._host.exists(chain[-1]) else []
            chain.append(posixpath.normpath(posixpath.join(posixpath.dirname(chain[-1]), text)))
        return []


def so_name(name: str) -> str:
    """libx.so for libx.so.1.2; empty for a name that has no .so before its numbers."""
    while name:
        stem, ending = posixpath.splitext(name)
        if ending == ".so" or not ending:
            return name if ending else ""
        name = stem
    return ""
