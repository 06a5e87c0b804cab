# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong with GPUs, as changes of a state. Nothing here is seen before the state is written."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.health import KEYS
from simulator.layout import NOT_STARTED, new_fabric
from simulator.models import MODELS, Model
from simulator.state import Record, State

LOCATIONS = {"l1": 0, "l2": 1, "dram": 2, "register_file": 3, "texture": 4, "texture_shm": 5, "cbu": 6, "sram": 7}
# nvmlClocksEventReason* (nvml.h)
REASONS = {
    "gpu_idle": 0x1,
    "applications_clocks": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake": 0x80,
    "display_clocks": 0x100,
}
FABRIC_STATES = {"not_supported": 0, "not_started": 1, "in_progress": 2, "completed": 3}
FABRIC_SUMMARIES = {"not_supported": 0, "healthy": 1, "unhealthy": 2, "limited_capacity": 3}
LINK_COUNTERS = ("crc", "replay", "recovery", "ecc")
PAGE_CAUSES = {"single_bit": 0, "double_bit": 1}


def find_gpu(state: State, minor: int) -> Record:
    """The GPU with that device minor. ValueError names the minors that there are."""
    for gpu in state.gpus:
        if gpu["minor"] == str(minor):
            return gpu
    known = ", ".join(gpu["minor"] for gpu in state.gpus) or "none"
    raise ValueError(f"GPU {minor} is not there: device minors here are {known}")


def model_of(state: State, minor: int) -> Model:
    """Its board."""
    return MODELS[find_gpu(state, minor)["model"]]


def set_health(state: State, minor: int, values: Mapping[str, int | None]) -> None:
    """Sets values of health.py; None goes back to what follows from model and load. ValueError for an unknown key."""
    find_gpu(state, minor)
    unknown = sorted(set(values) - set(KEYS))
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: no value of a GPU; there are {', '.join(KEYS)}")
    row = _row(state.health, {"gpu": str(minor)})
    for key, value in values.items():
        row.pop(key, None)
        if value is not None:
            row[key] = str(value)
    if len(row) == 1:
        state.health.remove(row)


def health(state: State, minor: int, key: str) -> int | None:
    """The value that is set, or None."""
    rows = [row for row in state.health if row["gpu"] == str(minor)]
    return int(rows[0][key]) if rows and key in rows[0] else None


def raise_health(state: State, minor: int, key: str) -> None:
    """One more of something that is counted."""
    set_health(state, minor, {key: (health(state, minor, key) or 0) + 1})


def add_ecc(
    state: State, minor: int, *, location: int, uncorrected: bool, count: int = 1, volatile: bool = True
) -> None:
    """Errors more; `volatile=False`: only in the count that outlives the driver. ValueError where there is no ECC."""
    if not model_of(state, minor).ecc:
        raise ValueError(f"GPU {minor} ({model_of(state, minor).name}) has no ECC")
    keys = {"gpu": str(minor), "location": str(location), "uncorrected": str(int(uncorrected))}
    row = _row(state.ecc, keys)
    for counter, more in (("volatile", count if volatile else 0), ("aggregate", count)):
        row[counter] = str(int(row.get(counter, "0")) + more)


def retire_page(state: State, minor: int, *, cause: int, address: int, time: int) -> None:
    """A page is taken out of use. ValueError on boards that remap rows instead."""
    if model_of(state, minor).row_banks:
        raise ValueError(f"GPU {minor} ({model_of(state, minor).name}) remaps rows and retires no pages")
    row = {"gpu": str(minor), "cause": str(cause), "address": str(address), "time": str(time)}
    state.pages.append(row)
    set_health(state, minor, {"retired_pending": 1})


def set_link(state: State, minor: int, link: int, *, down: bool | None = None, **errors: int) -> None:
    """The link goes down or comes back, or counts `crc`, `replay`, `recovery`, `ecc` errors more."""
    gpu, links = find_gpu(state, minor), model_of(state, minor).nvlink[0]
    if gpu["nvlink"] == "none" or not 0 <= link < links:
        there = f"0 to {links - 1}" if gpu["nvlink"] != "none" and links else "none"
        raise ValueError(f"GPU {minor} has no NVLink {link}: its links are {there}")
    row = _row(state.links, {"gpu": str(minor), "id": str(link)})
    if down is not None:
        row["down"] = str(int(down))
    for counter in LINK_COUNTERS:
        row[counter] = str(int(row.get(counter, "0")) + errors.get(counter, 0))
    if not any(int(row.get(key, "0")) for key in ("down", *LINK_COUNTERS)):
        state.links.remove(row)


def set_fabric(state: State, minor: int, values: Mapping[str, str]) -> None:
    """What the GPU says of the NVLink fabric. ValueError before Hopper, where GPUs say nothing."""
    model = model_of(state, minor)
    if model.architecture < MODELS["H100-80"].architecture:
        raise ValueError(
            f"GPU {minor} ({model.name}) does not say whether it joined a fabric: only Hopper and later do"
        )
    row = next((row for row in state.fabrics if row["gpu"] == str(minor)), None)
    if row is None:
        row = new_fabric(str(minor))
        state.fabrics.append(row)
    row.update(values)


def reset_fabrics(state: State) -> None:
    """The driver has been loaded anew: nobody has told the GPUs of the fabric yet."""
    for row in state.fabrics:
        if row["state"] != str(FABRIC_STATES["not_supported"]):
            row.update(new_fabric(row["gpu"]), state=str(NOT_STARTED))


def lose(state: State, minor: int, *, lost: bool = True) -> None:
    """It falls off the bus, or is back (after its power was gone)."""
    find_gpu(state, minor)["lost"] = str(int(lost))


def heal(state: State, minor: int) -> None:
    """The GPU is as new: no errors counted, nothing hot or slow, on the bus. Its MIG layout and settings stay."""
    lose(state, minor, lost=False)
    for table in (state.health, state.ecc, state.pages, state.links):
        table[:] = [row for row in table if row["gpu"] != str(minor)]
    state.faults[:] = [fault for fault in state.faults if fault[2].get("gpu") != str(minor)]


def _row(table: list[Record], keys: Record) -> Record:
    """The record with these values, added when it is not there."""
    for row in table:
        if keys.items() <= row.items():
            return row
    table.append(dict(keys))
    return table[-1]
