# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides who writes /var/run/cdi/nvidia.yaml: this collection, or the units of NVIDIA's packages.

Private to this collection.

Two generators of one file would overwrite each other with different options; NVIDIA's does not see MIG changes either
(https://github.com/NVIDIA/nvidia-container-toolkit/issues/1828).
"""

from __future__ import annotations

from collections.abc import Mapping

from .model import Plan, Step

UNITS = ("nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service")
FLEET, NVIDIA = "fleet", "nvidia"
MASK, UNMASK = "mask_unit", "unmask_unit"

MASKED, FILE, OFF = "masked", "file", "switched off"
SWITCH_OFF = "switch_off_unit"


def plan_refresh(refresh: str, masks: Mapping[str, str], *, ours: frozenset[str]) -> Plan:
    """``refresh``: fleet masks the units, nvidia (and removal) takes back masks that are ``ours``.

    ``masks``: unit -> what stands for it in /etc/systemd/system (masked, link, file, switched off, none). A mask is set
    before the packages bring the units too, so that they never run. A file there cannot be masked: it gets a condition
    that never holds.
    """
    if refresh == NVIDIA:
        return Plan(tuple(_unmask(unit) for unit, found in masks.items() if found in (MASKED, OFF) and unit in ours))
    return Plan(tuple(_mask(unit, found) for unit, found in masks.items() if found not in (MASKED, OFF)))


def _mask(unit: str, found: str) -> Step:
    reason = "gpu-fleet-cdi.service writes the spec; a second generator would overwrite it with other options"
    if found == FILE:
        # Packages of 1.18 and 1.19, and those for rpm, have the units as files of the administrator.
        return Step(SWITCH_OFF, unit, "a file in /etc/systemd/system, which cannot be masked", OFF, reason)
    return Step(MASK, unit, "not masked" if found == "none" else f"not masked ({found})", "masked", reason)


def _unmask(unit: str) -> Step:
    return Step(UNMASK, unit, "masked or switched off by role toolkit", "not masked", "NVIDIA's units write the spec")
