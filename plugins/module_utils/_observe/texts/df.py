# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``df -Pk``. Private to this collection.

Source: df(1p), the portable format: one line a file system, sizes in units of 1024 bytes.
"""

from __future__ import annotations

import re

from ..._plan.disk import FileSystem

ROW = re.compile(r"^\S.*?\s+(?P<size>\d+)\s+\d+\s+(?P<free>-?\d+)\s+\S+\s+(?P<mount>/.*)$")


def read_df(text: str) -> list[FileSystem]:
    """The file systems in their order, each once; lines that are none are left out."""
    rows = (ROW.match(line) for line in text.splitlines())
    found = (FileSystem(m["mount"], max(int(m["free"]), 0) * 1024, int(m["size"]) * 1024) for m in rows if m)
    return list(dict.fromkeys(found))
