# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_source import driver_packages, driver_source
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import PciFunction
from ansible_collections.gpu.fleet.plugins.module_utils._plan.gpu_rows import gpu_rows, pci_facts

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


def test_gpu_that_nvml_cannot_read_comes_from_pci():
    rows = gpu_rows(ALL, [{"index": 0, "error": "GPU is lost"}], {})
    assert [r["uuid"] for r in rows] == [None, None]


def test_pci_facts():
    found = pci_facts(ALL, [ROW])
    assert [f["pci_address"] for f in found["nvswitches"]] == ["0000:05:00.0"]
    assert [f["driver"] for f in found["nics"]] == ["mlx5_core"]
    assert found["missing_in_nvml"] == ["0000:51:00.0"]
    assert pci_facts(ALL, None)["missing_in_nvml"] is None


SOURCES = {
    "nothing": ([], {}, "none"),
    "NVIDIA's repository": (["nvidia-kernel-open-dkms", "libcuda1"], {}, "cuda_repo"),
    "Debian's archive": (["nvidia-open-kernel-dkms"], {}, "distro"),
    "run file": ([], {"runfile": True}, "runfile"),
    "driver container": ([], {"container": True}, "container"),
    "two at once": (["nvidia-kernel-dkms"], {"runfile": True}, "mixed"),
    "loaded, nobody knows from where": ([], {"loaded": True}, None),
}


@pytest.mark.parametrize(("packages", "more", "source"), SOURCES.values(), ids=SOURCES)
def test_driver_source(packages, more, source):
    found = {"runfile": False, "container": False, "loaded": False, **more}
    assert driver_source(packages, **found) == source


def test_driver_packages_leave_the_toolkit_out():
    names = ["bash", "nvidia-container-toolkit", "libcuda1", "nvidia-kernel-open-dkms"]
    assert driver_packages(names) == ["libcuda1", "nvidia-kernel-open-dkms"]
