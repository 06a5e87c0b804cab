# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Without a GPU host nothing would be tested, and look fine: the molecule scenario and the playbooks refuse that."""

from __future__ import annotations

import pytest

from dev.machine import CHECKOUT
from lab import proving
from lab.lab import Lab

SCENARIO = CHECKOUT / "extensions/molecule/default"
NOTHING = ("--inventory", "localhost,")


@pytest.mark.parametrize("playbook", ["prepare.yml", "verify.yml"])
def test_scenario_refuses_an_empty_inventory(lab: Lab, playbook: str) -> None:
    run = proving.play(lab, str(SCENARIO / playbook), *NOTHING)
    assert run.status != 0, run.end()
    assert "The group gpu_hosts is empty or missing" in run.text


@pytest.mark.parametrize("playbook", ["gpu.fleet.site", "gpu.fleet.plan", "gpu.fleet.status"])
def test_playbooks_refuse_an_empty_inventory(lab: Lab, playbook: str) -> None:
    run = proving.play(lab, playbook, *NOTHING)
    assert run.status != 0, run.end()
    assert "put the GPU hosts into a group gpu_hosts" in " ".join(run.text.split())
