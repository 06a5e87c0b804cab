# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sums up what a list of packages says about the driver. Private to this collection.

Source: the rows of _catalog/package_origins.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from ..._catalog.package_origins import KERNEL, LIBRARY, MODULE_SOURCES, UTILITIES, DriverPart

BRANCH = re.compile(r"-(\d{3})(?=-|$)")


def driver_parts(names: Collection[str], rows: Sequence[DriverPart]) -> dict[str, Any]:
    """Of the names of installed packages: ``parts`` (part -> names), ``complete`` (library, kernel modules and
    utilities are

    there) and ``module_source``: dkms, linux-modules-nvidia, precompiled, kmod, akmods; None without kernel modules.
    """
    parts: dict[str, list[str]] = {part: [] for part in (LIBRARY, KERNEL, UTILITIES)}
    for name in names:
        for row in rows:
            if re.fullmatch(row.names, name) and name not in parts[row.part]:
                parts[row.part].append(name)
    kernel = parts[KERNEL]
    source = next((kind for pattern, kind in MODULE_SOURCES for name in kernel if re.match(pattern, name)), None)
    return {"parts": parts, "complete": all(parts.values()), "module_source": source}


def branch_of_name(name: str) -> int | None:
    """550 of libnvidia-compute-550-server; None for a name without a branch."""
    found = BRANCH.search(name)
    return int(found.group(1)) if found else None
