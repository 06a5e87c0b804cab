# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the SONAME of ELF shared objects. Private to this collection.

Format: System V ABI, chapters 4 and 5 (header, program headers, dynamic section); elf(5).
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator

from .files import HostRoot

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NULL, DT_STRTAB, DT_SONAME = 0, 5, 14

# class byte -> (header fields from e_type on, program header, dynamic entry)
LAYOUTS = {
    1: ("HHIIIIIHHHHHH", "IIIIIIII", "iI"),
    2: ("HHIQQQIHHHHHH", "IIQQQQQQ", "qQ"),
}
BYTE_ORDERS = {1: "<", 2: ">"}


class NotElf(Exception):
    """The file is no ELF object, or a damaged one."""


def read_soname(host: HostRoot, path: str) -> str | None:
    """The SONAME of the library at ``path``, or None where it has none.

    Raises NotElf, and OSError where it is absent.
    """
    with open(host.where(path), "rb") as file:
        head = file.read(20)
        if head[:4] != b"\x7fELF":
            raise NotElf(f"{path} does not begin with the ELF magic number")
        # Driver libraries have tens of MiB; only a few pages are looked at.
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _soname(data)
            except (struct.error, KeyError, IndexError) as error:
                raise NotElf(f"{path} is a damaged ELF object ({error})") from error


def _soname(data: mmap.mmap) -> str | None:
    order = BYTE_ORDERS[data[5]]
    header, program, dynamic = LAYOUTS[data[4]]
    segments = list(_segments(data, order + header, order + program, data[4]))
    found = next((s for s in segments if s[0] == PT_DYNAMIC), None)
    if found is None:
        return None
    tags = dict(_tags(data, order + dynamic, offset=found[1], size=found[3]))
    if DT_SONAME not in tags:
        return None
    start = _offset(segments, tags[DT_STRTAB]) + tags[DT_SONAME]
    end = data.find(b"\0", start)
    return data[start:end].decode("utf-8", "surrogateescape")


def _segments(data: mmap.mmap, header: str, program: str, width: int) -> Iterator[tuple[int, int, int, int]]:
    """(type, file offset, virtual address, size in the file) of every program header."""
    fields = struct.unpack_from(header, data, 16)
    start, size, count = fields[4], fields[8], fields[9]
    for number in range(count):
        row = struct.unpack_from(program, data, start + number * size)
        yield (row[0], row[1], row[2], row[4]) if width == 1 else (row[0], row[2], row[3], row[5])


def _tags(data: mmap.mmap, entry: str, *, offset: int, size: int) -> Iterator[tuple[int, int]]:
    for place in range(offset, offset + size, struct.calcsize(entry)):
        tag, value = struct.unpack_from(entry, data, place)
        if tag == DT_NULL:
            return
        yield tag, value


def _offset(segments: list[tuple[int, int, int, int]], address: int) -> int:
    """The place in the file of a virtual address."""
    for kind, offset, start, size in segments:
        if kind == PT_LOAD and start <= address < start + size:
            return offset + address - start
    # Without a PT_LOAD that holds it, address and offset are the same.
    return address
