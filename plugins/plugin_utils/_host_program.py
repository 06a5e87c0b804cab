# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packs what the host program consists of. Private to this collection."""

from __future__ import annotations

import functools
import hashlib
import os

from ._helpers import PACKAGES, helper_files

ROOMS = ("_observe", "_plan", "_catalog", "_act", "_host")
NAME = "gpu_fleet"


@functools.lru_cache(maxsize=1)
def program_files() -> dict[str, bytes]:
    """Path below /usr/local/lib/gpu-fleet/python -> content. Raises HelperMissing."""
    found = {path: content for name in sorted(PACKAGES) for path, content in helper_files(name).items()}
    utils = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "module_utils")
    for room in ROOMS:
        for name in sorted(os.listdir(os.path.join(utils, room))):
            if name.endswith(".py"):
                with open(os.path.join(utils, room, name), "rb") as file:
                    found[f"{NAME}/{room}/{name}"] = file.read()
    return found


def manifest(files: dict[str, bytes]) -> dict[str, str]:
    """Path -> SHA-256 of its content."""
    return {path: hashlib.sha256(content).hexdigest() for path, content in sorted(files.items())}
