# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values as NVIDIA's tools print them: addresses, figures with units, and the words for no value at all.

Private to this collection.
"""

from __future__ import annotations

import re

# Every one of these means "no value"; none of them is zero, and none is a fault by itself.
NO_VALUE = (
    "n/a",
    "[n/a]",
    "not found",
    "[not found]",
    "not supported",
    "[not supported]",
    "unknown error",
    "[unknown error]",
    "insufficient permissions",
    "[insufficient permissions]",
    "requested functionality has been deprecated",
    "gpu requires reset",
    "[gpu requires reset]",
    "[gpu is lost]",
    "err!",
    "<<<null>>>",
    "??",
    "",
)
DEPRECATED = "deprecated"

PCI_ADDRESS = re.compile(r"([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])")
FIGURE = re.compile(r"\s*(-?[0-9]{1,15}(?:\.[0-9]{1,9})?)(?=\s|[A-Za-z%]|$)")
VERSION = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,5}){1,3}")


def told(text: str | None) -> str | None:
    """The value, or None where the text is one of the words for no value."""
    value = (text or "").strip()
    return None if value.lower() in NO_VALUE or value.lower().startswith(DEPRECATED) else value


def figure(text: str | None) -> float | None:
    """The number before a unit: 26.562 of ``26.562 GB/s``; None for a text that does not begin with one."""
    found = FIGURE.match(text or "")
    return float(found.group(1)) if found else None


def count(text: str | None) -> int | None:
    """Like ``figure``, for whole numbers: 192 of ``192 bank(s)``."""
    found = figure(text)
    return int(found) if found is not None and found.is_integer() else None


def version(text: str | None) -> str | None:
    """The version at the beginning of a value, without the remark that newer drivers put behind it."""
    found = VERSION.match((text or "").strip())
    return found.group(0) if found else None


def sysfs_form(address: str | None) -> str | None:
    """0000:41:00.0 of 00000000:41:00.0, as gpu_info gives addresses; None for a text that is none.

    Domains beyond ffff (virtual machines, VMD) keep their digits.
    """
    found = PCI_ADDRESS.search(address or "")
    if found is None:
        return None
    domain, bus, device, function = found.groups()
    return f"{int(domain, 16):04x}:{bus}:{device}.{function}".lower()
