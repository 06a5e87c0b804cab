# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``nvidia-smi nvlink -s``. Private to this collection.

The exit status is 0 whatever it says.
"""

from __future__ import annotations

import re
from typing import Any

from .nvidia_smi_failure import with_failure
from .nvidia_smi_list import GPU
from .values import figure

LINK = re.compile(r"^\s*Link ([0-9]{1,3}): (.{1,60}?)\s*$")
SUPPORTED, UNSUPPORTED, UNKNOWN = "supported", "unsupported", "unknown"

# A sentence in place of links (letter case differs between releases) -> what it means for NVLink, and the reason
SENTENCES = (
    ("does not have or support nvlink", UNSUPPORTED, None),
    ("all links are inactive", SUPPORTED, "all links are inactive"),
    ("not supported for devices in mig mode", UNKNOWN, "MIG mode"),
    ("unable to retrieve nvlink information", UNKNOWN, "NVML did not answer"),
)


def read_smi_nvlink(text: str) -> dict[str, Any]:
    """NVLinks of each GPU.

    ``gpus``: rows of ``index``, ``name``, ``uuid``, ``nvlink`` (supported, unsupported, unknown), ``reason`` (None
    where links are listed), ``links``: rows of ``link`` and ``speed_gb_s`` (GB/s each way, None for an inactive link).
    Of all GPUs: ``nvlink`` (None where they differ), ``reason``, ``links`` and ``links_active`` of the GPU that has
    fewest active ones, ``speed_gb_s`` (None where links differ). ``error``: whether something is wrong; MIG mode and
    GPUs without NVLink are not. ``failure``: as in with_failure.
    """
    gpus = _gpus(text)
    words = {g["nvlink"] for g in gpus}
    worst = min(gpus, key=_active, default=None)
    speeds = {link["speed_gb_s"] for g in gpus for link in g["links"] if link["speed_gb_s"] is not None}
    result = {
        "gpus": gpus,
        "nvlink": words.pop() if len(words) == 1 else None,
        "reason": worst["reason"] if worst else None,
        "links": len(worst["links"]) if worst else 0,
        "links_active": _active(worst) if worst else 0,
        "speed_gb_s": speeds.pop() if len(speeds) == 1 else None,
        "error": any(g["nvlink"] == SUPPORTED and _active(g) < len(g["links"]) for g in gpus),
    }
    return with_failure(text, result)


def _active(gpu: dict[str, Any]) -> int:
    return sum(link["speed_gb_s"] is not None for link in gpu["links"])


def _gpus(text: str) -> list[dict[str, Any]]:
    gpus: list[dict[str, Any]] = []
    for line in text.splitlines():
        gpu, link = GPU.match(line), LINK.match(line)
        said = next(((w, r) for sentence, w, r in SENTENCES if sentence in line.lower()), None)
        if gpu:
            index, name, uuid = gpu.groups()
            row: dict[str, Any] = {
                "index": int(index),
                "name": name,
                "uuid": uuid,
                "nvlink": UNKNOWN,
                "reason": None,
                "links": [],
            }
            gpus.append(row)
        elif link and gpus:
            gpus[-1]["links"].append({"link": int(link.group(1)), "speed_gb_s": figure(link.group(2))})
            gpus[-1]["nvlink"] = SUPPORTED
        elif said and gpus:
            gpus[-1]["nvlink"], gpus[-1]["reason"] = said
    return gpus
