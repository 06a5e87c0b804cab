# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remembers services that were stopped for the driver's modules, until they are started again.

Private to this collection. The record outlives a killed run, so that the next one starts what it left stopped.
"""

from __future__ import annotations

import json
import os

from .._observe.files import HostRoot
from .._observe.stopped_units import STOPPED_PATH
from .files import make_directory, remove_file, write_atomically
from .ownership import STATE_DIRECTORY


def save_stopped(host: HostRoot, units: tuple[str, ...]) -> None:
    """Call it before a unit is stopped, and after it was started; no unit removes the record."""
    path = host.where(STOPPED_PATH)
    if not units:
        remove_file(path)
        return
    make_directory(host.where(STATE_DIRECTORY), mode=0o700)
    make_directory(os.path.dirname(path), mode=0o700)
    write_atomically(path, (json.dumps(list(units)) + "\n").encode(), mode=0o600)
