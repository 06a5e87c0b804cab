# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Selective queries of the simulated nvidia-smi, its selectors, files and loops."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.nvidia_smi_csv import read_smi_csv
from simulator.build import artifact_dir
from simulator.sandbox import Sandbox
from simulator.state import edit

BRANCHES = ("570.172.08", "595.71.05", "610.43.02")
OFFERED = re.compile(r'^"([^"]+)"(?: or "([^"]+)")?$', re.MULTILINE)
LISTS = ("compute-apps", "accounted-apps", "retired-pages", "remapped-rows")

# Field -> expression of pynvml for its number; what NVML refuses is None.
NUMBERS = {
    "index": "nvmlDeviceGetIndex(gpu(i))",
    "temperature.gpu": "nvmlDeviceGetTemperature(gpu(i), 0)",
    "temperature.memory": "field(i, 82)",
    "pcie.link.gen.current": "nvmlDeviceGetCurrPcieLinkGeneration(gpu(i))",
    "pcie.link.gen.gpumax": "nvmlDeviceGetGpuMaxPcieLinkGeneration(gpu(i))",
    "pcie.link.width.current": "nvmlDeviceGetCurrPcieLinkWidth(gpu(i))",
    "memory.total": "nvmlDeviceGetMemoryInfo(gpu(i), nvmlMemory_v2).total // 2 ** 20",
    "memory.reserved": "nvmlDeviceGetMemoryInfo(gpu(i), nvmlMemory_v2).reserved // 2 ** 20",
    "memory.used": "nvmlDeviceGetMemoryInfo(gpu(i), nvmlMemory_v2).used // 2 ** 20",
    "memory.free": "nvmlDeviceGetMemoryInfo(gpu(i), nvmlMemory_v2).free // 2 ** 20",
    "utilization.gpu": "nvmlDeviceGetUtilizationRates(gpu(i)).gpu",
    "utilization.memory": "nvmlDeviceGetUtilizationRates(gpu(i)).memory",
    "ecc.errors.uncorrected.volatile.total": "nvmlDeviceGetTotalEccErrors(gpu(i), 1, 0)",
    "ecc.errors.corrected.aggregate.total": "nvmlDeviceGetTotalEccErrors(gpu(i), 0, 1)",
    "power.draw": "nvmlDeviceGetPowerUsage(gpu(i)) / 1000",
    "power.limit": "nvmlDeviceGetPowerManagementLimit(gpu(i)) / 1000",
    "enforced.power.limit": "nvmlDeviceGetEnforcedPowerLimit(gpu(i)) / 1000",
    "power.min_limit": "nvmlDeviceGetPowerManagementLimitConstraints(gpu(i))[0] / 1000",
    "clocks.current.sm": "nvmlDeviceGetClockInfo(gpu(i), NVML_CLOCK_SM)",
    "clocks.max.memory": "nvmlDeviceGetMaxClockInfo(gpu(i), NVML_CLOCK_MEM)",
}
NUMBERS_OF_ALL = f"""
def field(i, number):
    value = nvmlDeviceGetFieldValues(gpu(i), [number])[0]
    return None if value.nvmlReturn else value.value.uiVal

def ask(i, text):
    try:
        return eval(text)
    except NVMLError:
        return None

result = [[ask(i, text) for text in {list(NUMBERS.values())!r}] for i in range(nvmlDeviceGetCount())]
"""
UNITS = {
    "temperature.gpu": None,
    "memory.total": "MiB",
    "utilization.gpu": "%",
    "power.draw": "W",
    "clocks.current.sm": "MHz",
}


def _csv(box: Sandbox, query: str, fields: str, form: str = "csv", *more: str) -> dict[str, Any]:
    command = (f"--query-{query}={fields}", f"--format={form}", *more)
    done = box.smi(*command)
    assert (done.returncode, done.stderr) == (0, "")
    return read_smi_csv(done.stdout, " ".join(command))


