# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what nvidia-smi printed without arguments, with lines of the kernel's log that were copied along.

Private to this collection.
"""

from __future__ import annotations

from typing import Any

from .kernel_log import read_kernel_log
from .nvidia_smi_table import read_smi_table

KERNEL = "NVRM:"


def read_nvidia_smi(text: str, source: str = "") -> dict[str, Any]:
    """The table and messages as in read_smi_table; with kernel messages also the keys of read_kernel_log.

    What both tell comes from nvidia-smi.
    """
    table = read_smi_table(text)
    if KERNEL not in text:
        return table
    kernel = read_kernel_log(text, source)
    return {**kernel, **{key: value for key, value in table.items() if value is not None or key not in kernel}}
