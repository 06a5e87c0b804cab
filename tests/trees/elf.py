# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A shared object that holds nothing but its SONAME."""

from __future__ import annotations

import struct

MACHINES = {"x86_64": 62, "aarch64": 183}
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM = struct.Struct("<IIQQQQQQ")
ENTRY = struct.Struct("<qQ")
DYNAMIC, SHARED = 2, 3
STRTAB, STRSZ, SONAME = 5, 10, 14


def shared_object(soname: str | None = None, machine: str = "x86_64") -> bytes:
    """A 64-bit ELF file with one program header, the dynamic section."""
    strings = b"\0" + (soname or "").encode() + b"\0"
    start = HEADER.size + PROGRAM.size
    table = start + len(strings) + -len(strings) % 8
    rows = [(SONAME, 1)] if soname else []
    rows += [(STRTAB, start), (STRSZ, len(strings)), (0, 0)]
    dynamic = b"".join(ENTRY.pack(*row) for row in rows)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = HEADER.pack(
        ident, SHARED, MACHINES[machine], 1, 0, HEADER.size, 0, 0, HEADER.size, PROGRAM.size, 1, 0, 0, 0
    )
    program = PROGRAM.pack(DYNAMIC, 4, table, table, table, len(dynamic), len(dynamic), 8)
    return header + program + strings.ljust(table - start, b"\0") + dynamic
