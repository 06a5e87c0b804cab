# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``nvidia-smi topo -m``. Private to this collection."""

from __future__ import annotations

import re
from typing import Any

from .nvidia_smi_failure import with_failure
from .values import count, told

DEVICE = re.compile(r"(?:GPU|NIC)[0-9]{1,4}|(?:mlx|bnxt_re|rocep|ib|efa|rdmap|irdma)\w{0,20}")
GPU = re.compile(r"GPU[0-9]{1,4}")
KIND = re.compile(r"[A-Z][A-Z0-9/]{0,7}")
NVLINKS = re.compile(r"NV([0-9]{1,3})")
NIC_NAME = re.compile(r"^[ \t]*(NIC[0-9]{1,4}): (\S{1,60})[ \t]*$", re.MULTILINE)
CPUS = re.compile(r"[0-9]{1,5}(?:-[0-9]{1,5})?(?:,[0-9]{1,5}(?:-[0-9]{1,5})?)*")
# From near to far, as the legend lists them from the end.
NEAREST = ("PIX", "PXB", "PHB", "NODE", "SYS")
CPU_COLUMN, NUMA_COLUMN, GPU_NUMA_COLUMN = "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"


def read_smi_topology(text: str) -> dict[str, Any]:
    """The matrix of links, and what each GPU is near to.

    ``gpus``, ``nics``: names of the columns; ``nic_names``: from the legend (NIC0 -> mlx5_0). ``rows``: one a GPU that
    has a row (a copy may be cut): ``name``, ``links`` (column -> kind), ``cpu_affinity``, ``numa``, ``gpu_numa_id``
    (None for N/A or nothing), ``nearest_nics`` (all at the shortest distance; empty where none is told).
    ``nvlinks_per_pair``: NVLinks between two GPUs, None where pairs differ or have none. ``weak_pairs``: pairs of GPUs
    without NVLink although others have it: the fabric is incomplete. ``gpu_numa_id_column``: driver 535 and later.
    ``failure``: as in with_failure.
    """
    head, columns, body = _head(text)
    rows = [row for row in (_row(line, columns, head) for line in body) if row is not None]
    gpus = [c for c in columns if GPU.fullmatch(c)]
    nv, weak = _nvlinks([r for r in rows if GPU.fullmatch(r["name"])])
    result = {
        "gpus": gpus,
        "nics": [c for c in columns if c not in gpus],
        "nic_names": dict(NIC_NAME.findall(text)),
        "rows": [r for r in rows if GPU.fullmatch(r["name"])],
        "nvlinks_per_pair": next(iter(nv)) if len(nv) == 1 else None,
        "weak_pairs": weak if nv else [],
        "gpu_numa_id_column": GPU_NUMA_COLUMN in head,
    }
    return with_failure(text, result)


def _head(text: str) -> tuple[str, list[str], list[str]]:
    """The heading, the devices that it names, and the lines after it."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        names = [w for w in line.split() if DEVICE.fullmatch(w)]
        if names and (CPU_COLUMN in line or line.split() == names):
            return line, names, lines[number + 1 :]
    return "", [], []


def _row(line: str, columns: list[str], head: str) -> dict[str, Any] | None:
    words = line.split()
    cells = words[1 : len(columns) + 1]
    if not words or not DEVICE.fullmatch(words[0]) or len(cells) < len(columns):
        return None
    if not all(KIND.fullmatch(c) for c in cells):
        return None
    links = dict(zip(columns, cells))
    return {"name": words[0], "links": links, **_affinity(line, words, head, columns), "nearest_nics": _nearest(links)}


def _affinity(line: str, words: list[str], head: str, columns: list[str]) -> dict[str, Any]:
    """The columns after the matrix. An empty one shifts the words, so tabs count where the text still has them."""
    has_id = GPU_NUMA_COLUMN in head
    tabs = [cell.strip() for cell in line.strip("\n").split("\t")]
    if len(tabs) > len(columns) + 1:
        tail = tabs[len(columns) + 1 :]
        # A GPU's row has one tab more than the heading before the last column.
        last = tail[-1] if has_id and len(tail) > 2 else None
        cpus, numa = (tail + ["", ""])[:2]
    else:
        cpus, numa, last = _by_form(words[len(columns) + 1 :], has_id)
    return {"cpu_affinity": told(cpus), "numa": told(numa), "gpu_numa_id": count(last)}


def _by_form(tail: list[str], has_id: bool) -> tuple[str, str, str | None]:
    wanted = 3 if has_id else 2
    if len(tail) < wanted and has_id and tail and not CPUS.fullmatch(tail[-1]):
        # N/A at the end belongs to the last column, whatever is missing before it.
        return (*_two(tail[:-1]), tail[-1])
    return (*_two(tail[:2]), tail[2] if has_id and len(tail) > 2 else None)


def _two(words: list[str]) -> tuple[str, str]:
    cpus, numa = ([*words, "", ""])[:2]
    if len(words) == 1 and not re.search("[-,]", cpus):
        return "", cpus
    return cpus, numa


def _nearest(links: dict[str, str]) -> list[str]:
    kinds = {name: kind for name, kind in links.items() if not GPU.fullmatch(name) and kind in NEAREST}
    best = min(kinds.values(), key=NEAREST.index, default=None)
    return [name for name, kind in kinds.items() if kind == best]


def _nvlinks(rows: list[dict[str, Any]]) -> tuple[set[int], list[tuple[str, str]]]:
    """Numbers of NVLinks that pairs of GPUs have, and the pairs without."""
    numbers, weak = set(), []
    for row in rows:
        for name, kind in row["links"].items():
            if not GPU.fullmatch(name) or kind == "X":
                continue
            links = NVLINKS.fullmatch(kind)
            if links:
                numbers.add(int(links.group(1)))
            elif (name, row["name"]) not in weak:
                weak.append((row["name"], name))
    return numbers, weak
