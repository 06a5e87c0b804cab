# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Without a GPU host nothing would be tested, and look fine: molecule scenarios and the playbooks refuse that."""

from __future__ import annotations

import pytest

from dev import integration
from dev.machine import CHECKOUT
from lab import access, proving
from lab.lab import Lab

MOLECULE = CHECKOUT / "extensions/molecule"
NOTHING = ("--inventory", "localhost,")
# What all scenarios begin with, and then how each one proves; that the others import the same is a unit test.
PLAYBOOKS = ("resources/create.yml", *(f"{name}/verify.yml" for name in ("default", *integration.ROLES)))
# Those that ask a cluster, and what they say without one.
OPERANDS = ("device_plugin", "gfd", "dcgm")


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_scenario_refuses_an_empty_inventory(lab: Lab, playbook: str) -> None:
    run = proving.play(lab, str(MOLECULE / playbook), *NOTHING)
    assert run.status != 0, run.end()
    assert "The group gpu_hosts is empty or missing" in run.text


@pytest.mark.parametrize("role", OPERANDS)
def test_scenario_of_an_operand_refuses_to_be_without_a_cluster(lab: Lab, role: str) -> None:
    run = proving.play(lab, str(MOLECULE / role / "verify.yml"), env=dict.fromkeys(access.CLUSTER, ""))
    assert run.status != 0, run.end()
    assert "KUBECONFIG is empty or missing" in run.text


@pytest.mark.parametrize("playbook", ["gpu.fleet.site", "gpu.fleet.plan", "gpu.fleet.status"])
def test_playbooks_refuse_an_empty_inventory(lab: Lab, playbook: str) -> None:
    run = proving.play(lab, playbook, *NOTHING)
    assert run.status != 0, run.end()
    assert "put the GPU hosts into a group gpu_hosts" in " ".join(run.text.split())
