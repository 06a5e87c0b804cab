# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU profiles: what is plugged into a simulated host, by name."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from dataclasses import dataclass, replace

from simulator import firmware, infiniband
from simulator.layout import machine_state
from simulator.models import MODELS
from simulator.state import Record, State

MAXIMUM = 64
_PLAIN = re.compile(r"(?P<model>[A-Za-z0-9-]+)x(?P<count>[1-9][0-9]?)")


@dataclass(frozen=True)
class Profile:
    """Models in the order of their device minors, faults as (function, NVML code), NVLink as in layout.py.

    `adapters`: InfiniBand, as kind (infiniband.KINDS), how many for the network, how many bridges to NVLink switches.
    `note`: what there is to know beside the models.
    """

    models: tuple[str, ...]
    faults: tuple[tuple[str, int], ...] = ()
    nvlink: str = "none"
    adapters: tuple[str, int, int] = ("", 0, 0)
    note: str = ""

    @property
    def summary(self) -> str:
        """Such as `8 x NVIDIA B200; NVLink 5`."""
        counted = Counter(MODELS[key].name for key in self.models)
        gpus = ", ".join(f"{count} x {name}" for name, count in counted.items()) or "no GPU"
        return "; ".join(part for part in (gpus, self.note) if part)


PROFILES: dict[str, Profile] = {
    "none": Profile((), note="simulated hardware without one"),
    "a100x1": Profile(("A100-40",)),
    "a100x2": Profile(("A100-40", "A100-40")),
    "h100x1": Profile(("H100-80",)),
    "h100x2": Profile(("H100-80", "H100-80")),
    "h100x8": Profile(("H100-80",) * 8, note="a virtual machine's, without NVSwitch"),
    "hgx-a100": Profile(
        ("A100-80",) * 8,
        nvlink="switch",
        adapters=("connectx6", 8, 0),
        note="6 NVSwitches, which want the fabric manager; 8 InfiniBand adapters",
    ),
    "hgx-h100": Profile(
        ("H100-80",) * 8,
        nvlink="switch",
        adapters=("connectx7", 8, 0),
        note="4 NVSwitches, which want the fabric manager; 8 InfiniBand adapters",
    ),
    "hgx-b200": Profile(
        ("B200",) * 8,
        nvlink="switch",
        adapters=("connectx7", 8, 4),
        note="NVLink 5, which wants fabric manager and nvlsm; 8 InfiniBand adapters and 4 bridges",
    ),
    "t4x1": Profile(("T4",)),
    "t4-a100": Profile(("T4", "A100-40"), note="two models in one host"),
    "v100x4": Profile(("V100-32",) * 4, nvlink="mesh", note="no GSP: the open modules do not drive it"),
    "p100x1": Profile(("P100",), note="newer driver branches do not drive it"),
    "l40sx4": Profile(("L40S",) * 4, note="no MIG"),
    "h100-nvml-broken": Profile(("H100-80",), (("nvmlInit", 999),), note="NVML always fails with code 999"),
}


# What may follow a profile, as in h100x2+secure-boot; without it the machine boots by a BIOS.
FIRMWARE = {
    firmware.UEFI: "UEFI, Secure Boot off",
    firmware.SECURE_BOOT: "UEFI, Secure Boot on, no key enrolled but the distribution's",
    firmware.SETUP_MODE: "UEFI in setup mode",
}


def firmware_of(name: str) -> str:
    """The firmware that a profile's name ends with: a key of FIRMWARE, or `bios`."""
    return name.partition("+")[2] or firmware.BIOS


def profile(name: str) -> Profile:
    """The profile of that name, or MODELxCOUNT for any model; +FIRMWARE may follow. ValueError names the known ones."""
    name, sign, mode = name.partition("+")
    if sign:
        if mode not in FIRMWARE:
            raise ValueError(f"firmware {mode!r} is not known: choose one of {', '.join(FIRMWARE)}")
        found = profile(name)
        return replace(found, note="; ".join(part for part in (found.note, FIRMWARE[mode]) if part))
    if name in PROFILES:
        return PROFILES[name]
    plain = _PLAIN.fullmatch(name)
    keys = {key.lower(): key for key in MODELS}
    if plain and plain["model"].lower() in keys and int(plain["count"]) <= MAXIMUM:
        return Profile((keys[plain["model"].lower()],) * int(plain["count"]))
    raise ValueError(
        f"GPU profile {name!r} is not known: choose one of {', '.join(sorted(PROFILES))}, or MODELxCOUNT with at most "
        f"{MAXIMUM} of a model: {', '.join(sorted(MODELS))}"
    )


def adapters(name: str, owner: str) -> list[infiniband.Adapter]:
    """The InfiniBand adapters of a profile, with GUIDs that follow from the host's name."""
    kind, count, bridges = profile(name).adapters
    return infiniband.adapters(kind, count, bridges, zlib.crc32(owner.encode()) & 0xFFFF) if kind else []


def profile_state(name: str, owner: str) -> State:
    """The state of a host with that profile before its driver is loaded; ValueError as `profile`."""
    found = profile(name)
    state = machine_state(found.models, owner, nvlink=found.nvlink)
    state.faults = [(function, code, _always()) for function, code in found.faults]
    return state


def _always() -> Record:
    return {"skip": "0", "count": "-1", "gpu": "-1"}
