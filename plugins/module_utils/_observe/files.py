# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads files, links and device nodes below a host root, and nothing outside it. Private to this collection."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass

# A path that needs more hops than the kernel allows (path_resolution(7)) is a loop.
MAX_LINKS = 40

# Not there, or a parent that is no directory: both mean "absent" to a reader.
ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


@dataclass(frozen=True)
class DeviceNode:
    """A character device: path as the host names it, device numbers, permission bits, owner and group ids."""

    path: str
    major: int
    minor: int
    mode: int
    uid: int
    gid: int


class HostRoot:
    """Every path given here is the host's own absolute path; it is read below ``root``.

    Links are followed inside the root, as chroot(2) would: an absolute link target starts at the root again.
    """

    def __init__(self, root: str = "/") -> None:
        self.root = os.path.abspath(root)

    def where(self, path: str) -> str:
        """The path on the running machine of the host's ``path``, with all links resolved inside the root.

        Raises OSError(ELOOP) for a link that leads to itself.
        """
        done, parts, hops = "", _parts(path), 0
        while parts:
            part = parts.pop(0)
            if part == "..":
                done = os.path.dirname(done)
                continue
            step = f"{done}/{part}"
            target = _readlink(self._outer(step))
            if target is None:
                done = step
                continue
            hops += 1
            if hops > MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            done = "" if target.startswith("/") else done
            parts = _parts(target) + parts
        return self._outer(done or "/")

    def resolve(self, path: str) -> str:
        """The host's own name of ``path`` after all links, for example /usr/lib/... for /lib/..."""
        outer = self.where(path)
        return outer if self.root == "/" else outer[len(self.root) :] or "/"

    def _outer(self, path: str) -> str:
        return path if self.root == "/" else self.root + ("" if path == "/" else path)

    def text(self, path: str) -> str | None:
        """The file's text (UTF-8, undecodable bytes kept as surrogates), or None where it is absent.

        Raises OSError for anything else, for example a permission that is missing.
        """
        data = self.data(path)
        return None if data is None else data.decode("utf-8", "surrogateescape")

    def data(self, path: str) -> bytes | None:
        """The file's bytes, or None where it is absent. Raises OSError for anything else."""
        try:
            with open(self.where(path), "rb") as file:
                return file.read()
        except OSError as error:
            if error.errno in ABSENT:
                return None
            raise

    def line(self, path: str) -> str | None:
        """The file's text without surrounding white space, or None: for one-value files of /sys and /proc."""
        text = self.text(path)
        return None if text is None else text.strip()

    def exists(self, path: str) -> bool:
        """Whether something is at the end of all links."""
        return self.stat(path) is not None

    def is_file(self, path: str) -> bool:
        """Whether a regular file is at the end of all links."""
        found = self.stat(path)
        return found is not None and stat.S_ISREG(found.st_mode)

    def is_dir(self, path: str) -> bool:
        """Whether a directory is at the end of all links."""
        found = self.stat(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def is_executable(self, path: str) -> bool:
        """Whether a regular file with an execute bit is at the end of all links."""
        found = self.stat(path)
        return found is not None and stat.S_ISREG(found.st_mode) and bool(found.st_mode & 0o111)

    def stat(self, path: str) -> os.stat_result | None:
        """stat(2) at the end of all links, or None where it is absent."""
        try:
            return os.lstat(self.where(path))
        except OSError as error:
            if error.errno in ABSENT:
                return None
            raise

    def link(self, path: str) -> str | None:
        """The text of the symbolic link ``path`` itself (its parents resolved), or None where it is no link."""
        parent, name = os.path.split(path)
        return _readlink(os.path.join(self.where(parent), name))

    def names(self, path: str) -> list[str]:
        """The sorted names in a directory; empty where it is absent. Raises OSError for anything else."""
        try:
            return sorted(os.listdir(self.where(path)))
        except OSError as error:
            if error.errno in ABSENT:
                return []
            raise

    def device(self, path: str) -> DeviceNode | None:
        """The character device at ``path``, or None where there is none."""
        found = self.stat(path)
        if found is None or not stat.S_ISCHR(found.st_mode):
            return None
        return DeviceNode(
            path=path,
            major=os.major(found.st_rdev),
            minor=os.minor(found.st_rdev),
            mode=stat.S_IMODE(found.st_mode),
            uid=found.st_uid,
            gid=found.st_gid,
        )


def _parts(path: str) -> list[str]:
    return [p for p in path.split("/") if p not in ("", ".")]


def _readlink(outer: str) -> str | None:
    try:
        return os.readlink(outer)
    except OSError as error:
        if error.errno in (errno.EINVAL, *ABSENT):
            return None
        raise
