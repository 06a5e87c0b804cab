# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a document has the shape of a CDI spec, so that everybody else may rely on it. Private to this collection.

Source: schema.json and defs.json of the CDI specification 1.1.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# list in containerEdits -> the text that each of its rows has to have
ROWS = {"deviceNodes": "path", "mounts": "hostPath", "hooks": "path"}
TEXTS = ("cdiVersion", "kind")


def shape_error(document: Any) -> str:
    """The first place that has another shape, in words; empty for the shape of a spec. Names and versions are the
    business of cdi_rules.
    """
    if not isinstance(document, Mapping):
        return "it is no table"
    return next(_errors(document), "")


def _errors(document: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{key} is no text" for key in TEXTS if not isinstance(document.get(key, ""), str))
    yield from _edit_errors(document.get("containerEdits"), "containerEdits")
    devices = document.get("devices")
    if not isinstance(devices, list):
        yield "it has no list of devices"
        return
    for number, device in enumerate(devices):
        if not isinstance(device, Mapping) or not isinstance(device.get("name"), str):
            yield f"devices[{number}] has no name"
        else:
            yield from _edit_errors(device.get("containerEdits"), f"devices[{number}].containerEdits")


def _edit_errors(edits: Any, where: str) -> Iterator[str]:
    if edits is None:
        return
    if not isinstance(edits, Mapping):
        yield f"{where} is no table"
        return
    for name, text in ROWS.items():
        rows = edits.get(name) or []
        if not isinstance(rows, list):
            yield f"{where}.{name} is no list"
        elif not all(isinstance(row, Mapping) and isinstance(row.get(text), str) for row in rows):
            yield f"{where}.{name} has a row without {text}"
