# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What operands show, and what is missing or too much in it."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan import proof

# allocatable, predicted -> reason
ALLOCATABLE = {
    "equal": ({"cpu": "8", "nvidia.com/gpu": "2"}, {"nvidia.com/gpu": 2}, ""),
    "a name of earlier that is 0 does not count": ({"nvidia.com/gpu": "0", "nvidia.com/mig-1g.5gb": "7"}, {
        "nvidia.com/mig-1g.5gb": 7,
    }, ""),
    "one unhealthy": ({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": 2}, "nvidia.com/gpu is 1, predicted 2"),
    "too much": ({"nvidia.com/gpu": "8"}, {}, "nvidia.com/gpu is 8, predicted 0"),
    "nothing yet": ({}, {"nvidia.com/gpu": 1}, "nvidia.com/gpu is 0, predicted 1"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "predicted", "reason"), ALLOCATABLE.values(), ids=ALLOCATABLE)
def test_allocatable(found, predicted, reason):
    said = proof.prove_allocatable({"status": {"allocatable": found}}, predicted)
    assert said == (f"allocatable {reason}" if reason else "")


# What gpu-feature-discovery v0.18 prints with --output-file= and without the NodeFeature API: three rounds.
LOG = """nvidia.com/gpu.count=1
nvidia.com/mig-1g.5gb.count=7
I1130 22:00:00.000000       1 main.go:227] Creating Labels
nvidia.com/gpu.count=1
nvidia.com/cuda.driver.rev=
I1130 22:01:00.000000       1 main.go:227] Sleeping for 60000000000
nvidia.com/gpu.count=2
W1130 22:01:01.000000       1 machine-type.go:34] Error getting machine type
nvidia.com/gfd.timestamp=1764540000
"""


def test_the_last_rounds_of_gfd_count_though_other_lines_stand_between():
    assert proof.parse_gfd_log(LOG) == {
        "nvidia.com/gpu.count": "2", "nvidia.com/gfd.timestamp": "1764540000", "nvidia.com/cuda.driver.rev": "",
    }  # fmt: skip


def test_labels_are_compared_with_the_prediction():
    found = proof.parse_gfd_log(LOG)
    assert proof.prove_labels(found, {"nvidia.com/gpu.count": "2"}, ignored=()) == ""
    assert "'2', predicted '3'" in proof.prove_labels(found, {"nvidia.com/gpu.count": "3"}, ignored=())
    assert proof.prove_labels(found, {"nvidia.com/gfd.timestamp": "1"}, ignored=("nvidia.com/gfd.timestamp",)) == ""
    assert "not written" in proof.prove_labels({}, {"a": "b"}, ignored=())


METRICS = """# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-0",device="nvidia0",modelName="Tesla T4",Hostname="n"} 34
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-1",device="nvidia1"} 300
"""


def test_every_gpu_needs_a_series():
    assert proof.prove_series(METRICS, ["GPU-0"], []) == ""
    assert proof.prove_series(METRICS, ["GPU-0", "GPU-1"], []) == "no DCGM_FI_DEV_GPU_TEMP for GPU-1"
    assert "GPU-0" in proof.prove_series("", ["GPU-0"], [])


def series(uuid, number=None, profile=None):
    tags = {"gpu": 0, "UUID": uuid, "device": "nvidia0", "GPU_I_PROFILE": profile, "GPU_I_ID": number}
    named = [f"{name}={json.dumps(str(value))}" for name, value in tags.items() if value is not None]
    return f"DCGM_FI_DEV_GPU_TEMP{{{','.join(named)}}} 31"


def instances(*rows):
    return [{"gpu": gpu, "id": number, "profile": profile} for gpu, number, profile in rows]


SMALL, BIG = ("GPU-0", 7, "1g.5gb"), ("GPU-0", 1, "3g.20gb")
LACKS, HAS = "no DCGM_FI_DEV_GPU_TEMP for", "DCGM_FI_DEV_GPU_TEMP names MIG instances that the host does not have:"

# series there are, instances of GPU-0 -> what is told; the host has GPU-0 alone
MIG_SERIES = {
    "every instance": ([SMALL, BIG], [SMALL, BIG], ""),
    "whole GPU, no instance": ([("GPU-0",)], [], ""),
    "the GPU beside its instances": ([("GPU-0",), BIG], [BIG], ""),
    "started before MIG": ([("GPU-0",)], [BIG], f"{LACKS} GPU-0 instance 1 (3g.20gb)"),
    "started before a further instance": ([BIG], [SMALL, BIG], f"{LACKS} GPU-0 instance 7 (1g.5gb)"),
    "started when there were instances, MIG is off": ([BIG], [], f"{LACKS} GPU-0"),
    "an instance that is gone": ([SMALL, BIG], [BIG], f"{HAS} GPU-0 instance 7 (1g.5gb)"),
    "an instance of the same id that was another": (
        [("GPU-0", 1, "4g.20gb")], [BIG], f"{HAS} GPU-0 instance 1 (4g.20gb)",
    ),
    "without a profile": ([("GPU-0", 1, "")], [BIG], ""),
    "a GPU that nobody expects": ([BIG, ("GPU-9", 3, "2g.10gb")], [BIG], ""),
    "many": (
        [], [("GPU-0", n, "1g.5gb") for n in range(7, 12)],
        f"{LACKS} GPU-0 instance 7 (1g.5gb), GPU-0 instance 8 (1g.5gb), GPU-0 instance 9 (1g.5gb) and 2 more",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("found", "wanted", "told"), MIG_SERIES.values(), ids=MIG_SERIES)
def test_every_instance_needs_a_series_and_no_other_has_one(found, wanted, told):
    metrics = "".join(f"{series(*row)}\n" for row in found)
    assert proof.prove_series(metrics, ["GPU-0"], instances(*wanted)) == told


def gpu(*devices):
    rows = [{"profile": profile, "gpu_instance": number} for number, profile in devices]
    return {"uuid": "GPU-0", "mig": {"devices": rows}}


# MIG devices -> instances
INSTANCES = {
    "none": ([], []),
    "two": ([(1, "3g.20gb"), (7, "1g.5gb")], [BIG, SMALL]),
    "two compute instances in one": ([(1, "1c.3g.20gb"), (1, "2c.3g.20gb")], [BIG]),
    "with media engines": ([(7, "1g.5gb+me")], [SMALL]),
    "NVML did not tell the id": ([(None, "1g.5gb")], []),
}


@pytest.mark.parametrize(("devices", "found"), INSTANCES.values(), ids=INSTANCES)
def test_instances_of_a_gpu(devices, found):
    assert list(proof.gpu_instances([gpu(*devices)])) == instances(*found)
