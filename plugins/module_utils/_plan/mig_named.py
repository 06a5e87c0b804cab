# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layouts that need no config file: mig-parted's generate-config for the GPUs at hand. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._catalog.mig import MigProfile
from .mig_config_file import VERSION
from .mig_layout import MigGpu

# slices of the whole GPU -> slices of a GPU instance and how many of it
BALANCED = {7: ((1, 2), (2, 1), (3, 1)), 4: ((1, 2), (2, 1))}


def named_layouts(gpus: Sequence[MigGpu]) -> dict[str, Any]:
    """A v1 document with all-disabled, all-enabled, all-balanced and one all-<profile> for each profile on offer.

    In profile names ``+`` becomes ``.``, as in mig-parted. Device filters are written only where boards differ.
    """
    boards = {g.pci_id: g.profiles for g in sorted(gpus, key=lambda g: g.index) if g.profiles}
    mixed = len({g.pci_id for g in gpus}) > 1
    layouts: dict[str, Any] = {
        "all-disabled": [{"devices": "all", "mig-enabled": False}],
        "all-enabled": [{"devices": "all", "mig-enabled": True, "mig-devices": {}}],
    }
    for board, profiles in boards.items():
        for name, devices in _layouts(profiles).items():
            entry: dict[str, Any] = {"devices": "all", "mig-enabled": True, "mig-devices": devices}
            layouts.setdefault(name, []).append({"device-filter": f"0x{board}", **entry} if mixed else entry)
    return {"version": VERSION, "mig-configs": layouts}


def _layouts(profiles: Sequence[MigProfile]) -> dict[str, dict[str, int]]:
    found = {}
    balanced = _balanced(profiles)
    if balanced:
        found["all-balanced"] = balanced
    for profile in profiles:
        found[f"all-{profile.name.replace('+', '.')}"] = {profile.name: profile.count}
    return found


def _balanced(profiles: Sequence[MigProfile]) -> dict[str, int]:
    """Empty where the GPU has another number of slices than the two that mig-parted knows a mix for."""
    plain = [p for p in profiles if p.name.endswith("gb")]
    mix = BALANCED.get(max((p.slices for p in plain), default=0), ())
    chosen = {}
    for slices, count in mix:
        candidates = [p for p in plain if p.slices == slices]
        if not candidates:
            return {}
        chosen[max(candidates, key=lambda p: p.count).name] = count
    return chosen
