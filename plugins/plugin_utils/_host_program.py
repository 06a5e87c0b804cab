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
        for folder, _folders, names in os.walk(os.path.join(utils, room)):
            for name in (n for n in names if n.endswith(".py")):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[f"{NAME}/{os.path.relpath(path, utils)}"] = file.read()
    return found


def manifest(files: dict[str, bytes]) -> dict[str, str]:
    """Path -> SHA-256 of its content."""
    return {path: hashlib.sha256(content).hexdigest() for path, content in sorted(files.items())}
