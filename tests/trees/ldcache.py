# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cache of the dynamic loader."""

from __future__ import annotations

import struct
from collections.abc import Iterable

FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03, "i386": 0x0003, "x32": 0x0803, "ppc64le": 0x0503}
ENTRY = struct.Struct("<iIIIQ")


def cache(paths: Iterable[tuple[str, str]], *, with_old_table: bool = False) -> bytes:
    """(path, machine) of every library -> the file's bytes.

    Entries of its old table point nowhere: nobody reads them.
    """
    rows = list(paths)
    start = 48 + len(rows) * ENTRY.size
    strings, entries = b"", b""
    for path, machine in rows:
        name = path.rpartition("/")[2].encode() + b"\0"
        key = start + len(strings)
        strings += name + path.encode() + b"\0"
        entries += ENTRY.pack(FLAGS[machine], key, key + len(name), 0, 0)
    head = b"glibc-ld.so.cache1.1" + struct.pack("<IIB3xI12x", len(rows), len(strings), 2, 0)
    old = b"ld.so-1.7.0\0" + struct.pack("<I", len(rows)) + b"\0" * 12 * len(rows) if with_old_table else b""
    return old + b"\0" * (-len(old) % 8) + head + entries + strings
