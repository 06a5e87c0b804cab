# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU profiles: what is plugged into a simulated host, by name."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.layout import machine_state
from simulator.state import Record, State


@dataclass(frozen=True)
class Profile:
    """Models in the order of their device minors, faults as (function, NVML code), NVLink as in layout.py."""

    models: tuple[str, ...]
    faults: tuple[tuple[str, int], ...] = ()
    nvlink: str = "none"


PROFILES: dict[str, Profile] = {
    "none": Profile(()),
    "a100x1": Profile(("A100-40",)),
    "a100x2": Profile(("A100-40", "A100-40")),
    "h100x1": Profile(("H100-80",)),
    "h100x2": Profile(("H100-80", "H100-80")),
    "h100x8": Profile(("H100-80",) * 8),
    "t4x1": Profile(("T4",)),
    "t4-a100": Profile(("T4", "A100-40")),
    "h100-nvml-broken": Profile(("H100-80",), (("nvmlInit", 999),)),
}


def profile_state(name: str, owner: str) -> State:
    """The state of a host with that profile before its driver is loaded. ValueError names the known profiles."""
    if name not in PROFILES:
        raise ValueError(f"GPU profile {name!r} is not known: choose one of {', '.join(sorted(PROFILES))}")
    profile = PROFILES[name]
    state = machine_state(profile.models, owner, nvlink=profile.nvlink)
    state.faults = [(function, code, _always()) for function, code in profile.faults]
    return state


def _always() -> Record:
    return {"skip": "0", "count": "-1", "gpu": "-1"}
