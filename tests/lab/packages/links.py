# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of whole folders that cost no space."""

from __future__ import annotations

import os
import shutil


def link(source: str, target: str) -> None:
    """Makes `target` a hard link to the file `source`; a copy where both are not on one file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
