# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every row of the state catalog, the label catalog and the image catalog is walked."""

from __future__ import annotations

import re

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog import images, labels, states

# GPU Operator 26.7, controllers/state_manager.go addState order
ORDER = [
    "pre-requisites", "state-operator-metrics", "state-driver", "state-container-toolkit",
    "state-operator-validation", "state-device-plugin", "state-mps-control-daemon", "state-dcgm",
    "state-dcgm-exporter", "gpu-feature-discovery", "state-mig-manager", "state-node-status-exporter",
    "state-vgpu-manager", "state-vgpu-device-manager", "state-sandbox-validation", "state-vfio-manager",
    "state-sandbox-device-plugin", "state-kata-device-plugin", "state-kata-manager", "state-cc-manager",
]  # fmt: skip


def test_states_are_the_operators_in_its_order():
    assert [s.name for s in states.ORDERED] == ORDER


@pytest.mark.parametrize("state", states.ORDERED, ids=lambda s: s.name)
def test_a_state_is_complete(state):
    assert state.place in ("host", "cluster")
    assert set(state.modes) <= set(states.MODES)
    assert set(state.needs) <= set(ORDER)
    assert state.name not in state.needs
    assert all((state.proof, state.enabled, state.title))
    assert not state.label or state.label.startswith("nvidia.com/gpu.deploy.")


def test_titles_are_unique_because_they_head_columns():
    titles = [s.title for s in states.ORDERED]
    assert len(set(titles)) == len(titles)


def test_roles_of_hosts_and_cluster_are_all_roles_of_states():
    assert sorted((*states.HOST_ROLES, *states.CLUSTER_ROLES)) == sorted(states.BY_ROLE)


def test_every_label_of_a_role_is_one_that_nodes_get():
    given = {row.key for row in labels.DEPLOY_LABELS}
    assert {s.label for s in states.BY_ROLE.values() if s.label} <= given


@pytest.mark.parametrize("name", images.IMAGES)
def test_an_image_has_registry_version_and_digest(name):
    image = images.IMAGES[name]
    assert re.fullmatch(r"[a-z0-9.]+/[a-z0-9./-]+", image.repository)
    assert image.version not in ("", "latest")
    assert image.digest is None or re.fullmatch(r"sha256:[0-9a-f]{64}", image.digest)
    assert all((image.source, image.date))


PLUGIN = "nvcr.io/nvidia/k8s-device-plugin"
DIGEST = images.IMAGES["k8s-device-plugin"].digest

# registry, version, pin -> reference
REFERENCES = {
    "as published": ("", "", False, f"{PLUGIN}:v0.20.0"),
    "mirror keeps the path": ("mirror.example", "", False, "mirror.example/nvidia/k8s-device-plugin:v0.20.0"),
    "mirror with a project": ("mirror.example/gpu/", "", False, "mirror.example/gpu/nvidia/k8s-device-plugin:v0.20.0"),
    "other version": ("", "v0.19.1", False, f"{PLUGIN}:v0.19.1"),
    "pinned": ("", "", True, f"{PLUGIN}@{DIGEST}"),
    "version by digest": ("", "sha256:abc", False, f"{PLUGIN}@sha256:abc"),
}


@pytest.mark.parametrize(("registry", "version", "pin", "reference"), REFERENCES.values(), ids=REFERENCES)
def test_reference(registry, version, pin, reference):
    assert images.image_reference("k8s-device-plugin", registry=registry, version=version, pin=pin) == reference


def test_unknown_image():
    with pytest.raises(KeyError):
        images.image_reference("cuda")
