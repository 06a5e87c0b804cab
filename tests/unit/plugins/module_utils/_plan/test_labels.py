# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of hosts and the labels of their nodes. Values of real nodes name NVIDIA's document."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.labels import DEPLOY_LABELS, FAMILIES
from ansible_collections.gpu.fleet.plugins.module_utils._plan import labels

ATTRIBUTES = {
    "multiprocessors": 16, "gpu_instance_slices": 1, "compute_instance_slices": 1, "copy_engines": 1, "decoders": 1,
    "encoders": 0, "jpeg_engines": 1, "ofa_engines": 0,
}  # fmt: skip


def device(profile, memory=9984, **attributes):
    return {"profile": profile, "memory_mib": memory, "attributes": {**ATTRIBUTES, **attributes}}


def gpu(index=0, *, name="NVIDIA H100 80GB HBM3", mig=None, capability="9.0", memory=81559, **more):
    return {
        "index": index, "uuid": f"GPU-{index}", "name": name, "memory_mib": memory, "compute_capability": capability,
        "pci_class": "0x030200", "mig": {"capable": True, "enabled": mig is not None, "devices": mig or []}, **more,
    }  # fmt: skip


def facts(*gpus, **more):
    driver = {"loaded_version": "550.54.15", "cuda_version": 12040}
    return {"gpus": list(gpus), "driver": driver, "machine": "PIO-4124GS-TNR-01-NC24B", **more}


def predict(*gpus, strategy="single", **more):
    found = labels.predict_labels(facts(*gpus, **more), mig_strategy=strategy)
    return {k.removeprefix("nvidia.com/"): v for k, v in found.items()}


# cloud-native-docs, gpu-operator/manifests/output/mig-node-labels.json
H100 = {
    "cuda.driver-version.full": "550.54.15", "cuda.driver-version.major": "550", "cuda.driver-version.minor": "54",
    "cuda.driver-version.revision": "15", "cuda.driver.major": "550", "cuda.driver.minor": "54",
    "cuda.driver.rev": "15",
    "cuda.runtime-version.full": "12.4", "cuda.runtime-version.major": "12", "cuda.runtime-version.minor": "4",
    "cuda.runtime.major": "12", "cuda.runtime.minor": "4", "gpu.compute.major": "9", "gpu.compute.minor": "0",
    "gpu.count": "1", "gpu.family": "hopper", "gpu.machine": "PIO-4124GS-TNR-01-NC24B", "gpu.memory": "81559",
    "gpu.mode": "compute", "gpu.product": "NVIDIA-H100-80GB-HBM3", "gpu.replicas": "1", "gpu.sharing-strategy": "none",
    "mig.capable": "true", "mig.strategy": "single", "mps.capable": "false",
}  # fmt: skip


def test_whole_gpu():
    assert predict(gpu()) == H100


def test_strategy_none_has_no_strategy_label():
    assert predict(gpu(), strategy="none") == {k: v for k, v in H100.items() if k != "mig.strategy"}


# cloud-native-docs, gpu-operator/manifests/output/mig-mixed-node-labels.json
def test_mixed_has_one_block_for_each_profile():
    cut = gpu(mig=[device("1g.10gb"), device("1g.10gb"), device("3g.40gb", 40320, multiprocessors=60)])
    found = predict(cut, strategy="mixed")
    assert found["gpu.count"] == "1"
    assert found["gpu.replicas"] == "0"
    assert {k: v for k, v in found.items() if k.startswith("mig-1g")} == {
        "mig-1g.10gb.count": "2", "mig-1g.10gb.engines.copy": "1", "mig-1g.10gb.engines.decoder": "1",
        "mig-1g.10gb.engines.encoder": "0", "mig-1g.10gb.engines.jpeg": "1", "mig-1g.10gb.engines.ofa": "0",
        "mig-1g.10gb.memory": "9984", "mig-1g.10gb.multiprocessors": "16", "mig-1g.10gb.replicas": "1",
        "mig-1g.10gb.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "mig-1g.10gb.sharing-strategy": "none",
        "mig-1g.10gb.slices.ci": "1", "mig-1g.10gb.slices.gi": "1",
    }  # fmt: skip
    assert (found["mig-3g.40gb.count"], found["mig-3g.40gb.multiprocessors"]) == ("1", "60")


