# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what ``nvidia-smi mig`` lists and does: -lgip, -lgipp, -lgi, -lcip, -lci, -cgi, -cci, -dgi, -dci.

Private to this collection. A profile's memory is not the figure in its name, and it moves between drivers.
"""

from __future__ import annotations

import re
from typing import Any

from .boxes import boxes
from .nvidia_smi_failure import with_failure
from .plain import number

PROFILE = re.compile(
    r"([0-9]{1,4})\s+MIG (\S{1,40})\s+([0-9]{1,4})\s+([0-9]{1,4})/([0-9]{1,4})\s+([0-9]{1,5}\.[0-9]{1,4})\s+(\S{1,5})"
    r"\s+([0-9]{1,5})\s+([0-9]{1,4})\s+([0-9]{1,4})"
)
ENGINES = re.compile(r"([0-9]{1,4})\s+([0-9]{1,4})\s+([0-9]{1,4})")
PLACEMENTS = re.compile(
    r"GPU\s+([0-9]{1,4}) Profile ID\s+([0-9]{1,4}) Placements?\s*: *\{([0-9, ]{0,200})\}:([0-9]{1,3})"
)
GPU_INSTANCE = re.compile(r"([0-9]{1,4})\s+MIG (\S{1,40})\s+([0-9]{1,4})\s+([0-9]{1,4})\s+([0-9]{1,4}):([0-9]{1,4})")
COMPUTE_PROFILE = re.compile(
    r"([0-9]{1,4})\s+([0-9]{1,4})\s+MIG (\S{1,40})\s+([0-9]{1,4})\s*\*?\s+([0-9]{1,4})/([0-9]{1,4})\s+([0-9]{1,5})\b.*"
)
COMPUTE_INSTANCE = re.compile(
    r"([0-9]{1,4})\s+([0-9]{1,4})\s+MIG (\S{1,40})\s+([0-9]{1,4})\s+([0-9]{1,4})\s+([0-9]{1,4}):([0-9]{1,4})"
)
DONE = re.compile(
    r"Successfully (created|destroyed) (GPU|compute) instance ID\s+([0-9]{1,4}) (?:on|from) GPU\s+([0-9]{1,4})"
    r"(?: GPU instance ID\s+([0-9]{1,4}))?(?: using profile MIG (\S{1,40}) \(ID\s+([0-9]{1,4})\))?"
)


def read_smi_mig(text: str) -> dict[str, Any]:
    """Everything that the text lists; ids and units are NVML's.

    ``profiles`` (-lgip): rows of ``gpu``, ``profile``, ``id``, ``free``, ``total``, ``memory_gib``, ``p2p``,
    ``multiprocessors``, ``decoders``, ``encoders``, and of the second line ``copy_engines``, ``jpeg``, ``ofa`` (None
    where it is missing). ``placements`` (-lgipp): rows of ``gpu``, ``id``, ``starts``, ``size``. ``instances`` (-lgi):
    rows of ``gpu``, ``profile``, ``profile_id``, ``id``, ``start``, ``size``. ``compute_profiles`` (-lcip): rows of
    ``gpu``, ``gi``, ``profile``, ``id``, ``free``, ``total``, ``multiprocessors``. ``compute_instances`` (-lci): rows
    of ``gpu``, ``gi``, ``profile``, ``profile_id``, ``id``, ``start``, ``size``. ``done``: rows of ``verb`` (created,
    destroyed), ``what`` (GPU, compute), ``id``, ``gpu``, ``gi``, ``profile``. ``layouts``: GPU -> ``1g.10gb@2`` in
    order of profile and start, which compares two GPUs as ids do not. ``same_layout`` and ``same_instance_ids``:
    whether all GPUs agree; None for fewer than two. ``failure``: as in with_failure.
    """
    rows = [(row[0], box) for box in boxes(text) for row in box if row]
    instances = [_named(m, "gpu profile profile_id id start size") for m in _all(GPU_INSTANCE, rows)]
    layouts = _layouts(instances)
    ids = [sorted(i["id"] for i in instances if i["gpu"] == gpu) for gpu in layouts]
    several = len(layouts) > 1
    result = {
        "profiles": _profiles(text),
        "placements": [_placement(m) for m in PLACEMENTS.finditer(text)],
        "instances": instances,
        "compute_profiles": [
            _named(m, "gpu gi profile id free total multiprocessors") for m in _all(COMPUTE_PROFILE, rows)
        ],
        "compute_instances": [
            _named(m, "gpu gi profile profile_id id start size") for m in _all(COMPUTE_INSTANCE, rows)
        ],
        "done": [_named(m, "verb what id gpu gi profile profile_id") for m in DONE.finditer(text)],
        "layouts": layouts,
        "same_layout": all(x == next(iter(layouts.values())) for x in layouts.values()) if several else None,
        "same_instance_ids": all(x == ids[0] for x in ids) if several else None,
    }
    return with_failure(text, result)


def _all(pattern: re.Pattern[str], rows: list[tuple[str, list[list[str]]]]) -> list[re.Match[str]]:
    return [m for m in (pattern.fullmatch(cell) for cell, _box in rows) if m]


def _named(found: re.Match[str], names: str) -> dict[str, Any]:
    values = (v if v is None or number(v) is None else number(v) for v in found.groups())
    return dict(zip(names.split(), values))


def _profiles(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for row in (row[0] for box in boxes(text) for row in box if row):
        profile, engines = PROFILE.fullmatch(row), ENGINES.fullmatch(row)
        if profile:
            names = "gpu profile id free total memory_gib p2p multiprocessors decoders encoders"
            values = _named(profile, names)
            nothing = {"copy_engines": None, "jpeg": None, "ofa": None}
            found.append(
                {**values, "memory_gib": float(values["memory_gib"]), "p2p": values["p2p"] == "Yes", **nothing}
            )
        elif engines and found and found[-1]["copy_engines"] is None:
            found[-1].update(_named(engines, "copy_engines jpeg ofa"))
    return found


def _placement(found: re.Match[str]) -> dict[str, Any]:
    gpu, profile, starts, size = found.groups()
    words = (w.strip() for w in starts.split(","))
    return {"gpu": int(gpu), "id": int(profile), "starts": [int(w) for w in words if w.isdigit()], "size": int(size)}


def _layouts(instances: list[dict[str, Any]]) -> dict[int, list[str]]:
    found: dict[int, list[tuple[str, int]]] = {}
    for row in instances:
        found.setdefault(row["gpu"], []).append((str(row["profile"]), row["start"]))
    return {gpu: [f"{profile}@{start}" for profile, start in sorted(places)] for gpu, places in found.items()}
