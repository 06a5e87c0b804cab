# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``nvidia-smi -q``, whole or in part. Private to this collection.

Indentation is the structure, and names repeat (``MIG Device``, ``Current``).
"""

from __future__ import annotations

import re
from typing import Any

from .nvidia_smi_failure import read_smi_failure, with_failure
from .nvidia_smi_gpu import gpu_row
from .tree import Branch
from .values import count, version

GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])")
LONGEST = 1000


def parse_query(text: str) -> Branch:
    """The tree below a nameless root. A line without a colon opens a group; deeper lines belong to it."""
    root = Branch("")
    above: list[tuple[int, Branch]] = [(-1, root)]
    for raw in text.expandtabs().splitlines():
        line = raw.strip()
        if not line or len(line) > LONGEST or line.startswith("="):
            continue
        name, colon, value = line.partition(" : ") if " : " in line else (line.rstrip(":"), "", "")
        branch = Branch(name.rstrip(" :"), value.strip() if colon or line.endswith(" :") else None)
        indent = len(raw) - len(raw.lstrip())
        while above[-1][0] >= indent:
            above.pop()
        above[-1][1].children.append(branch)
        above.append((indent, branch))
    return root


def read_smi_query(text: str) -> dict[str, Any]:
    """Versions, and a row for each GPU.

    ``driver``, ``cuda``: versions, None where a part has none; ``driver_value_has_note``: the old row carries a remark
    behind the version (610). ``attached``: GPUs that the driver has, which can be more than are listed.
    ``gpus``: rows as gpu_row gives them; a part without a GPU's heading is one row with ``pci`` None.
    ``failure``: as in with_failure.
    """
    root, failure = parse_query(text), read_smi_failure(text)
    driver = root.value("Driver Version")
    gpus = [(GPU.match(b.name), b) for b in root.children]
    rows = [gpu_row(b, address=m.group(1), xml=False) for m, b in gpus if m]
    if not rows and failure is None and root.children:
        rows = [gpu_row(root, address=None, xml=False)]
    result = {
        "driver": version(root.value("KMD Version")) or version(driver),
        "cuda": version(root.value("CUDA UMD Version")) or version(root.value("CUDA Version")),
        "driver_value_has_note": version(driver) not in (None, driver),
        "attached": count(root.value("Attached GPUs")),
        "gpus": rows,
    }
    return with_failure(text, result)
