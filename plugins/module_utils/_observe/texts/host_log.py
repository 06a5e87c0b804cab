# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a log of the whole host: kernel, licence client, fabric manager, container engines.

Private to this collection.
"""

from __future__ import annotations

from typing import Any

from .container_log import read_container_log
from .fabric_manager import read_fabric_manager_log
from .gridd import read_gridd_log
from .kernel_log import read_kernel_log


def read_host_log(text: str, source: str = "") -> dict[str, Any]:
    """What each part says that has something to say.

    ``parts``: kind (kernel_log, fabric_manager_log, gridd_log, container_log) -> as its reader tells it. The first
    one's keys stand at the top, with ``kind``; without any, those of the kernel's log.
    """
    kernel = read_kernel_log(text, source)
    parts = {
        "kernel_log": kernel,
        "fabric_manager_log": read_fabric_manager_log(text),
        "gridd_log": read_gridd_log(text),
        "container_log": read_container_log(text),
    }
    told = {kind: part for kind, part in parts.items() if part["events"]}
    kind = next(iter(told), "kernel_log")
    return {**parts[kind], "kind": kind, "parts": told}
