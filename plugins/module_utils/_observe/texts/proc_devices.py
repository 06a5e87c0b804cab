# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads /proc/devices. Private to this collection.

Sources: nvidia-container-toolkit#324, #330; nvidia-modprobe#9.
"""

from __future__ import annotations

import re
from typing import Any

ROW = re.compile(r"^\s*(?P<major>\d+)\s+(?P<name>\S.*?)\s*$")
GPU_MAJOR = 195
# Whole names: nvidia-caps is the beginning of another one.
NAMES = (
    "nvidia", "nvidiactl", "nvidia-frontend", "nvidia-modeset", "nvidia-uvm", "nvidia-nvlink", "nvidia-nvswitch",
    "nvidia-caps", "nvidia-caps-imex-channels",
)  # fmt: skip


def read_proc_devices(text: str) -> dict[str, Any]:
    """Character and block devices by their majors.

    ``character``, ``block``: rows of ``major`` and ``name``, in order; a text without headings is of character devices.
    ``majors``: every name of the driver's devices -> major, None where the kernel has none. ``nvidia_major``,
    ``nvidiactl_major``, and ``nvidia_name``: how the driver calls major 195 (nvidia-frontend before 550.40).
    ``duplicate_names``: names that occur more than once.
    """
    character, block = _sections(text)
    first: dict[str, int] = {}
    for row in character:
        first.setdefault(row["name"], row["major"])
    names = [row["name"] for row in character]
    gpu = [row["name"] for row in character if row["major"] == GPU_MAJOR and row["name"] in NAMES]
    return {
        "character": character,
        "block": block,
        "majors": {name: first.get(name) for name in NAMES},
        "nvidia_name": gpu[0] if gpu else None,
        "nvidia_major": GPU_MAJOR if gpu else None,
        "nvidiactl_major": first.get("nvidiactl"),
        "duplicate_names": list(dict.fromkeys(n for n in names if names.count(n) > 1)),
    }


def _sections(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Block devices stand after their heading, and can have the numbers of character devices."""
    character: list[dict[str, Any]] = []
    block: list[dict[str, Any]] = []
    section = character
    for line in text.splitlines():
        if line.startswith("Block devices"):
            section = block
        found = ROW.match(line)
        if found:
            section.append({"major": int(found["major"]), "name": found["name"]})
    return character, block
