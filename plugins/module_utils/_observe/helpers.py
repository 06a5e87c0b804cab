# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the Python packages that some modules need on a host. Private to this collection.

They are looked for, in this order: the interpreter's own packages, the path in the environment variable
GPU_FLEET_PYTHON (a zip archive that the action plugin sent), and what role prereq installed for good.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

INSTALLED = "/usr/local/lib/gpu-fleet/python"
ENVIRONMENT = "GPU_FLEET_PYTHON"


def find_helper(name: str) -> ModuleType | None:
    """The imported package ``name`` (pynvml, tomlkit, yaml), or None where no place has it."""
    for place in (None, os.environ.get(ENVIRONMENT), INSTALLED):
        if place and place not in sys.path:
            sys.path.append(place)
        try:
            return importlib.import_module(name)
        except ImportError:
            importlib.invalidate_caches()
    return None
