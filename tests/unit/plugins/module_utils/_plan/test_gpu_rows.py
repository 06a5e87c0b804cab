# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import PciFunction
from ansible_collections.gpu.fleet.plugins.module_utils._plan.gpu_rows import fabric_of, gpu_rows, pci_facts

H100 = PciFunction("0000:41:00.0", "10de", "2330", "10de:16c1", "0302", "nvidia")
A100 = PciFunction("0000:51:00.0", "10de", "20b0", "10de:134f", "0302", None)
SWITCH = PciFunction("0000:05:00.0", "10de", "22a3", "10de:1796", "0680", None)
NIC = PciFunction("0000:61:00.0", "15b3", "1021", "15b3:0000", "0207", "mlx5_core")
AUDIO = PciFunction("0000:41:00.1", "10de", "10fa", "10de:12a3", "0403", None)
ALL = (SWITCH, H100, AUDIO, A100, NIC)

ROW = {"index": 0, "uuid": "GPU-1", "pci_address": "0000:41:00.0", "name": "NVIDIA H100 80GB HBM3"}


def test_nvml_rows_win_and_pci_adds_the_rest():
    rows = gpu_rows(ALL, [ROW], {"0000:41:00.0": {"numa_node": 1, "pci_class": "0x030200"}})
    assert [(r["pci_address"], r["uuid"], r["index"]) for r in rows] == [
        ("0000:41:00.0", "GPU-1", 0),
        ("0000:51:00.0", None, None),
    ]
    assert rows[0]["numa_node"] == 1
    assert rows[0]["pci_class"] == "0x030200"
    assert rows[1]["pci_id"] == "10de:20b0"
    assert rows[1]["architecture"] == "ampere"


def test_without_nvml_everything_is_from_pci():
    assert [r["uuid"] for r in gpu_rows(ALL, [], {})] == [None, None]


LOST = "nvmlDeviceGetHandleByIndex: GPU is lost"
# rows of NVML, its error as a whole -> the errors of the two rows
REASONS = {
    "NVML was not asked": ([], None, [None, None]),
    "NVML does not answer": ([], "nvmlInit: Driver Not Loaded", ["nvmlInit: Driver Not Loaded"] * 2),
    "one fails and tells its address": (
        [{"index": 0, "pci_address": A100.address, "error": LOST}, {**ROW, "index": 1}],
        "not listed",
        [None, LOST],
    ),
    "one fails without address, one is left": (
        [{"index": 0, "pci_address": None, "error": LOST}, {**ROW, "index": 1}],
        "not listed",
        [None, LOST],
    ),
    "one fails without address, two are left": (
        [{"index": 0, "pci_address": None, "error": LOST}],
        "not listed",
        [f"it is one of 2 GPUs that NVML does not identify (index 0: {LOST})"] * 2,
    ),
    "one is not listed": ([ROW], "not listed", [None, "not listed"]),
}


@pytest.mark.parametrize(("nvml", "error", "errors"), REASONS.values(), ids=REASONS)
def test_gpu_without_nvml_says_why(nvml, error, errors):
    rows = gpu_rows(ALL, [{"error": None, **row} for row in nvml], {}, error=error)
    assert [r["error"] for r in rows] == errors
    assert [r["pci_address"] for r in rows] == [H100.address, A100.address]
    assert all((r["uuid"] is None) is (r["error"] is not None) for r in rows if error)


def test_pci_facts():
    nic = {"pci_address": NIC.address, "rdma": ["mlx5_0"]}
    found = pci_facts(ALL, [ROW], [nic])
    assert [f["pci_address"] for f in found["nvswitches"]] == ["0000:05:00.0"]
    assert found["nics"] == [nic]
    assert found["missing_in_nvml"] == ["0000:51:00.0"]
    assert pci_facts(ALL, None)["missing_in_nvml"] is None


READY = {"state": "completed", "clique": 0, "cluster_uuid": "00000000-0000-0000-0000-000000000000"}
FABRICS = {
    "none": ([None, None], None),
    "all alike": ([READY, READY], READY),
    "one lags": ([READY, {**READY, "state": "in_progress"}], {**READY, "state": None}),
    "one has none": ([READY, None], READY),
}


@pytest.mark.parametrize(("fabrics", "whole"), FABRICS.values(), ids=FABRICS)
def test_fabric_of_a_host_is_what_its_gpus_share(fabrics, whole):
    assert fabric_of([{"fabric": f} for f in fabrics]) == whole
