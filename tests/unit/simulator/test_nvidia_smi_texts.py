# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated nvidia-smi, read by the readers of the collection, tells what NVML tells through nvidia-ml-py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.sources import read_output
from simulator.sandbox import Sandbox
from simulator.state import edit

BRANCHES = ("570.172.08", "580.173.02", "595.71.05", "610.43.02")
MACHINES = ("t4-a100", "h100x2", "l40sx4", "hgx-b200")
CASES = [(machine, driver) for machine in MACHINES for driver in BRANCHES] + [
    ("v100x4", "570.172.08"),
    ("p100x1", "535.230.02"),
]

# What NVML does not tell is None, as in the readers' rows.
FACTS = """
def ask(function, *arguments):
    try:
        return function(*arguments)
    except NVMLError:
        return None

def mode(value, pick=None):
    value = value[pick] if value is not None and pick is not None else value
    return None if value is None else ("disabled", "enabled")[value]

def watts(value):
    return None if value is None else value / 1000

def facts(device):
    ecc, mig = ask(nvmlDeviceGetEccMode, device), ask(nvmlDeviceGetMigMode, device)
    gsp = ask(nvmlDeviceGetGspFirmwareVersion, device)
    memory, rows = nvmlDeviceGetMemoryInfo(device), ask(nvmlDeviceGetRemappedRows, device)
    return {
        "pci": nvmlDeviceGetPciInfo(device).busId,
        "product_name": nvmlDeviceGetName(device),
        "uuid": nvmlDeviceGetUUID(device),
        "serial": ask(nvmlDeviceGetSerial, device),
        "minor": nvmlDeviceGetMinorNumber(device),
        "vbios": nvmlDeviceGetVbiosVersion(device),
        "gsp_firmware": gsp and gsp.decode(),
        "persistence_mode": mode(nvmlDeviceGetPersistenceMode(device)),
        "mig_current": mode(mig, 0),
        "mig_pending": mode(mig, 1),
        "ecc_current": mode(ecc, 0),
        "ecc_pending": mode(ecc, 1),
        "memory_total_mib": memory.total // 2 ** 20,
        "temperature_c": nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU),
        "pcie_generation": nvmlDeviceGetCurrPcieLinkGeneration(device),
        "pcie_generation_max": nvmlDeviceGetMaxPcieLinkGeneration(device),
        "pcie_width": nvmlDeviceGetCurrPcieLinkWidth(device),
        "pcie_width_max": nvmlDeviceGetMaxPcieLinkWidth(device),
        "performance_state": f"P{nvmlDeviceGetPerformanceState(device)}",
        "compute_mode": ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")[
            nvmlDeviceGetComputeMode(device)],
        "remapped_corr": rows and rows[0],
        "remapped_unc": rows and rows[1],
        "remapped_pending": rows and bool(rows[2]),
        "remapped_failure": rows and bool(rows[3]),
        "power_w": watts(ask(nvmlDeviceGetPowerUsage, device)),
        "power_limit_w": watts(ask(nvmlDeviceGetPowerManagementLimit, device)),
    }

result = [facts(gpu(index)) for index in range(nvmlDeviceGetCount())]
"""


def _read(box: Sandbox, *arguments: str) -> dict[str, Any]:
    done = box.smi(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return read_output(" ".join(["nvidia-smi", *arguments]), done.stdout)


def _facts(box: Sandbox) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = box.nvml(FACTS)
    return found


def _comparable(row: dict[str, Any]) -> dict[str, Any]:
    """The two forms name the same things each in its own way."""
    return {key: value for key, value in row.items() if key not in ("power_element", "unknown")}


@pytest.mark.parametrize(("machine", "driver"), CASES)
def test_query_and_xml(tmp_path: Path, machine: str, driver: str) -> None:
    box = Sandbox(tmp_path, machine, driver=driver)
    facts, text, xml = _facts(box), _read(box, "-q"), _read(box, "-q", "-x")
    assert [{key: row[key] for key in facts[0]} for row in text["gpus"]] == facts
    assert [_comparable(row) for row in xml["gpus"]] == [_comparable(row) for row in text["gpus"]]
    assert [(told["driver"], told["attached"]) for told in (text, xml)] == [(driver, len(facts))] * 2


@pytest.mark.parametrize(("machine", "driver"), CASES)
def test_table(tmp_path: Path, machine: str, driver: str) -> None:
    box = Sandbox(tmp_path, machine, driver=driver)
    shared = ("pci", "temperature_c", "memory_total_mib", "compute_mode")
    facts, table = _facts(box), _read(box)
    assert [{key: row[key] for key in shared} for row in table["gpus"]] == [
        {key: fact[key] for key in shared} for fact in facts
    ]
    assert [(row["performance"], row["power_limit_w"], row["mig"]) for row in table["gpus"]] == [
        (fact["performance_state"], fact["power_limit_w"], fact["mig_current"]) for fact in facts
    ]
    assert (table["smi"], table["driver"], table["processes"]) == (driver, driver, [])


@pytest.mark.parametrize(
    ("driver", "heading"),
    [
        ("570.172.08", "Driver Version and CUDA Version"),
        ("595.71.05", "Driver Version and CUDA Version"),
        ("610.43.02", "KMD Version and CUDA UMD Version"),
    ],
)
def test_versions(tmp_path: Path, driver: str, heading: str) -> None:
    box = Sandbox(tmp_path, "a100x1", driver=driver)
    cuda = box.nvml("result = nvmlSystemGetCudaDriverVersion()")
    told, table = _read(box, "--version"), _read(box)
    assert (told["smi"], told["driver"], told["nvml"]) == (driver, driver, driver.rpartition(".")[0])
    assert table["heading"] == heading
    assert told["cuda"] == table["cuda"] == f"{cuda // 1000}.{cuda % 1000 // 10}"
    assert told["driver_version_key_is_text"] == driver.startswith("610")


@pytest.mark.parametrize("driver", BRANCHES)
def test_values_that_change(tmp_path: Path, driver: str) -> None:
    box = Sandbox(tmp_path, "a100x2", driver=driver)
    with edit(box.state_path) as state:
        state.gpus[1]["client"] = "1"
        state.health.append({"gpu": "1", "temperature": "91", "pcie_width": "8", "remap_pending": "1"})
    box.process(gpu=1, pid=4001)
    facts, text, table = _facts(box)[1], _read(box, "-q")["gpus"][1], _read(box)
    wanted = {"temperature_c": 91, "pcie_width": 8, "pcie_width_max": 16, "remapped_pending": True}
    assert {key: facts[key] for key in wanted} == {key: text[key] for key in wanted} == wanted
    assert table["gpus"][1]["temperature_c"] == 91
    assert table["processes"] == [
        {"gpu": 1, "gi": None, "ci": None, "pid": 4001, "type": "C", "name": "python3", "memory_mib": 1024}
    ]
    assert text["processes"] == [
        {"gi": None, "ci": None, "pid": 4001, "type": "C", "name": "python3", "memory_mib": 1024}
    ]
