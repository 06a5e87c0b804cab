# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads capability files and tables of minors of /proc/driver. Private to this collection.

Sources: MIG user guide, device nodes and capabilities; nvidia-container-toolkit#86; canonical/snapd#14893.
"""

from __future__ import annotations

import re
from typing import Any

from .gpu_information import read_pairs
from .plain import number

# Entries of mig-minors that name an instance. The table is the same on every host: it has them all.
INSTANCE = re.compile(r"gpu\d+/gi\d+/(?:ci\d+/)?access")


def read_capability(text: str) -> dict[str, Any]:
    """One file below /proc/driver/nvidia/capabilities: what its node in /dev/nvidia-caps has to be.

    ``minor``, ``mode`` (octal text, 0400), ``modify`` (1: the driver's tools may make the node); None where absent.
    """
    pairs = read_pairs(text)
    mode = number(pairs.get("DeviceFileMode"))
    return {
        "minor": number(pairs.get("DeviceFileMinor")),
        "mode": None if mode is None else f"{mode & 0o7777:04o}",
        "modify": number(pairs.get("DeviceFileModify")),
    }


def read_minors(text: str) -> dict[str, Any]:
    """A table of /proc/driver/nvidia-caps (mig-minors, nvlink-minors, sys-minors).

    ``minors``: capability (config, monitor, gpu0/gi1/access, gpu0/gi1/ci0/access) -> minor. The GPU's number is the
    device minor, not the index. ``static_table``: it names MIG instances, and then all that could be: it says nothing
    about which exist. Lines of another form are no entries.
    """
    rows = (line.split() for line in text.splitlines())
    minors = {row[0]: int(row[1]) for row in rows if len(row) == 2 and number(row[1]) is not None}
    return {"minors": minors, "static_table": any(INSTANCE.fullmatch(name) for name in minors)}