def test_single_describes_the_mig_device_as_the_gpu():
    found = predict(gpu(mig=[device("1g.10gb")] * 7), gpu(1, mig=[device("1g.10gb")] * 7))
    assert found["gpu.count"] == "14"
    assert found["gpu.product"] == "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"
    assert (found["gpu.memory"], found["gpu.replicas"], found["gpu.slices.gi"]) == ("9984", "1", "1")
    assert (found["gpu.family"], found["gpu.compute.major"]) == ("hopper", "9")


INVALID = {
    "a board without instances": [gpu(mig=[device("1g.10gb")]), gpu(1, mig=[])],
    "a whole board beside a cut one": [gpu(mig=[device("1g.10gb")]), gpu(1)],
    "two profiles": [gpu(mig=[device("1g.10gb"), device("2g.20gb")])],
}


@pytest.mark.parametrize("gpus", INVALID.values(), ids=INVALID)
def test_single_shows_an_invalid_layout(gpus):
    found = predict(*gpus)
    assert found["gpu.product"] == "NVIDIA-H100-80GB-HBM3-MIG-INVALID"
    assert (found["gpu.count"], found["gpu.memory"], found["gpu.sharing-strategy"]) == ("0", "0", "")


# host -> labels that decide the case
VALUES = {
    "T4": (facts(gpu(name="Tesla T4", capability="7.5", memory=15360)), {
        "nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.family": "turing", "nvidia.com/gpu.memory": "15360",
    }),
    "two-part driver version": ({**facts(gpu()), "driver": {"loaded_version": "595.91", "cuda_version": None}}, {
        "nvidia.com/cuda.driver-version.revision": "", "nvidia.com/cuda.driver.rev": "",
    }),
    "leading zero is kept": ({**facts(gpu()), "driver": {"loaded_version": "595.91.07", "cuda_version": "13.2"}}, {
        "nvidia.com/cuda.driver-version.revision": "07", "nvidia.com/cuda.runtime-version.full": "13.2",
    }),
    "machine unknown": (facts(gpu(), machine=None), {"nvidia.com/gpu.machine": "unknown"}),
    "machine with a blank": (facts(gpu(), machine="NVIDIA DGX-2H (rev 2)"), {
        "nvidia.com/gpu.machine": "NVIDIA-DGX-2H-rev-2",
    }),
    "graphics and compute boards": (facts(gpu(), gpu(1, pci_class="0x030000")), {"nvidia.com/gpu.mode": "unknown"}),
    "NVLink fabric": (facts(gpu(fabric={"state": "completed", "cluster_uuid": "ABC-1", "clique": 7})), {
        "nvidia.com/gpu.clique": "abc-1.7",
    }),
    "vGPU guest": (facts(gpu(), vgpu_present=True), {"nvidia.com/vgpu.present": "true"}),
}  # fmt: skip


@pytest.mark.parametrize(("host", "expected"), VALUES.values(), ids=VALUES)
def test_values(host, expected):
    found = labels.predict_labels(host, mig_strategy="single")
    assert {k: found.get(k) for k in expected} == expected


def test_a_value_that_kubernetes_refuses_is_left_out():
    assert "gpu.machine" not in predict(gpu(), machine="To be filled by O.E.M.")


def test_no_gpu_no_label():
    assert predict() == {}


@pytest.mark.parametrize(("capability", "name"), FAMILIES)
def test_families(capability, name):
    assert labels.family(*capability) == name


def test_family_of_thor_is_undefined():
    assert labels.family(11, 0) == "undefined"


CONTAINER = {row.key: "true" for row in DEPLOY_LABELS if "container" in row.modes}
NO_MIG = {k: v for k, v in CONTAINER.items() if not k.endswith("mig-manager")}
PAUSED = {"nvidia.com/gpu.deploy.device-plugin": "paused-for-driver-upgrade"}
OFF = {"nvidia.com/gpu.deploy.driver": "false"}
THERE = {"nvidia.com/gpu.present": "true"}

