# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What somebody changed by hand is brought back by the next site, and only that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab import claims, proving
from lab.cluster.controlplane import ControlPlane
from lab.lab import Lab
from lab.watched import Watched, watch

NAMESPACE, PLUGIN, GFD = "gpu-fleet", "nvidia-device-plugin-daemonset", "gpu-feature-discovery"
SPEC, LABEL = "/var/run/cdi/nvidia.yaml", "nvidia.com/gpu.deploy.gpu-feature-discovery"
FIELD, SOMEBODY = "/spec/template/spec/priorityClassName", "somebody"
# A field that is taken away has no manager; one with another value belongs to who has set it.
TAKE_AWAY = {"op": "remove", "path": FIELD}
SET = {"op": "replace", "path": FIELD, "value": "system-cluster-critical"}


@pytest.fixture(scope="module")
def mended(lab: Lab, plane: ControlPlane, repeated: Watched) -> Watched:
    """site after a CDI spec, a daemon, a label and a DaemonSet were changed by hand."""
    lab.host("gpu1").run(["rm", SPEC])
    lab.host("gpu2").run(["systemctl", "disable", "--now", "nvidia-persistenced.service"])
    plane.kubectl("label", "node", "gpu1", f"{LABEL}-")
    edit(plane, PLUGIN, TAKE_AWAY)
    return watch(lab, "gpu.fleet.site")


# Wrong in the variables' check, and in the plan of the driver: on a fleet that is ready both are slips of the pen.
SLIPS = ["gpu_fleet_allow_reboot=maybe", "driver_branch=banana"]


@pytest.fixture(scope="module", params=SLIPS)
def slipped(lab: Lab, mended: Watched, request: pytest.FixtureRequest) -> Watched:
    """site on a fleet that is ready, with a variable that makes no sense."""
    return watch(lab, "gpu.fleet.site", "--extra-vars", request.param)


@pytest.fixture(scope="module")
def refused(lab: Lab, plane: ControlPlane, mended: Watched) -> Watched:
    """site after another field manager has taken a field of ours."""
    edit(plane, GFD, SET)
    return watch(lab, "gpu.fleet.site")


@pytest.fixture(scope="module")
def forced(lab: Lab, refused: Watched) -> Watched:
    """The same, with leave to take it back."""
    return watch(lab, "gpu.fleet.site", "--extra-vars", "gfd_force_conflicts=true")


def test_site_mends_drift(mended: Watched) -> None:
    assert mended.run.status == 0, mended.run.end()
    assert mended.not_ready() == []


def test_only_what_drifted_is_in_the_plan(mended: Watched) -> None:
    places = sorted({(host, role) for host, role, _action, _target in mended.steps()})
    wanted = [("cluster", "device_plugin"), ("cluster", "node_labels"), ("gpu1", "toolkit"), ("gpu2", "driver")]
    # The proof is taken away while the spec is missing, and given again.
    assert [place for place in places if place[1] != "validation"] == wanted


def test_cdi_spec_is_back(lab: Lab, mended: Watched) -> None:
    assert "nvidia.com/gpu" in lab.host("gpu1").run(["cat", SPEC])
    assert claims.gpu_nodes(claims.podman_nodes(lab.host("gpu1"), "nvidia.com/gpu=1")) == ["/dev/nvidia1"]


@pytest.mark.parametrize(("question", "answer"), [("is-active", "active"), ("is-enabled", "enabled")])
def test_persistence_daemon_is_back(lab: Lab, mended: Watched, question: str, answer: str) -> None:
    assert lab.host("gpu2").shell(f"systemctl {question} nvidia-persistenced.service || true").strip() == answer


def test_label_is_back(plane: ControlPlane, mended: Watched) -> None:
    labels = json.loads(plane.kubectl("get", "node", "gpu1", "--output", "json"))["metadata"]["labels"]
    assert labels.get(LABEL) == "true"


def test_edited_daemon_set_is_back(plane: ControlPlane, mended: Watched) -> None:
    assert pod_spec(plane, PLUGIN)["priorityClassName"] == "system-node-critical"


@pytest.mark.parametrize("name", sorted(proving.RESOURCES))
def test_resources_are_there_after_drift(plane: ControlPlane, mended: Watched, name: str) -> None:
    assert claims.allocatable(plane, name) == proving.RESOURCES[name]


def test_slip_of_the_pen_drains_no_node(plane: ControlPlane, slipped: Watched) -> None:
    assert slipped.run.status != 0, "the slip was not reported"
    assert [step for step in slipped.steps() if step[1] == "node_labels"] == []
    assert {name: claims.allocatable(plane, name) for name in proving.RESOURCES} == proving.RESOURCES
    assert slipped.changes() == {name: [] for name in proving.RESOURCES}


def test_field_of_another_manager_is_left_and_named(plane: ControlPlane, refused: Watched) -> None:
    assert refused.run.status != 0, "the conflict was not reported"
    reasons = {row["reason"] for row in refused.run.report["states"] if row["role"] == "gfd"}
    assert len(reasons) == 1, "one message for all hosts"
    (reason,) = reasons
    assert ".spec.template.spec.priorityClassName" in reason
    assert SOMEBODY in reason
    assert "force_conflicts" in reason
    assert pod_spec(plane, GFD)["priorityClassName"] == "system-cluster-critical"


def test_field_of_another_manager_is_taken_where_that_is_allowed(plane: ControlPlane, forced: Watched) -> None:
    assert forced.run.status == 0, forced.run.end()
    assert pod_spec(plane, GFD)["priorityClassName"] == "system-node-critical"


def edit(plane: ControlPlane, name: str, change: dict[str, str]) -> None:
    """Changes a field that gpu.fleet sets, as another field manager."""
    where = ("--namespace", NAMESPACE, f"--field-manager={SOMEBODY}")
    plane.kubectl("patch", "daemonset", name, *where, "--type=json", f"--patch={json.dumps([change])}")


def pod_spec(plane: ControlPlane, name: str) -> dict[str, Any]:
    """The pod template's spec of a DaemonSet."""
    found = json.loads(plane.kubectl("get", "daemonset", name, "--namespace", NAMESPACE, "--output", "json"))
    spec: dict[str, Any] = found["spec"]["template"]["spec"]
    return spec
