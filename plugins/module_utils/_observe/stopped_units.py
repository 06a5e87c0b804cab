# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads which services a killed run left stopped. Private to this collection."""

from __future__ import annotations

import json

from .files import HostRoot

STOPPED_PATH = "/var/lib/gpu-fleet/driver/stopped.json"


def read_stopped(host: HostRoot) -> tuple[str, ...]:
    """The units in the order of stopping; empty without a record. Raises ValueError for a file that is no list."""
    text = host.text(STOPPED_PATH)
    if text is None:
        return ()
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(unit, str) for unit in found):
        raise ValueError(f"{STOPPED_PATH} is no list of units; start them by hand and remove it")
    return tuple(found)
