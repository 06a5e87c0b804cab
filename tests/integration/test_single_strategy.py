# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another layout on a fleet that is ready, alone and with another MIG strategy: what the cluster offers follows."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lab import claims, proving
from lab.cluster.controlplane import ControlPlane
from lab.lab import Lab
from lab.watched import Watched, watch

NAME, LAYOUT, STRATEGY = "gpu2", "all-1g.5gb", "single"
INSTANCES = 14  # 7 on each of two A100
NAMESPACE, PLUGIN = "gpu-fleet", "nvidia-device-plugin-daemonset"
OTHER, OFFERED = "all-3g.20gb", {"nvidia.com/mig-3g.20gb": 4}


@pytest.fixture(scope="module")
def pods(lab: Lab, plane: ControlPlane, repeated: Watched) -> Iterator[dict[str, str]]:
    """Node -> the device plugin's pod there, before anything is changed; all of it is brought back at the end."""
    yield plugin_pods(plane)
    proving.write_variables(lab)
    back = watch(lab, "gpu.fleet.site")
    assert back.run.status == 0, back.run.end()


@pytest.fixture(scope="module")
def foretold(lab: Lab, pods: dict[str, str]) -> Watched:
    """The plan of another layout, with the strategy as it was."""
    proving.write_variables(lab, own={NAME: {"mig_selected_config": OTHER}})
    return watch(lab, "gpu.fleet.plan")


@pytest.fixture(scope="module")
def relaid(lab: Lab, foretold: Watched) -> Watched:
    """site with that layout."""
    return watch(lab, "gpu.fleet.site")


@pytest.fixture(scope="module")
def relaid_again(lab: Lab, relaid: Watched) -> Watched:
    """The same once more, with nothing to do."""
    return watch(lab, "gpu.fleet.site")


@pytest.fixture(scope="module")
def healed(lab: Lab, plane: ControlPlane, relaid_again: Watched) -> tuple[str, Watched]:
    """The plugin's pod, and site, after a run that died between the change of the layout and the cluster's part."""
    proving.write_variables(lab, own={NAME: {"mig_selected_config": "all-2g.10gb"}})
    died = proving.play(lab, "gpu.fleet.site", "--extra-vars", "gpu_fleet_cluster=false")
    assert died.status == 0, died.end()
    return plugin_pods(plane)[NAME], watch(lab, "gpu.fleet.site")


@pytest.fixture(scope="module")
def single(lab: Lab, healed: tuple[str, Watched]) -> Watched:
    """site with another layout and strategy."""
    proving.write_variables(
        lab, common={"gpu_fleet_mig_strategy": STRATEGY}, own={NAME: {"mig_selected_config": LAYOUT}}
    )
    return watch(lab, "gpu.fleet.site")


def test_the_plan_says_which_pods_are_replaced(pods: dict[str, str], foretold: Watched) -> None:
    target = f"Pod {pods[NAME]} on Node {NAME}"
    assert ("cluster", "device_plugin", "restart_pod", target) in foretold.steps()
    assert {target.rpartition(" ")[2] for _host, _role, _action, target in restarts(foretold)} == {NAME}
    assert foretold.writes == []


def test_another_layout_reaches_the_cluster(plane: ControlPlane, relaid: Watched) -> None:
    assert relaid.run.status == 0, relaid.run.end()
    assert relaid.not_ready() == []
    assert claims.allocatable(plane, NAME) == OFFERED


def test_site_replaces_pods_of_the_operands_and_nodes_that_the_plan_named(foretold: Watched, relaid: Watched) -> None:
    """Role mig pauses the operands of the node before, so that the pods that are there later have other names."""

    def places(run: Watched) -> set[tuple[str, str]]:
        return {(role, target.rpartition(" ")[2]) for _host, role, _action, target in restarts(run)}

    assert places(relaid) <= places(foretold)


def test_pods_of_the_other_host_stay(plane: ControlPlane, pods: dict[str, str], relaid: Watched) -> None:
    now = plugin_pods(plane)
    assert now[NAME] != pods[NAME]
    assert now["gpu1"] == pods["gpu1"]


def test_the_second_run_replaces_nothing(relaid_again: Watched) -> None:
    assert relaid_again.run.status == 0, relaid_again.run.end()
    assert (list(relaid_again.steps()), relaid_again.writes) == ([], [])


def test_a_layout_that_an_earlier_run_did_not_tell_the_cluster_is_healed(
    plane: ControlPlane, healed: tuple[str, Watched]
) -> None:
    pod, run = healed
    assert run.run.status == 0, run.run.end()
    assert ("cluster", "device_plugin", "restart_pod", f"Pod {pod} on Node {NAME}") in restarts(run)
    assert claims.allocatable(plane, NAME) == {"nvidia.com/mig-2g.10gb": 6}


def test_site_changes_layout_and_strategy(single: Watched) -> None:
    assert single.run.status == 0, single.run.end()
    assert single.not_ready() == []


def test_every_instance_is_one_gpu(plane: ControlPlane, lab: Lab, single: Watched) -> None:
    listed = lab.host(NAME).run(["nvidia-smi", "-L"])
    assert len([line for line in listed.splitlines() if line.strip().startswith("MIG ")]) == INSTANCES, listed
    assert claims.allocatable(plane, NAME) == {"nvidia.com/gpu": INSTANCES}


def test_whole_gpus_of_the_other_host_stay(plane: ControlPlane, single: Watched) -> None:
    assert claims.allocatable(plane, "gpu1") == proving.RESOURCES["gpu1"]


def plugin_pods(plane: ControlPlane) -> dict[str, str]:
    """Node -> the device plugin's pod there."""
    found = plane.kubectl("get", "pods", "--namespace", NAMESPACE, f"--selector=app={PLUGIN}", "--output", "json")
    alive = [pod for pod in json.loads(found)["items"] if not pod["metadata"].get("deletionTimestamp")]
    return {pod["spec"]["nodeName"]: pod["metadata"]["name"] for pod in alive}


def restarts(run: Watched) -> list[tuple[str, str, str, str]]:
    """The steps of a run that replace a pod."""
    return sorted(step for step in run.steps() if step[2] == "restart_pod")
