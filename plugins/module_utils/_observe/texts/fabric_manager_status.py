# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``systemctl status nvidia-fabricmanager``. Private to this collection."""

from __future__ import annotations

import re
from typing import Any

from .fabric_manager import read_fabric_manager_log
from .unit_status import read_unit_status

CONFIG = re.compile(r"(?:^|\s)-c\s+(\S+)")
GUID = re.compile(r"(?:^|\s)-g\s+(0x[0-9a-fA-F]{1,16})")


def read_fabric_manager_status(text: str) -> dict[str, Any]:
    """The unit as in read_unit_status, and the lines of its log below as in read_fabric_manager_log.

    ``config``: the file that it was started with; ``management_guid``: port of the NVLink 5 switches that the subnet
    manager runs on, None without one; ``nvl5``: whether it was started for NVLink 5 (None where no command is shown).
    """
    unit = read_unit_status(text)
    command = unit["command"] or ""
    config, guid = CONFIG.search(command), GUID.search(command)
    log = read_fabric_manager_log(text)
    return {
        **log,
        **unit,
        "config": config.group(1) if config else None,
        "management_guid": guid.group(1) if guid else None,
        "nvl5": bool(guid) if command else None,
    }
