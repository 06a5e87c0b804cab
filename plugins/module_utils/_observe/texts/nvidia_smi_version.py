# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``nvidia-smi --version`` (driver 545 and later). Private to this collection."""

from __future__ import annotations

import re
from typing import Any

from .nvidia_smi_failure import with_failure
from .values import version

ROW = re.compile(r"^\s*([A-Za-z][A-Za-z -]{0,40}?)\s*: (.{0,200})$")

# Our key -> names of the row in lower case, the one that counts first: 610 deprecated the older ones.
ROWS = {
    "smi": ("nvidia-smi version",),
    "nvml": ("nvml version",),
    "driver": ("kmd version", "driver version"),
    "cuda": ("cuda umd version", "cuda version"),
}
CUDA_SINCE_545 = "CUDA Version"


def read_smi_version(text: str) -> dict[str, Any]:
    """Versions, each None where the text has none.

    ``smi``, ``nvml`` (two parts of three), ``driver`` (of the kernel modules), ``cuda`` (newest that the driver can
    do); ``driver_key`` and ``cuda_key``: names of the rows they come from. ``two_part``: the driver's version has two
    parts. ``driver_version_key_is_text``: the old row holds a sentence (610). ``cuda_key_case_changed``: ``CUDA
    version`` stands where 545 to 595 wrote ``CUDA Version``. ``failure``: as in with_failure.
    """
    rows = [m.groups() for m in map(ROW.match, text.splitlines()) if m]
    values = {name.lower(): value for name, value in rows}
    names = {name.lower(): name for name, _value in rows}
    found = {key: next((n for n in wanted if version(values.get(n))), None) for key, wanted in ROWS.items()}
    versions = {key: version(values.get(name or "")) for key, name in found.items()}
    driver = versions["driver"]
    result = {
        **versions,
        "driver_key": names.get(found["driver"] or ""),
        "cuda_key": names.get(found["cuda"] or ""),
        "two_part": None if driver is None else driver.count(".") == 1,
        "driver_version_key_is_text": "driver version" in values and version(values["driver version"]) is None,
        "cuda_key_case_changed": names.get("cuda version", CUDA_SINCE_545) != CUDA_SINCE_545,
    }
    return with_failure(text, result)
