# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How GPUs are put into a machine: PCI tree, NUMA nodes, NVLink."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from simulator.models import MODELS
from simulator.state import Record, State, new_gpu

FEW = 2  # so many GPUs sit below one host bridge
CPUS = ("0-31,64-95", "32-63,96-127")  # of NUMA node 0 and 1, a server with two sockets
NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
NOT_STARTED, COMPLETED = 1, 3  # NVML_GPU_FABRIC_STATE_*
HOPPER = 9  # the first architecture whose GPUs say themselves whether they joined the fabric


@dataclass(frozen=True)
class SwitchChip:
    """An NVSwitch that the host sees, and how many of them eight GPUs have."""

    name: str
    device_id: int
    count: int
    source: str


# By NVML_NVLINK_VERSION_* of the GPUs' links. NVLink 5 switches are no PCI functions of NVIDIA on the host.
SWITCH_CHIPS = {
    2: SwitchChip("SV10", 0x1AC2, 6, "HGX-2 (device id from memory)"),
    4: SwitchChip("LR10", 0x1AF1, 6, "PCI ID database 2026.08.22; HGX A100 8-GPU baseboard"),
    6: SwitchChip("LS10", 0x22A3, 4, "PCI ID database 2026.08.22; HGX H100 8-GPU baseboard"),
}


def machine_state(models: Sequence[str], owner: str, *, nvlink: str = "none") -> State:
    """A machine before its driver is loaded, device minors in the order of `models`.

    `nvlink`: `none`, `mesh` (links spread over all other GPUs), `pairs` (bridges between neighbours) or `switch`.
    Raises ValueError for an unknown model or kind of NVLink.
    """
    gpus = [new_gpu(model, minor, owner) for minor, model in enumerate(models)]
    for number, gpu in enumerate(gpus):
        gpu["place"] = default_place(number, len(gpus))
        gpu["nvlink"] = _link_target(nvlink, number, len(gpus)) if MODELS[gpu["model"]].nvlink[0] else "none"
    state = State(gpus=gpus, nodes=[{"node": str(node), "cpus": cpus} for node, cpus in enumerate(CPUS)])
    if nvlink == "switch":
        state.switches = _switches(gpus, owner)
        state.fabrics = [new_fabric(gpu["minor"]) for gpu in gpus if MODELS[gpu["model"]].architecture >= HOPPER]
    return state


def default_place(number: int, total: int) -> str:
    """NUMA node, host bridge, upper and lower PCIe switch: two GPUs below each bridge, half of all at each socket."""
    node = 0 if total <= FEW else number * len(CPUS) // total
    return f"{node}.{number // FEW:x}.{number:x}.0"


def new_fabric(minor: str) -> Record:
    """A GPU that waits for the fabric manager."""
    names = ("state", "status", "clique", "cluster", "health", "summary")
    return {"gpu": minor, **dict(zip(names, (str(NOT_STARTED), "0", "0", NO_CLUSTER, "0", "0"), strict=True))}


def _link_target(nvlink: str, number: int, total: int) -> str:
    if nvlink not in ("none", "mesh", "pairs", "switch"):
        raise ValueError(f"nvlink {nvlink!r} is not known: choose none, mesh, pairs or switch")
    if nvlink != "pairs":
        return nvlink
    partner = number ^ 1
    return f"gpu{partner}" if partner < total else "none"


def _switches(gpus: Sequence[Record], owner: str) -> list[Record]:
    chip = SWITCH_CHIPS.get(MODELS[gpus[0]["model"]].nvlink[1])
    if chip is None:
        return []
    return [
        {
            "bus": f"0000:{0xC4 + number:02x}:00.0",
            "model": chip.name,
            "uuid": f"SWX-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{owner}/switch/{number}')}",
        }
        for number in range(chip.count)
    ]
