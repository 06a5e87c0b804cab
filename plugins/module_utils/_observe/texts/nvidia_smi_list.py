# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``nvidia-smi -L``. Private to this collection."""

from __future__ import annotations

import re
from typing import Any

from ..._plan.mig_layout import parse_device_name
from .nvidia_smi_failure import with_failure
from .values import told

GPU = re.compile(r"^\s*GPU ([0-9]{1,4}): (.{0,200}?)(?: \(UUID: ([^)\s]{0,80})\))?\s*$")
MIG = re.compile(r"^\s*MIG (\S{1,40})\s+Device\s+([0-9]{1,4}):\s*(?:\(UUID: ([^)\s]{0,120})\))?\s*$")
# Before driver 470: MIG-GPU-<UUID of the GPU>/<GPU instance>/<compute instance>
OLD_UUID = re.compile(r"MIG-(GPU-[^/]+)/([0-9]{1,4})/([0-9]{1,4})$")


def read_smi_list(text: str) -> dict[str, Any]:
    """GPUs and MIG devices.

    ``gpus``: rows of ``index``, ``name``, ``uuid`` (None where the GPU does not tell) and ``mig``, a list of rows of
    ``profile`` (``1c.3g.71gb``), ``index``, ``uuid``, ``width`` of the compute instance in slices, ``gpu_instance`` and
    ``compute_instance`` (ids, None in UUIDs since driver 470).
    ``mig``: all profiles in order. ``whole_gpu_usable``: False where every GPU is split, True where some are not, None
    where none is: MIG mode without instances looks the same here. ``compute_instances_split``: a GPU instance has a
    compute instance narrower than itself. ``failure``: as in with_failure.
    """
    gpus = _gpus(text)
    split = [g for g in gpus if g["mig"]]
    profiles = [m["profile"] for g in gpus for m in g["mig"]]
    result = {
        "gpus": gpus,
        "mig": profiles,
        "whole_gpu_usable": len(split) < len(gpus) if split else None,
        "compute_instances_split": any(p[1:2] == "c" for p in profiles),
    }
    return with_failure(text, result)


def _gpus(text: str) -> list[dict[str, Any]]:
    gpus: list[dict[str, Any]] = []
    for line in text.splitlines():
        gpu, mig = GPU.match(line), MIG.match(line)
        if gpu:
            index, name, uuid = gpu.groups()
            gpus.append({"index": int(index), "name": told(name), "uuid": told(uuid), "mig": []})
        elif mig and gpus:
            gpus[-1]["mig"].append(_mig(*mig.groups()))
    return gpus


def _mig(profile: str, index: str, uuid: str | None) -> dict[str, Any]:
    name, old = parse_device_name(profile), OLD_UUID.match(uuid or "")
    return {
        "profile": profile,
        "index": int(index),
        "uuid": told(uuid),
        "width": name.width if name else None,
        "gpu_instance": int(old.group(2)) if old else None,
        "compute_instance": int(old.group(3)) if old else None,
    }
