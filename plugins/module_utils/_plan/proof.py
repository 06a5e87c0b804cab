# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves what an operand is for: what a node or a pod shows, compared with what the host's GPUs predict. Private to
this collection.

Every proof is an empty text where it holds, else one sentence with both sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .resources import is_gpu_resource
from .words import some

Node = Mapping[str, Any]
Instance = Mapping[str, Any]


def prove_allocatable(node: Node, resources: Mapping[str, int]) -> str:
    """Empty when the node allocates exactly the predicted resources, else both sides."""
    found = (node.get("status") or {}).get("allocatable") or {}
    real = {k: int(v) for k, v in found.items() if is_gpu_resource(k) and int(v)}
    rows = [(n, real.get(n, 0), resources.get(n, 0)) for n in sorted({*real, *resources})]
    wrong = [f"{name} is {is_now}, predicted {wanted}" for name, is_now, wanted in rows if is_now != wanted]
    return f"allocatable {'; '.join(wrong)}" if wrong else ""


LABEL_LINE = re.compile(r"(nvidia\.com/[^=\s]+)=(\S*)")


def parse_gfd_log(text: str) -> dict[str, str]:
    """The labels of GFD's last two rounds, the later value of each; empty before its first round.

    A round begins where a label comes again. The last one may not be written to its end yet, and lines of the other
    output stream may stand anywhere in it.
    """
    before: dict[str, str] = {}
    last: dict[str, str] = {}
    for match in (LABEL_LINE.fullmatch(line.strip()) for line in text.splitlines()):
        if match is None:
            continue
        if match[1] in last:
            before, last = last, {}
        last[match[1]] = match[2]
    return {**before, **last}


def prove_labels(found: Mapping[str, str], predicted: Mapping[str, str], *, ignored: Iterable[str]) -> str:
    """Empty when GFD finds what was predicted. A label without prediction (its source was unknown) does not count."""
    if not found:
        return "GFD has not written labels to its log yet"
    checked = {k: v for k, v in sorted(predicted.items()) if k not in set(ignored)}
    wrong = [f"{k} is {found.get(k)!r}, predicted {v!r}" for k, v in checked.items() if found.get(k) != v]
    return f"GFD's label {'; '.join(wrong[:3])}" if wrong else ""


# Labels of NVIDIA's DCGM exporter (README of dcgm-exporter 4.8): every series has UUID, that of a GPU instance GPU_I_ID
# and GPU_I_PROFILE too. A GPU with instances need not have a series of its own.
SERIES = re.compile(r"^DCGM_FI_DEV_GPU_TEMP\{([^}]*)\}", re.MULTILINE)
TAG = re.compile(r'(\w+)="([^"]*)"')
COMPUTE_PART = re.compile(r"^[0-9]+c\.|\+.*$")


def gpu_instances(gpus: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """The GPU instances of rows of gpu_info: UUID of the GPU (``gpu``), ``id``, and ``profile`` as in 3g.20gb.

    Several compute instances in one are one row. Without NVML's id there is none.
    """
    found = {
        (gpu["uuid"], device["gpu_instance"]): COMPUTE_PART.sub("", device["profile"])
        for gpu in gpus
        for device in gpu["mig"].get("devices") or ()
        if device.get("gpu_instance") is not None
    }
    return tuple({"gpu": gpu, "id": number, "profile": profile} for (gpu, number), profile in found.items())


def prove_series(metrics: str, gpus: Iterable[str], instances: Iterable[Instance]) -> str:
    """Whether the exporter has a temperature for every GPU (UUID), or instead for every GPU instance of it, and for no
    instance that the host does not have: an exporter names the instances that there were when it started.
    """
    seen = [dict(TAG.findall(tags)) for tags in SERIES.findall(metrics)]
    wanted = {(row["gpu"], str(row["id"])): row["profile"] for row in instances}
    cut = {gpu for gpu, _number in wanted}
    whole = {tags.get("UUID") for tags in seen if "GPU_I_ID" not in tags}
    found = {(tags.get("UUID", ""), tags["GPU_I_ID"]): _base(tags) for tags in seen if "GPU_I_ID" in tags}
    known = list(gpus)
    lacks = [gpu for gpu in known if gpu not in cut and gpu not in whole]
    lacks += [_instance(key, profile) for key, profile in wanted.items() if key not in found]
    if lacks:
        return f"no DCGM_FI_DEV_GPU_TEMP for {some(lacks)}"
    old = [
        _instance(key, profile)
        for key, profile in found.items()
        if key[0] in known and not _is_now(profile, wanted.get(key))
    ]
    return f"DCGM_FI_DEV_GPU_TEMP names MIG instances that the host does not have: {some(old)}" if old else ""


def _is_now(profile: str, wanted: str | None) -> bool:
    """Whether the host has an instance of that id with the same profile; the exporter may leave the profile out."""
    return wanted is not None and profile in ("", wanted)


def _base(tags: Mapping[str, str]) -> str:
    return COMPUTE_PART.sub("", tags.get("GPU_I_PROFILE", ""))


def _instance(key: tuple[str, str], profile: str) -> str:
    return f"{key[0]} instance {key[1]} ({profile})"
