# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of GPUs and the resources that the device plugin advertises for them."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.resources import (
    is_gpu_resource,
    predict_resources,
    resource_name,
)


def gpu(index, *, name="NVIDIA H100 80GB HBM3", mig=None):
    """``mig`` is None for MIG off, else the profiles of its devices."""
    devices = [{"profile": p, "memory_mib": 9984} for p in mig or ()]
    return {
        "index": index, "uuid": f"GPU-{index}", "name": name,
        "mig": {"capable": True, "enabled": mig is not None, "devices": devices},
    }  # fmt: skip


ONE, CUT = gpu(0), gpu(0, mig=["1g.10gb"] * 7)
EMPTY, TWO_KINDS = gpu(1, mig=[]), gpu(0, mig=["3g.40gb", "1g.10gb", "1g.10gb"])

# gpus, strategy -> resources
CASES = {
    "no GPU": ([], "single", {}),
    "whole GPUs": ([ONE, gpu(1)], "single", {"nvidia.com/gpu": 2}),
    "whole GPUs, mixed": ([ONE, gpu(1)], "mixed", {"nvidia.com/gpu": 2}),
    "single": ([CUT, gpu(1, mig=["1g.10gb"] * 7)], "single", {"nvidia.com/gpu": 14}),
    "mixed, one board of two cut": (
        [TWO_KINDS, gpu(1)],
        "mixed",
        {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.10gb": 2, "nvidia.com/mig-3g.40gb": 1},
    ),
    "mixed, a board without instances adds nothing": ([TWO_KINDS, EMPTY], "mixed", {
        "nvidia.com/mig-1g.10gb": 2, "nvidia.com/mig-3g.40gb": 1,
    }),
    "mixed, media extensions": ([gpu(0, mig=["1g.10gb+me", "1g.10gb"])], "mixed", {
        "nvidia.com/mig-1g.10gb": 1, "nvidia.com/mig-1g.10gb.me": 1,
    }),
    "strategy none shows cut GPUs as whole ones": ([CUT, gpu(1)], "none", {"nvidia.com/gpu": 2}),
    "display GPU is never enumerated": ([ONE, gpu(1, name="NVIDIA DGX Display")], "single", {"nvidia.com/gpu": 1}),
    "GPU that only PCI has": ([{**ONE, "uuid": None}], "single", {}),
}  # fmt: skip


@pytest.mark.parametrize(("gpus", "strategy", "resources"), CASES.values(), ids=CASES)
def test_resources(gpus, strategy, resources):
    found, findings = predict_resources(gpus, mig_strategy=strategy)
    assert found == resources
    assert not [f for f in findings if f.severity == "error"]


REFUSED = {
    "single, a board without instances": ([CUT, EMPTY], "single", "without an instance"),
    "single, one board cut and one whole": ([CUT, gpu(1)], "single", "off for GPU 1"),
    "single, two profiles": ([TWO_KINDS], "single", "1g.10gb, 3g.40gb"),
    "mixed, a part of a GPU instance": ([gpu(0, mig=["1c.2g.20gb"])], "mixed", "1c.2g.20gb"),
}


@pytest.mark.parametrize(("gpus", "strategy", "word"), REFUSED.values(), ids=REFUSED)
def test_what_the_plugin_refuses_is_an_error(gpus, strategy, word):
    found, (finding,) = predict_resources(gpus, mig_strategy=strategy, host="gpu-7")
    assert found == {}
    assert finding.severity == "error"
    assert word in finding.found
    assert "gpu-7" in finding.summary


def test_cut_gpus_with_strategy_none_are_warned_about():
    (finding,) = predict_resources([CUT], mig_strategy="none")[1]
    assert finding.severity == "warning"


NAMES = {"nvidia.com/gpu": True, "nvidia.com/gpu.shared": True, "nvidia.com/mig-1g.5gb": True, "nvidia.com/nic": False}


@pytest.mark.parametrize(("name", "ours"), NAMES.items())
def test_which_resources_are_the_plugins(name, ours):
    assert is_gpu_resource(name) is ours


def test_name_of_a_no_media_profile_keeps_its_dash():
    assert resource_name("1g.5gb-me") == "nvidia.com/mig-1g.5gb-me"