# labels of the node, GPU present, host ready, MIG-capable -> labels wanted
DEPLOY = {
    "fresh node": ({}, True, True, True, {**THERE, **CONTAINER}),
    "no MIG": ({}, True, True, False, {**THERE, **NO_MIG}),
    "host failed: nothing lands": ({}, True, False, True, THERE),
    "host failed later: labels go": (CONTAINER, True, False, True, {**THERE, **dict.fromkeys(CONTAINER)}),
    "a person's and a tool's values stay": (
        {**PAUSED, **OFF}, True, True, True, {**THERE, **CONTAINER, **PAUSED, **OFF},
    ),
    "paused stays paused on a failed host": ({**PAUSED}, True, False, True, THERE),
    "empty counts as absent": ({"nvidia.com/gpu.deploy.dcgm": ""}, True, True, True, {**THERE, **CONTAINER}),
    "operands switched off": (
        {"nvidia.com/gpu.deploy.operands": "false", **CONTAINER}, True, True, True,
        {**THERE, **dict.fromkeys(CONTAINER)},
    ),
    "never a GPU": ({}, False, True, False, {}),
    "GPU taken out": (
        {**THERE, **CONTAINER, **PAUSED}, False, True, False,
        {"nvidia.com/gpu.present": "false", **dict.fromkeys(CONTAINER)},
    ),
    "label of another workload mode goes": (
        {"nvidia.com/gpu.deploy.vfio-manager": "true"}, True, True, True,
        {**THERE, **CONTAINER, "nvidia.com/gpu.deploy.vfio-manager": None},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("current", "present", "ready", "mig", "expected"), DEPLOY.values(), ids=DEPLOY)
def test_deploy_labels(current, present, ready, mig, expected):
    assert labels.deploy_labels(current, present=present, ready=ready, mig_capable=mig) == expected


def test_gfd_labels_of_an_earlier_layout_go_and_others_stay():
    kept = {"nvidia.com/gfd.timestamp": "1", "nvidia.com/mig.config": "all-1g.5gb", "a": "b"}
    current = {"nvidia.com/mig-1g.5gb.count": "7", **kept}
    wanted = labels.gfd_labels(current, {"nvidia.com/gpu.count": "1"})
    assert wanted == {"nvidia.com/mig-1g.5gb.count": None, "nvidia.com/gpu.count": "1"}


def test_every_predicted_label_is_known_as_gfds():
    cut = gpu(mig=[device("1g.10gb+me")], fabric={"state": "completed", "cluster_uuid": "a", "clique": 1})
    found = labels.predict_labels(facts(cut, vgpu_present=False), mig_strategy="mixed")
    assert [k for k in found if not labels.is_gfd_key(k)] == []


def test_a_patch_holds_only_what_differs_and_leaves_nfds_labels():
    current = {"a": "1", "b": "2", "nvidia.com/gpu.count": "1"}
    annotations = {"nfd.node.kubernetes.io/feature-labels": "cpu-x,nvidia.com/gpu.count"}
    wanted = {"a": "1", "b": None, "c": None, "d": "4", "nvidia.com/gpu.count": "2"}
    assert labels.changed_labels(current, wanted, annotations=annotations) == {"b": None, "d": "4"}


# labels of the node, predicted -> capable
MIG_CAPABLE = {
    "predicted": ({}, {"nvidia.com/mig.capable": "true"}, True),
    "T4": ({"nvidia.com/mig.capable": "true"}, {"nvidia.com/mig.capable": "false"}, False),
    "vGPU guest": ({"nvidia.com/vgpu.host-driver-version": "595.71"}, {"nvidia.com/mig.capable": "true"}, False),
    "unknown": ({}, {}, False),
}


@pytest.mark.parametrize(("current", "predicted", "expected"), MIG_CAPABLE.values(), ids=MIG_CAPABLE)
def test_mig_capable(current, predicted, expected):
    assert labels.is_mig_capable(current, predicted) is expected
