# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``crictl info``. Private to this collection."""

from __future__ import annotations

from typing import Any

from ..cri import parse_info
from .container_log import read_container_log
from .documents import parse_json

NVIDIA = "nvidia"


def read_crictl_info(text: str) -> dict[str, Any]:
    """``ready``: the runtime says so; ``handlers`` that pods can name; ``nvidia_runtime``: whether NVIDIA's is one.

    ``valid``, else ``error``; further keys as in read_container_log where the text is an error.
    """
    parsed = parse_json(text)
    if not parsed.table:
        return {**read_container_log(text), "ready": None, "handlers": [], "nvidia_runtime": None, "valid": False,
                "error": parsed.error or "it is no object"}  # fmt: skip
    status = parse_info(text)
    ours = any(NVIDIA in name for name in status.handlers)
    return {
        "ready": status.ready,
        "handlers": list(status.handlers),
        "nvidia_runtime": ours,
        "valid": True,
        "error": None,
    }
