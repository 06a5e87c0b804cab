# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``dcgmi discovery -l``. Private to this collection."""

from __future__ import annotations

import re
from typing import Any

from .boxes import boxes
from .dcgm_errors import read_dcgm_errors
from .plain import number
from .values import sysfs_form, told

FOUND = re.compile(r"([0-9]{1,4}) (GPUs?|NvSwitch(?:es)?|CPUs?|GrpEnts?|ConnectX\w*) found")
FIELDS = {"name": "name", "pci bus id": "pci", "device uuid": "uuid"}
PAD = re.compile(r"\|[ \t]+$", re.MULTILINE)


def read_dcgm_discovery(text: str) -> dict[str, Any]:
    """GPUs as the host engine sees them.

    ``found``: kind of entity (GPUs, NvSwitches ...) -> number that the engine counts; ``gpus``: rows of ``id``,
    ``name`` (None for <<<NULL>>>, which an engine older than the driver's library prints), ``pci`` as printed,
    ``pci_address`` in sysfs form, ``uuid``. ``names``: known, unknown or None without rows. ``padded_right``: lines go
    on after the box, as older releases write them. ``errors``: as in read_dcgm_errors.
    """
    gpus = [row for row in (_gpu(box) for box in boxes(text)) if row is not None]
    named = [g for g in gpus if g["name"]]
    return {
        "found": {kind: int(times) for times, kind in FOUND.findall(text)},
        "gpus": gpus,
        "names": None if not gpus else "known" if len(named) == len(gpus) else "unknown",
        "padded_right": PAD.search(text) is not None,
        "errors": read_dcgm_errors(text),
    }


def _gpu(box: list[list[str]]) -> dict[str, Any] | None:
    index = number(box[0][0])
    values: dict[str, str | None] = {}
    for row in box:
        name, colon, value = row[-1].partition(": ")
        if colon and name.lower() in FIELDS:
            values[FIELDS[name.lower()]] = told(value)
    if index is None or "pci" not in values:
        return None
    known = {key: values.get(key) for key in FIELDS.values()}
    return {"id": index, **known, "pci_address": sysfs_form(values["pci"])}
