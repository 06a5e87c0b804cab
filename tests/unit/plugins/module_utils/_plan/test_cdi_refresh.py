# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who writes the CDI spec: this collection or NVIDIA's units."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_refresh import UNITS, plan_refresh

PATH, SERVICE = UNITS

OFF_AND_MASKED = [("switch_off_unit", PATH), ("mask_unit", SERVICE)]

# refresh, masks, ours -> actions on targets
CASES = {
    "first run": ("fleet", {PATH: "none", SERVICE: "none"}, [], [("mask_unit", PATH), ("mask_unit", SERVICE)]),
    "masked": ("fleet", {PATH: "masked", SERVICE: "masked"}, [PATH, SERVICE], []),
    "masked by somebody else": ("fleet", {PATH: "masked", SERVICE: "none"}, [], [("mask_unit", SERVICE)]),
    "given back": ("nvidia", {PATH: "masked", SERVICE: "masked"}, [PATH], [("unmask_unit", PATH)]),
    "nothing to give back": ("nvidia", {PATH: "none", SERVICE: "file"}, [PATH], []),
    "a file cannot be masked": ("fleet", {PATH: "file", SERVICE: "link"}, [], OFF_AND_MASKED),
    "switched off": ("fleet", {PATH: "switched off", SERVICE: "masked"}, [PATH, SERVICE], []),
    "switched on again": ("nvidia", {PATH: "switched off", SERVICE: "file"}, [PATH], [("unmask_unit", PATH)]),
}


@pytest.mark.parametrize(("refresh", "masks", "ours", "steps"), CASES.values(), ids=CASES)
def test_steps(refresh, masks, ours, steps):
    plan = plan_refresh(refresh, masks, ours=frozenset(ours))
    assert [(s.action, s.target) for s in plan.steps] == steps
