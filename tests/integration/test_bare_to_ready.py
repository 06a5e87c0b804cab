# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job: from bare hosts to pods on GPUs."""

from __future__ import annotations

import pytest

from lab import claims, proving
from lab.cluster.controlplane import ControlPlane
from lab.lab import Lab
from lab.watched import Watched

MODULE_RUNS = 11  # DESIGN 11: budget of an unchanged host
NAMES = sorted(proving.RESOURCES)


def test_bare_hosts_have_nothing_of_nvidia(lab: Lab, checked: Watched) -> None:
    found = {name: [p for p in tree if "nvidia" in p or "gpu-fleet" in p] for name, tree in checked.before.items()}
    assert found == {name: [] for name in NAMES}


def test_check_mode_succeeds_and_plans_every_host_and_the_cluster(checked: Watched) -> None:
    assert checked.run.status == 0, checked.run.end()
    assert {host for host, *_rest in checked.steps()} == {*NAMES, "cluster"}


def test_check_mode_changes_no_file_on_the_hosts(checked: Watched) -> None:
    assert checked.changes() == {name: [] for name in NAMES}


def test_check_mode_writes_nothing_to_the_cluster(checked: Watched) -> None:
    assert checked.writes == []


def test_check_mode_plans_exactly_what_site_carries_out(checked: Watched, brought: Watched) -> None:
    assert brought.run.status == 0, brought.run.end()
    planned, done = checked.steps(), brought.steps()
    assert sorted((done - planned).elements()) == [], "carried out, but not planned"
    assert sorted((planned - done).elements()) == [], "planned, but not carried out"


def test_plan_shows_the_same_steps_as_table_and_document(planned: Watched, checked: Watched) -> None:
    assert planned.run.status == 0, planned.run.end()
    assert planned.steps() == checked.steps()
    text = " ".join(planned.run.text.split())
    missing = [f"{role}: {a} {t}" for _host, role, a, t in planned.steps() if f"{role}: {a} {t}" not in text]
    assert missing == []


def test_plan_changes_nothing(planned: Watched) -> None:
    assert planned.changes() == {name: [] for name in NAMES}
    assert planned.writes == []


def test_site_brings_every_state_to_ready(brought: Watched) -> None:
    assert brought.run.status == 0, brought.run.end()
    assert brought.not_ready() == []
    assert sorted({row["host"] for row in brought.run.report["states"]}) == NAMES


def test_second_site_changes_nothing(repeated: Watched) -> None:
    assert repeated.run.status == 0, repeated.run.end()
    assert repeated.not_ready() == []
    assert {host: row["changed"] for host, row in repeated.run.recap.items()} == dict.fromkeys(repeated.run.recap, 0)
    assert set(NAMES) <= set(repeated.run.recap)
    assert repeated.steps().total() == 0
    assert repeated.writes == []
    assert repeated.changes() == {name: [] for name in NAMES}


def test_second_site_stays_in_the_budget_of_remote_module_runs(repeated: Watched) -> None:
    assert all(0 < repeated.module_runs[name] <= MODULE_RUNS for name in NAMES), repeated.module_runs


@pytest.mark.parametrize(("name", "device"), [("gpu1", "nvidia.com/gpu=0"), ("gpu2", "nvidia.com/gpu=0:0")])
def test_podman_sees_exactly_the_device_that_was_asked_for(lab: Lab, repeated: Watched, name: str, device: str) -> None:
    found = claims.podman_nodes(lab.host(name), device)
    assert claims.gpu_nodes(found) == ["/dev/nvidia0"], found
    assert mig_nodes(found) == (2 if "0:0" in device else 0), found


@pytest.mark.parametrize("name", NAMES)
def test_allocatable_resources_are_what_the_layout_is(plane: ControlPlane, repeated: Watched, name: str) -> None:
    assert claims.allocatable(plane, name) == proving.RESOURCES[name]


@pytest.mark.parametrize("name", NAMES)
def test_pod_with_one_gpu_has_exactly_one_device(plane: ControlPlane, repeated: Watched, name: str) -> None:
    resource = proving.ASKED[name]
    found = claims.pod_nodes(plane, name, resource)
    assert len(claims.gpu_nodes(found)) == 1, found
    assert mig_nodes(found) == (2 if "mig" in resource else 0), found


def mig_nodes(found: list[str]) -> int:
    """How many capability nodes of MIG: one of the GPU instance and one of the compute instance for each device."""
    return len([name for name in found if name.startswith("/dev/nvidia-caps/nvidia-cap")])
