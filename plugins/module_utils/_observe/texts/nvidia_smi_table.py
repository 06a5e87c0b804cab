# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the table that nvidia-smi prints without arguments. Private to this collection.

For explaining what somebody saw: names are cut by width, and NVML has the facts.
"""

from __future__ import annotations

import re
from typing import Any

from .boxes import boxes
from .nvidia_smi_failure import with_failure
from .values import count, figure, sysfs_form, told, version

HEADING = re.compile(
    r"NVIDIA-SMI\s+(\S{1,30})\s+((?:KMD|Driver) Version):\s+(\S{1,30})(?:\s+(CUDA(?: UMD)? Version):\s+(\S{1,30}))?"
)
GPU_HEAD, MIG_HEAD, PROCESS_HEAD = re.compile(r"GPU\s+Name"), re.compile(r"GPU\s+GI\s+CI\s+MIG"), "Process name"
NAME = re.compile(r"([0-9]{1,4})\s+(.{0,80}?)(?:\s+(On|Off|N/A|\[N/A\]|ERR!|WDDM|TCC|MCDM))?$")
SENSORS = re.compile(r"(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*/\s*(\S+)$")
PROCESS = re.compile(
    r"([0-9]{1,4})\s+(?:(N/A|[0-9]{1,4})\s+(N/A|[0-9]{1,4})\s+)?([0-9]{1,10})\s+([A-Z+]{1,5})\s+(\S.{0,200}?)"
    r"(?:\s+([0-9]{1,9}MiB|N/A|\[\S+ ?\S*\]))?$"
)
CUT = "..."
FAULTS = ("ERR!", "Unknown Error", "requires reset", "GPU is lost")


def read_smi_table(text: str) -> dict[str, Any]:
    """The table, and the messages around it.

    ``smi``, ``driver``, ``cuda``: versions, None where the heading lacks them (``cuda`` on a vGPU host); ``heading``:
    the words that stand for driver and CUDA there; ``width``: columns of the table (79 up to 525). ``gpus``: rows of
    ``index``, ``name`` (as printed) and ``name_cut``, ``persistence``, ``pci``, ``pci_address``, ``ecc`` (uncorrected
    errors as printed), ``fan_percent``, ``temperature_c``, ``performance``, ``power_w``, ``power_limit_w``,
    ``memory_used_mib``, ``memory_total_mib``, ``utilization_percent``, ``compute_mode``, ``mig`` (enabled, disabled;
    None where there is none), ``mig_changes`` (with the next reset), ``faulty`` (a cell says ERR! or the like); None
    for N/A. ``instances``: rows of ``gpu``, ``gi``, ``ci``, ``device``, ``memory_used_mib``, ``memory_total_mib``,
    ``multiprocessors``. ``processes``: rows of ``gpu``, ``gi``, ``ci``, ``pid``, ``type``, ``name``, ``memory_mib``.
    ``failure``: as in with_failure.
    """
    heading = HEADING.search(text)
    smi, driver_word, driver, cuda_word, cuda = heading.groups() if heading else (None,) * 5
    result = {
        "smi": version(smi),
        "driver": version(driver),
        "cuda": version(cuda),
        "width": max((len(line.rstrip()) for line in text.splitlines() if line.startswith("+-")), default=None),
        "heading": " and ".join(w for w in (driver_word, cuda_word) if w) or None,
        **_sections(text),
    }
    return with_failure(text, result)


def _sections(text: str) -> dict[str, list[dict[str, Any]]]:
    """Rows of the three boxes; a heading says what the boxes after it hold."""
    found: dict[str, list[dict[str, Any]]] = {"gpus": [], "instances": [], "processes": []}
    section = ""
    for box in boxes(text):
        head = " ".join(cell for row in box for cell in row)
        section, is_head = _section(head, section)
        if is_head:
            continue
        if section == "gpus":
            found["gpus"] += [row for row in [_gpu(box)] if row]
        elif section == "instances":
            found["instances"] += [row for row in map(_instance, box) if row]
        elif section == "processes":
            found["processes"] += [row for row in map(_process, box) if row]
    return found


def _section(head: str, before: str) -> tuple[str, bool]:
    if GPU_HEAD.search(head):
        return "gpus", True
    if MIG_HEAD.search(head):
        return "instances", True
    if PROCESS_HEAD in head:
        return "processes", True
    return before, False


def _cell(box: list[list[str]], row: int, column: int) -> str:
    return box[row][column] if row < len(box) and column < len(box[row]) else ""


def _gpu(box: list[list[str]]) -> dict[str, Any] | None:
    named = NAME.match(_cell(box, 0, 0))
    if named is None:
        return None
    index, name, persistence = named.groups()
    sensors = SENSORS.match(_cell(box, 1, 0))
    fan, temperature, performance, power, limit = sensors.groups() if sensors else (None,) * 5
    used, _slash, total = _cell(box, 1, 1).partition("/")
    utilization, _space, mode = _cell(box, 1, 2).partition(" ")
    bus = _cell(box, 0, 1).split()
    mig = told(_cell(box, 2, 2).rstrip("*"))
    return {
        "index": int(index),
        "name": name,
        "name_cut": name.endswith(CUT),
        "persistence": told(persistence),
        "pci": bus[0] if bus else None,
        "pci_address": sysfs_form(bus[0] if bus else None),
        "ecc": told(_cell(box, 0, 2)),
        "fan_percent": count(fan),
        "temperature_c": count(temperature),
        "performance": told(performance),
        "power_w": figure(power),
        "power_limit_w": figure(limit),
        "memory_used_mib": count(used),
        "memory_total_mib": count(total),
        "utilization_percent": count(utilization),
        "compute_mode": told(mode),
        "mig": mig.lower() if mig else None,
        "mig_changes": _cell(box, 2, 2).endswith("*"),
        "faulty": any(fault in cell for row in box for cell in row for fault in FAULTS),
    }


def _instance(row: list[str]) -> dict[str, Any] | None:
    ids = [count(word) for word in row[0].split()]
    if len(ids) != 4 or None in ids or len(row) < 3:
        return None
    used, _slash, total = row[1].partition("/")
    return {
        **dict(zip(("gpu", "gi", "ci", "device"), ids)),
        "memory_used_mib": count(used),
        "memory_total_mib": count(total),
        "multiprocessors": count(row[2].split(" ")[0]),
    }


def _process(row: list[str]) -> dict[str, Any] | None:
    found = PROCESS.match(row[0])
    if found is None:
        return None
    gpu, gi, ci, pid, kind, name, memory = found.groups()
    return {
        "gpu": int(gpu),
        "gi": count(gi),
        "ci": count(ci),
        "pid": int(pid),
        "type": kind,
        "name": name,
        "memory_mib": count(memory),
    }
