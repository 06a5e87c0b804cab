# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads lspci in its forms: -n, -nn, -v, -k, -vmm, -D. Private to this collection.

Sources: lspci(8); leptonai/gpud fabric-manager/testdata; Bumblebee#172.
"""

from __future__ import annotations

import re
from typing import Any

from ..._catalog.gpus import GPU_CLASSES, NVIDIA, NVSWITCH_CLASS

HEAD = re.compile(
    r"^(?P<address>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s+(?P<rest>\S.*?)"
    r"(?: \(rev (?P<rev>[0-9a-f]{2})\))?(?: \(prog-if (?P<progif>[0-9a-f]{2})[^)]*\))?\s*$"
)
# "Bridge [0680]: NVIDIA Corporation Device [10de:1af1]", or of -n "0680: 10de:1af1".
NAMED = re.compile(
    r"^(?P<class_name>.+?)(?: \[(?P<class>[0-9a-f]{4})\])?: (?P<name>.*?)(?: \[(?P<id>[0-9a-f]{4}:[0-9a-f]{4})\])?$"
)
NUMBERS = re.compile(r"^(?P<class>[0-9a-f]{4}): (?P<id>[0-9a-f]{4}:[0-9a-f]{4})$")
DETAIL = re.compile(r"^\s+(?P<key>Kernel driver in use|Kernel modules|Subsystem): (?P<value>.*?)\s*$")
VMM = re.compile(r"^(?P<key>[A-Z]\w+):\s+(?P<value>.*?)\s*$")
IN_BRACKETS = re.compile(r"^(?P<name>.*?) ?\[(?P<number>[0-9a-f]{4})\]$")

# Field -> key of -vmm.
VMM_KEYS = {"rev": "Rev", "progif": "ProgIf", "svendor": "SVendor", "driver": "Driver"}

INFINIBAND_CLASS = "0207"
# Without numbers the class is told by name only.
CLASS_NAMES = {
    "VGA compatible controller": "0300",
    "3D controller": "0302",
    "Bridge": NVSWITCH_CLASS,
    "Infiniband controller": INFINIBAND_CLASS,
    "Audio device": "0403",
}
UNKNOWN_HEADER = "Unknown header type 7f"


def read_pci_list(text: str) -> dict[str, Any]:
    """PCI functions.

    ``functions``: rows of ``address`` (as printed, lower case), ``class`` (four hex digits) and ``class_name``,
    ``vendor``, ``device`` (four hex digits), ``id`` (10de:2330), ``name``, ``rev``, ``progif``, ``svendor``, ``driver``
    (None: none is bound, or not asked with -k), ``modules``, ``responding``. What the form lacks is None.

    ``gpus``, ``nvswitches``, ``infiniband``: the rows of these. A vendor of NVIDIA alone is no GPU: audio, USB and
    bridges have it too. ``responding``: False when a GPU is off the bus or powered off, which reads as rev ff and
    header type 7f.
    """
    rows = _vmm(text) if VMM.match(text.lstrip().split("\n")[0]) else _blocks(text)
    for row in rows:
        row["responding"] = row.pop("header_known") and row["rev"] != "ff"
    gpus = [row for row in rows if _of_nvidia(row) and row["class"] in GPU_CLASSES]
    switches = [row for row in rows if _of_nvidia(row) and row["class"] == NVSWITCH_CLASS]
    return {
        "functions": rows,
        "gpus": gpus,
        "nvswitches": switches,
        "infiniband": [row for row in rows if row["class"] == INFINIBAND_CLASS],
        "responding": all(row["responding"] for row in gpus) if gpus else None,
    }


def _of_nvidia(row: dict[str, Any]) -> bool:
    return bool(row["vendor"] == NVIDIA or (row["vendor"] is None and "NVIDIA" in (row["name"] or "")))


def _row(**known: Any) -> dict[str, Any]:
    fields = ("address", "class", "class_name", "vendor", "device", "id", "name", "rev", "progif", "svendor", "driver")
    return {**dict.fromkeys(fields), "modules": [], "header_known": True, **known}


def _blocks(text: str) -> list[dict[str, Any]]:
    """A line for each function, indented lines of -v and -k behind it."""
    rows: list[dict[str, Any]] = []
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            known = {"address": head["address"].lower(), "rev": head["rev"], "progif": head["progif"]}
            rows.append(_row(**known, **_identity(head["rest"])))
        elif rows:
            _add_detail(rows[-1], line)
    return rows


def _identity(text: str) -> dict[str, Any]:
    found = NUMBERS.match(text) or NAMED.match(text)
    if found is None:
        return {"name": text}
    told = found.groupdict()
    vendor, device = told["id"].split(":") if told["id"] else (None, None)
    number = told["class"] or CLASS_NAMES.get(told.get("class_name") or "")
    return {**told, "class": number, "vendor": vendor, "device": device}


def _add_detail(row: dict[str, Any], line: str) -> None:
    found = DETAIL.match(line)
    if UNKNOWN_HEADER in line:
        row["header_known"] = False
    elif found and found["key"] == "Kernel driver in use":
        row["driver"] = found["value"]
    elif found and found["key"] == "Kernel modules":
        row["modules"] = [name.strip() for name in found["value"].split(",")]
    elif found:
        row["svendor"] = found["value"]


def _vmm(text: str) -> list[dict[str, Any]]:
    """Records with an empty line between them; Module repeats, and most keys can lack."""
    rows = []
    for block in re.split(r"\n[ \t]*\n", text.strip()):
        pairs = [(f["key"], f["value"]) for f in map(VMM.match, block.splitlines()) if f]
        first: dict[str, str] = {}
        for key, value in pairs:
            first.setdefault(key, value)
        if "Slot" in first:
            rows.append(_row(**_vmm_row(first), modules=[value for key, value in pairs if key == "Module"]))
    return rows


def _vmm_row(pairs: dict[str, str]) -> dict[str, Any]:
    class_name, number = _bracketed(pairs.get("Class"))
    vendor_name, vendor = _bracketed(pairs.get("Vendor"))
    device_name, device = _bracketed(pairs.get("Device"))
    return {
        "address": pairs["Slot"].lower(),
        "class": number or CLASS_NAMES.get(class_name or ""),
        "class_name": class_name,
        "vendor": vendor,
        "device": device,
        "id": f"{vendor}:{device}" if vendor and device else None,
        "name": " ".join(n for n in (vendor_name, device_name) if n) or None,
        **{name: pairs.get(key) for name, key in VMM_KEYS.items()},
    }


def _bracketed(text: str | None) -> tuple[str | None, str | None]:
    """With -nn a name has its number behind it; with -n there is only the number."""
    if text is None:
        return None, None
    found = IN_BRACKETS.match(text)
    if found:
        return found["name"] or None, found["number"]
    return (None, text) if re.fullmatch(r"[0-9a-f]{4}", text) else (text, None)
