# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads /etc/ld.so.cache, the dynamic loader's list of libraries. Private to this collection.

Format: glibc sysdeps/generic/dl-cache.h. Since glibc 2.32 only the new table is written; older files have an old
table before it.
"""

from __future__ import annotations

import struct

from .files import HostRoot

PATH = "/etc/ld.so.cache"

OLD_MAGIC = b"ld.so-1.7.0\0"
OLD_ENTRY = struct.Struct("<iII")
NEW_MAGIC = b"glibc-ld.so.cache1.1"
NEW_HEADER_SIZE = 48
NEW_ENTRY = struct.Struct("<iIIIQ")

# High byte of an entry's flags: which ABI the library is for. All others are 32 bit or other machines.
FLAGS_64_BIT = {0x03: "x86_64", 0x05: "ppc64le", 0x0A: "aarch64"}
# Low byte: ELF library, or ELF library for glibc.
FLAGS_ELF = (1, 3)


class LdCacheError(Exception):
    """The file is no cache of a known format; the message says why."""


def read_ldcache(host: HostRoot, *, root: str = "/") -> list[str]:
    """Paths of all 64-bit libraries in the cache below ``root``, each once, in its order; empty without a cache.

    Raises LdCacheError for a file that is none.
    """
    data = host.data(root.rstrip("/") + PATH)
    return [] if data is None else list(dict.fromkeys(parse(data)))


def parse(data: bytes) -> list[str]:
    """Paths of the 64-bit entries. Raises LdCacheError."""
    table = data[_new_table(data) :]
    if len(table) < NEW_HEADER_SIZE or not table.startswith(NEW_MAGIC):
        raise LdCacheError("no table glibc-ld.so.cache1.1 in it")
    (count,) = struct.unpack_from("<I", table, len(NEW_MAGIC))
    if NEW_HEADER_SIZE + count * NEW_ENTRY.size > len(table):
        raise LdCacheError(f"{count} entries announced, but the file ends before them")
    entries = NEW_ENTRY.iter_unpack(table[NEW_HEADER_SIZE : NEW_HEADER_SIZE + count * NEW_ENTRY.size])
    return [_string(table, value) for flags, _key, value, _osversion, _hwcap in entries if _wanted(flags)]


def _new_table(data: bytes) -> int:
    if not data.startswith(OLD_MAGIC):
        return 0
    if len(data) < len(OLD_MAGIC) + 4:
        raise LdCacheError("the old table is cut off")
    (count,) = struct.unpack_from("<I", data, len(OLD_MAGIC))
    end = len(OLD_MAGIC) + 4 + count * OLD_ENTRY.size
    return (end + 7) // 8 * 8


def _wanted(flags: int) -> bool:
    return (flags & 0xFF) in FLAGS_ELF and (flags >> 8 & 0xFF) in FLAGS_64_BIT


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if end < 0:
        raise LdCacheError(f"no string at offset {offset}")
    return table[offset:end].decode("utf-8", "surrogateescape")