def _offered(box: Sandbox, query: str) -> list[str]:
    return [name for names in OFFERED.findall(box.smi(f"--help-query-{query}").stdout) for name in names if name]


@pytest.mark.parametrize(("machine", "driver"), [("t4-a100", "570.172.08"), ("hgx-h100", "610.43.02")])
def test_numbers_are_those_of_nvml(tmp_path: Path, machine: str, driver: str) -> None:
    box = Sandbox(tmp_path, machine, driver=driver)
    box.process(gpu=1)
    rows = _csv(box, "gpu", ",".join(NUMBERS), "csv,nounits")["rows"]
    found = [[None if row[name] is None else float(row[name]) for name in NUMBERS] for row in rows]
    assert found == box.nvml(NUMBERS_OF_ALL)


@pytest.mark.parametrize("driver", BRANCHES)
def test_units_stand_in_heading_and_cells(tmp_path: Path, driver: str) -> None:
    box = Sandbox(tmp_path, "a100x1", driver=driver)
    told = _csv(box, "gpu", ",".join(UNITS))
    assert {name: told["units"].get(name) for name in UNITS} == UNITS
    for name, unit in UNITS.items():
        assert told["rows"][0][name].endswith(f" {unit}") is (unit is not None)


def test_forms(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    query = "--query-gpu=index,memory.total,fan.speed"
    assert box.smi(query, "--format=csv").stdout == ("index, memory.total [MiB], fan.speed [%]\n0, 40537 MiB, [N/A]\n")
    assert box.smi(query, "--format=csv,noheader").stdout == "0, 40537 MiB, [N/A]\n"
    assert box.smi(query, "--format=noheader,nounits,csv").stdout == "0, 40537, [N/A]\n"


@pytest.mark.parametrize("driver", BRANCHES)
@pytest.mark.parametrize("query", ["gpu", *LISTS])
def test_every_field_of_the_help_can_be_queried(tmp_path: Path, driver: str, query: str) -> None:
    box = Sandbox(tmp_path, "t4-a100", driver=driver)
    box.process(gpu=0)
    names = _offered(box, query)
    told = _csv(box, query, ",".join(names))
    assert len(names) > 5
    assert len(told["columns"]) == len(names)
    assert all(len(row) == len(set(told["columns"])) for row in told["rows"])


@pytest.mark.parametrize(
    ("field", "first"),
    [
        ("fabric.health.summary", 580),
        ("edpp_multiplier", 590),
        ("bbx.time_run", 610),
        ("fabric.health.partition_assigned", 595),
        ("name", 570),
        ("clocks_event_reasons.active", 570),
    ],
)
@pytest.mark.parametrize("driver", ["570.172.08", "580.95.05", "590.48.01", "595.71.05", "610.43.02"])
def test_fields_of_a_branch(tmp_path: Path, field: str, first: int, driver: str) -> None:
    box = Sandbox(tmp_path, "a100x1", driver=driver)
    done = box.smi(f"--query-gpu={field}", "--format=csv")
    known = int(driver[:3]) >= first
    assert done.returncode == (0 if known else 2)
    assert (done.stdout == f'Field "{field}" is not a valid field to query.\n\n') is not known


def test_an_old_name_comes_back_as_the_new_one(tmp_path: Path) -> None:
    told = _csv(Sandbox(tmp_path, "a100x1"), "gpu", "clocks_throttle_reasons.active,gpu_name,memory.used")
    assert told["renamed"] == {
        "clocks_throttle_reasons.active": "clocks_event_reasons.active",
        "gpu_name": "name",
    }


def test_processes(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2")
    for gpu, pid in ((1, 4002), (0, 4001), (1, 4003)):
        box.process(gpu=gpu, pid=pid)
    uuids = box.nvml("result = [nvmlDeviceGetUUID(gpu(i)) for i in range(2)]")
    fields = "gpu_uuid,pid,process_name,used_memory"
    assert [list(row.values()) for row in _csv(box, "compute-apps", fields)["rows"]] == [
        [uuids[0], "4001", "python3", "1024 MiB"],
        [uuids[1], "4002", "python3", "1024 MiB"],
        [uuids[1], "4003", "python3", "1024 MiB"],
    ]
    assert _csv(box, "compute-apps", "pid", "csv,noheader", "-i", "0")["rows"] == [{"pid": "4001"}]


def test_rows_and_pages(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "t4-a100")
    with edit(box.state_path) as state:
        state.health.append({"gpu": "1", "remapped_uncorrectable": "2", "remap_pending": "1"})
        state.pages.append({"gpu": "0", "cause": "1", "address": "4096", "time": "1764547200"})
    fields = "gpu_bus_id,remapped_rows.uncorrectable,remapped_rows.pending"
    assert [list(row.values())[1:] for row in _csv(box, "remapped-rows", fields)["rows"]] == [
        [None, None],
        ["2", "Yes"],
    ]
    rows = _csv(box, "retired-pages", "retired_pages.address,retired_pages.cause", "csv", "-i", "0")["rows"]
    assert [list(row.values()) for row in rows] == [["0x0000000000001000", "Double Bit ECC"]]


@pytest.mark.parametrize(
    ("selector", "indices"),
    [
        ("1", ["1"]),
        ("1,0", ["1", "0"]),
        ("{uuid}", ["1"]),
        ("{pci}", ["1"]),
        ("0000:51:00.0", ["1"]),
        ("{serial}", ["1"]),
    ],
)
def test_selectors(tmp_path: Path, selector: str, indices: list[str]) -> None:
    box = Sandbox(tmp_path, "a100x2")
    code = "d = gpu(1)\nresult = [nvmlDeviceGetUUID(d), nvmlDeviceGetPciInfo(d).busId, nvmlDeviceGetSerial(d)]"
    names = dict(zip(("uuid", "pci", "serial"), box.nvml(code)))
    rows = _csv(box, "gpu", "index", "csv", "-i", selector.format(**names))["rows"]
    assert [row["index"] for row in rows] == indices


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    target = tmp_path / "out.csv"
    done = box.smi("--query-gpu=index", "--format=csv", "-f", str(target))
    assert (done.returncode, done.stdout, target.read_text()) == (0, "", "index\n0\n")


@pytest.mark.parametrize("option", ["--loop-ms=50", "-lms 50"])
def test_a_loop_prints_again(tmp_path: Path, option: str) -> None:
    box = Sandbox(tmp_path, "a100x1")
    command = [str(artifact_dir() / "bin/nvidia-smi"), "--query-gpu=index", "--format=csv,noheader", *option.split()]
    with subprocess.Popen(command, env={**os.environ, **box.environment}, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert [running.stdout.readline() for _time in range(3)] == ["0\n"] * 3
        running.terminate()


@pytest.mark.parametrize(
    ("sections", "there", "missing"),
    [
        ("MEMORY", ["FB Memory Usage", "BAR1 Memory Usage"], ["Temperature", "Product Name"]),
        ("TEMPERATURE,ECC", ["Temperature", "ECC Mode", "ECC Errors"], ["FB Memory Usage", "Product Name"]),
        ("clock", ["Clocks", "Max Clocks"], ["Temperature"]),
        ("PIDS", ["Processes"], ["Clocks"]),
        ("ROW_REMAPPER", ["Remapped Rows"], ["Retired Pages"]),
    ],
)
def test_sections(tmp_path: Path, sections: str, there: list[str], missing: list[str]) -> None:
    done = Sandbox(tmp_path, "a100x1").smi("-q", "-d", sections)
    heads = {line.strip().split(" :")[0].strip() for line in done.stdout.splitlines()}
    assert done.returncode == 0
    assert heads.issuperset(there)
    assert not heads.intersection(missing)
