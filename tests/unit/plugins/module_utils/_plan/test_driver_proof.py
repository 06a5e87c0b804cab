# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What proves a driver, and what each thing that is not so becomes."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan import driver_proof
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_proof import (
    DriverProof,
    Wanted,
    is_pending,
    judge_proof,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import DriverVersion

A, B = "0000:41:00.0", "0000:42:00.0"
WANTED = Wanted("595.71.05", "open", DriverVersion("595.71.05", "open"))
GOOD = DriverProof(
    pci_gpus=(A, B),
    nvml_gpus=(A, B),
    nvml_version="595.71.05",
    persistence={A: True, B: True},
    fabric={A: None, B: None},
    kernels={"6.1.0-57-amd64": "595.71.05"},
)
FABRIC = replace(WANTED, components=("fabric_manager",))
IMEX = replace(WANTED, components=("imex",), imex_nodes=True)
GRIDD = replace(WANTED, components=("gridd",))
HGX = replace(GOOD, fabric={A: "completed", B: "completed"})


@pytest.mark.parametrize(
    ("proof", "wanted"),
    [
        (GOOD, WANTED),
        (HGX, FABRIC),
        # A100: the driver says nothing of the fabric.
        (GOOD, FABRIC),
        (replace(GOOD, imex="READY"), IMEX),
        (GOOD, replace(IMEX, imex_nodes=False)),
        (replace(GOOD, licence="acquired"), GRIDD),
        (replace(GOOD, persistence={A: False, B: False}), replace(WANTED, persistenced=False)),
        (replace(GOOD, persistence={}), WANTED),
        (GOOD, replace(WANTED, version="", flavour="")),
    ],
)
def test_a_driver_that_works_has_no_findings(proof, wanted):
    assert judge_proof(proof, wanted) == ()
    assert not is_pending(proof, wanted)


# proof, what is wanted, the finding, whether it may still come right by itself, words that both sides are quoted with
WRONG = {
    "NVML": (
        replace(GOOD, nvml_error="nvmlInit: Unknown Error", nvml_gpus=()),
        WANTED, "GPU-HW-101", "error", False, "nvmlInit: Unknown Error",
    ),
    "library": (replace(GOOD, nvml_version="580.65.06"), WANTED, "GPU-KRN-026", "error", False, "library 580.65.06"),
    "other than wanted": (GOOD, replace(WANTED, version="610.43.02"), "GPU-KRN-026", "error", False, "610.43.02"),
    "flavour": (GOOD, replace(WANTED, flavour="proprietary"), "GPU-KRN-025", "error", False, "the open ones"),
    "lost": (
        replace(GOOD, nvml_gpus=(A,), kernel_log={B: "NVRM: Xid (PCI:0000:42:00): 79, GPU has fallen off the bus."}),
        WANTED, "GPU-HW-102", "error", False, "fallen off the bus",
    ),
    "lost without a word": (
        replace(GOOD, nvml_gpus=()), WANTED, "GPU-HW-102", "error", False, "the kernel log says nothing",
    ),
    "excluded by a parameter": (
        replace(GOOD, nvml_gpus=(A,)), replace(WANTED, parameters=("NVreg_ExcludedGpus",)),
        "GPU-HW-102", "warning", False, B,
    ),
    "fabric": (
        replace(HGX, fabric={A: "completed", B: "in_progress"}),
        FABRIC, "GPU-FAB-031", "error", True, f"{B} in_progress",
    ),
    "persistence": (replace(GOOD, persistence={A: True, B: False}), WANTED, "GPU-FAB-029", "warning", True, B),
    "IMEX": (replace(GOOD, imex="WAITING_FOR_PEERS"), IMEX, "GPU-FAB-106", "warning", True, "WAITING_FOR_PEERS"),
    "IMEX without an answer": (GOOD, IMEX, "GPU-FAB-106", "warning", True, "no answer"),
    "licence": (
        replace(GOOD, licence="not acquired", licence_cause="expired"),
        GRIDD, "GPU-FAB-105", "warning", True, "not acquired",
    ),
    "licence that was asked for": (GOOD, replace(GRIDD, licence=True), "GPU-FAB-105", "error", True, "says nothing"),
    "next boot": (
        replace(GOOD, kernels={**GOOD.kernels, "6.1.0-60-amd64": None}),
        WANTED, "GPU-KRN-018", "warning", False, "6.1.0-60-amd64 has none",
    ),
    "next boot with an older one": (
        replace(GOOD, kernels={**GOOD.kernels, "6.1.0-60-amd64": "580.65.06"}),
        WANTED, "GPU-KRN-018", "warning", False, "6.1.0-60-amd64 has 580.65.06",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_so_is_a_finding(name):
    proof, wanted, finding, severity, pending, words = WRONG[name]
    found = judge_proof(proof, wanted)
    assert [(f.id, f.severity) for f in found] == [(finding, severity)]
    assert words in found[0].found + found[0].wanted
    assert found[0].remedy
    assert is_pending(proof, wanted) is pending


def test_every_finding_has_a_case():
    made = set(re.findall(r"GPU-[A-Z]+-\d{3}", inspect.getsource(driver_proof)))
    assert made == {case[2] for case in WRONG.values()}


def test_nothing_else_is_said_where_nvml_does_not_answer():
    proof = replace(HGX, nvml_error="Driver/library version mismatch", nvml_gpus=(), persistence={A: False})
    assert [f.id for f in judge_proof(proof, FABRIC)] == ["GPU-HW-101"]
