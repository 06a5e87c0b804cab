# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The MIG host comes back after a reboot without Ansible."""

from __future__ import annotations

import pytest

from lab import claims, proving
from lab.cluster import node
from lab.cluster.controlplane import ControlPlane
from lab.lab import Lab
from lab.watched import Watched, watch

NAME, SECONDS = "gpu2", 120
INSTANCES = 8  # all-balanced on two A100: 2x1g, 2g, 3g each
BARRIERS = ("driver-ready", "toolkit-ready")
SPEC = "/var/run/cdi/nvidia.yaml"


@pytest.fixture(scope="module")
def rebooted(lab: Lab, plane: ControlPlane, repeated: Watched) -> str:
    """The state of systemd after a reboot; nothing else was done to the host."""
    host = lab.host(NAME)
    proving.reset_counts(lab.hosts)
    state = host.reboot_and_wait()
    node.wait_ready(plane, host)
    return state


@pytest.fixture(scope="module")
def asked(lab: Lab, rebooted: str) -> Watched:
    """status after the reboot."""
    return watch(lab, "gpu.fleet.status")


def test_host_has_booted_without_a_failed_unit(lab: Lab, rebooted: str) -> None:
    failed = lab.host(NAME).run(["systemctl", "list-units", "--state=failed", "--no-legend", "--plain"])
    assert failed == ""
    assert rebooted == "running"


def test_mig_instances_are_back(lab: Lab, rebooted: str) -> None:
    listed = lab.host(NAME).run(["nvidia-smi", "-L"])
    assert len([line for line in listed.splitlines() if line.strip().startswith("MIG ")]) == INSTANCES, listed


@pytest.mark.parametrize("barrier", BARRIERS)
def test_barrier_files_are_back(lab: Lab, rebooted: str, barrier: str) -> None:
    found = lab.host(NAME).run(["ls", "/run/nvidia/validations"]).split()
    assert barrier in found


def test_cdi_spec_names_the_instances_of_now(lab: Lab, rebooted: str) -> None:
    host = lab.host(NAME)
    spec, listed = host.run(["cat", SPEC]), host.run(["nvidia-smi", "-L"])
    instances = [line.partition("UUID: ")[2].rstrip(")") for line in listed.splitlines() if "MIG-" in line]
    assert [uuid for uuid in instances if uuid not in spec] == []
    found = claims.podman_nodes(host, "nvidia.com/gpu=1:0")
    assert claims.gpu_nodes(found) == ["/dev/nvidia1"]


def test_allocatable_resources_are_back_without_ansible(lab: Lab, plane: ControlPlane, rebooted: str) -> None:
    claims.wait_for(
        f"{NAME} reports {proving.RESOURCES[NAME]} again, has {claims.allocatable(plane, NAME)}",
        lambda: claims.allocatable(plane, NAME) == proving.RESOURCES[NAME],
        SECONDS,
    )
    assert proving.counts([lab.host(NAME)]) == {NAME: 0}


def test_status_shows_everything_ready_and_changes_nothing(asked: Watched) -> None:
    assert asked.run.status == 0, asked.run.end()
    assert asked.not_ready() == []
    assert asked.run.total("changed") == 0
    assert asked.writes == []
    assert asked.changes() == {name: [] for name in sorted(proving.RESOURCES)}
