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


@pytest.mark.parametrize(
    ("machine", "driver", "links", "pair"),
    [
        ("hgx-h100", "595.71.05", 18, 18),
        ("hgx-a100", "570.172.08", 12, 12),
        ("v100x4", "570.172.08", 6, 2),
        ("a100x2", "570.172.08", 0, None),
    ],
)
def test_links(tmp_path: Path, machine: str, driver: str, links: int, pair: int | None) -> None:
    box = Sandbox(tmp_path, machine, driver=driver)
    status, topology = _read(box, "nvlink", "-s"), _read(box, "topo", "-m")
    assert (status["links"], status["links_active"], topology["nvlinks_per_pair"]) == (links, links, pair)
    assert status["nvlink"] == ("supported" if links else "unsupported")
    assert [gpu["uuid"] for gpu in status["gpus"]] == [fact["uuid"] for fact in _facts(box)]


def test_affinity_is_that_of_nvml(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "hgx-h100")
    code = "result = [[n for n in range(256) if nvmlDeviceGetCpuAffinity(gpu(i), 4)[n // 64] >> n % 64 & 1] "
    cpus = box.nvml(f"{code}for i in range(8)]")
    rows = _read(box, "topo", "-m")["rows"]
    assert [_numbers(row["cpu_affinity"]) for row in rows] == cpus
    assert {row["numa"] for row in rows} == {"0", "1"}
    assert [row["gpu_numa_id"] for row in rows] == [None] * 8


def _numbers(text: str) -> list[int]:
    spans = [[int(word) for word in part.split("-")] for part in text.split(",")]
    return [number for span in spans for number in range(span[0], span[-1] + 1)]


def test_a_link_that_is_down(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "v100x4")
    with edit(box.state_path) as state:
        state.links.append({"gpu": "0", "id": "3", "down": "1", "replay": "5", "recovery": "1", "crc": "7"})
    status, topology = _read(box, "nvlink", "-s"), _read(box, "topo", "-m")
    assert [row["speed_gb_s"] is None for row in status["gpus"][0]["links"]] == [n == 3 for n in range(6)]
    assert status["error"] is True
    assert topology["rows"][0]["links"] == {"GPU0": "X", "GPU1": "NV1", "GPU2": "NV2", "GPU3": "NV2"}
    assert box.smi("nvlink", "-e", "-i", "0", "-l", "3").stdout.splitlines()[1:] == [
        "\t Link 3: Replay Errors: 5",
        "\t Link 3: Recovery Errors: 1",
        "\t Link 3: CRC Errors: 7",
        "",
    ]
    assert "\t Link 3: <inactive>" in box.smi("nvlink", "-p", "-i", "0").stdout.splitlines()


def test_no_link_is_up(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "v100x4")
    with edit(box.state_path) as state:
        state.links += [{"gpu": "0", "id": str(number), "down": "1"} for number in range(6)]
    gpus = _read(box, "nvlink", "-s")["gpus"]
    assert [gpu["reason"] for gpu in gpus] == ["all links are inactive", None, None, None]


def test_no_links_in_mig_mode(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "hgx-h100")
    assert box.smi("-i", "0", "-mig", "1").returncode == 0
    gpus = _read(box, "nvlink", "-s")["gpus"]
    assert [gpu["reason"] for gpu in gpus] == ["MIG mode"] + [None] * 7


@pytest.mark.parametrize(("letters", "cells"), [("r", ["OK", "CNS"]), ("n", ["NS", "NS"]), ("rn", ["NS", "CNS"])])
def test_peer_to_peer(tmp_path: Path, letters: str, cells: list[str]) -> None:
    box = Sandbox(tmp_path, "h100x8")
    rows = [line.split("\t") for line in box.smi("topo", "-p2p", letters).stdout.splitlines()[1:9]]
    assert [row[0] for row in rows] == [f" GPU{n}" for n in range(8)]
    assert [rows[0][2], rows[0][8]] == cells


@pytest.mark.parametrize(
    ("machine", "driver", "wanted", "unwanted"),
    [
        ("v100x4", "570.172.08", ["Single Bit", "GPU Shutdown Temp"], ["SRAM Correctable", "T.Limit Temp Spec"]),
        ("t4x1", "570.172.08", ["SRAM Correctable", "SRAM Uncorrectable", "DRAM Correctable"], ["SEC-DED"]),
        ("a100x1", "570.172.08", ["SRAM Uncorrectable SEC-DED", "Voltage"], ["PDI", "EDPp"]),
        ("a100x1", "580.95.05", ["PDI", "Display Attached"], ["Voltage", "EDPp", "KMD Version"]),
        ("h100x1", "595.71.05", ["EDPp", "GPU Shutdown T.Limit Temp", "Partition Assigned"], ["KMD Version"]),
        ("h100x1", "610.43.02", ["KMD Version", "GPU Ceiling Power Limit", "Time Run"], ["GPU Shutdown Temp"]),
    ],
)
def test_rows_of_a_board_and_a_branch(
    tmp_path: Path, machine: str, driver: str, wanted: list[str], unwanted: list[str]
) -> None:
    text = Sandbox(tmp_path, machine, driver=driver).smi("-q").stdout
    assert [word for word in wanted if word not in text] + [word for word in unwanted if word in text] == []


@pytest.mark.parametrize(
    ("driver", "column", "rule"),
    [("570.172.08", 42, "|"), ("580.95.05", 42, "+"), ("580.173.02", 55, "+"), ("610.43.02", 55, "+")],
)
def test_widths_of_a_branch(tmp_path: Path, driver: str, column: int, rule: str) -> None:
    box = Sandbox(tmp_path, "a100x1", driver=driver)
    assert {line.index(" : ") + 1 for line in box.smi("-q").stdout.splitlines() if "UUID  " in line} == {column}
    table = box.smi().stdout.splitlines()
    assert {len(line) for line in table[1:] if line} == {91}
    assert table[3][0] == rule
