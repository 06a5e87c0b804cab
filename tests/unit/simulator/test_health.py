# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Health, clocks, power, memory errors and setters of the simulated NVML, seen by nvidia-ml-py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator import damage
from simulator.driver import forget
from simulator.health import KEYS, LOST_WITH_RESET
from simulator.sandbox import Sandbox, Session
from simulator.state import State, edit, read, write

INVALID_ARGUMENT, NOT_SUPPORTED, CORRUPTED_INFOROM, DEPRECATED = 2, 3, 14, 26
# Index of each board in the machine of these tests.
A100, H100, T4, RTX4090, L4, P100, V100 = range(7)
SRAM = "filled(nvmlDeviceGetSramEccErrorStatus, c_nvmlEccSramErrorStatus_v1_t(), gpu({i}))"
MODELS = ("A100-40", "H100-80", "T4", "RTX4090", "L4", "P100", "V100-32")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sandbox, Session, State]]:
    box = Sandbox(tmp_path_factory.mktemp("health"), MODELS, driver="580.95.05")
    with box.session() as session:
        yield box, session, read(box.state_path)


class Gpus:
    """The machine of these tests as it was at first, for one test."""

    def __init__(self, box: Sandbox, session: Session, state: State) -> None:
        self.box, self._session = box, session
        write(box.state_path, state)

    def ask(self, call: str) -> Any:
        return self._session.value(call)

    def set(self, index: int, **values: int | None) -> None:
        with edit(self.box.state_path) as state:
            damage.set_health(state, index, values)

    def ecc(self, index: int, **options: Any) -> None:
        with edit(self.box.state_path) as state:
            damage.add_ecc(state, index, **options)


@pytest.fixture
def gpus(machine: tuple[Sandbox, Session, State]) -> Gpus:
    return Gpus(*machine)


def no(code: int) -> dict[str, int]:
    return {"code": code}


@pytest.mark.parametrize(
    ("index", "values", "call", "answer"),
    [
        (A100, {"temperature": 91}, "nvmlDeviceGetTemperature(gpu({i}), 0)", 91),
        (A100, {"temperature": 91}, "nvmlDeviceGetTemperatureV(gpu({i}), 0)", 91),
        (A100, {}, "[nvmlDeviceGetTemperatureThreshold(gpu({i}), n) for n in range(4)]", [92, 89, 95, 85]),
        (A100, {}, "nvmlDeviceGetTemperatureThreshold(gpu({i}), 4)", no(NOT_SUPPORTED)),
        (A100, {}, "nvmlDeviceGetTemperatureThreshold(gpu({i}), 8)", no(INVALID_ARGUMENT)),
        (T4, {}, "nvmlDeviceGetTemperatureThreshold(gpu({i}), 2)", no(NOT_SUPPORTED)),
        (H100, {"temperature": 80}, "nvmlDeviceGetMarginTemperature(gpu({i}))", 7),
        (A100, {}, "nvmlDeviceGetMarginTemperature(gpu({i}))", no(NOT_SUPPORTED)),
        (A100, {"power": 390_000}, "nvmlDeviceGetPowerUsage(gpu({i}))", 390_000),
        (A100, {"power": 500_000}, "nvmlDeviceGetPowerUsage(gpu({i}))", 400_000),
        (A100, {}, "nvmlDeviceGetPowerManagementLimitConstraints(gpu({i}))", [100_000, 400_000]),
        (A100, {"power": 400_000}, "nvmlDeviceGetCurrentClocksEventReasons(gpu({i}))", 0x4),
        (A100, {"temperature": 86}, "nvmlDeviceGetCurrentClocksEventReasons(gpu({i}))", 0x20),
        (A100, {"temperature": 89}, "nvmlDeviceGetCurrentClocksEventReasons(gpu({i}))", 0x48),
        (A100, {"temperature": 89}, "nvmlDeviceGetClockInfo(gpu({i}), 1)", 705),
        (A100, {}, "nvmlDeviceGetCurrentClocksThrottleReasons(gpu({i}))", 0x1),
        (A100, {"event_reasons": 0x80}, "nvmlDeviceGetCurrentClocksEventReasons(gpu({i}))", 0x80),
        (A100, {"clock_graphics": 210}, "nvmlDeviceGetClockInfo(gpu({i}), 0)", 210),
        (A100, {}, "[nvmlDeviceGetMaxClockInfo(gpu({i}), n) for n in range(4)]", [1410, 1410, 1215, 1410]),
        (A100, {}, "nvmlDeviceGetClockInfo(gpu({i}), 4)", no(INVALID_ARGUMENT)),
        (A100, {"utilization": 55}, "nvmlDeviceGetUtilizationRates(gpu({i})).gpu", 55),
        (RTX4090, {"fan": 80}, "[nvmlDeviceGetFanSpeed_v2(gpu({i}), n) for n in (0, 1)]", [80, 80]),
        (RTX4090, {}, "nvmlDeviceGetFanSpeed_v2(gpu({i}), 2)", no(INVALID_ARGUMENT)),
        (A100, {}, "nvmlDeviceGetFanSpeed(gpu({i}))", no(NOT_SUPPORTED)),
        (A100, {"pcie_generation": 1}, "nvmlDeviceGetCurrPcieLinkGeneration(gpu({i}))", 1),
        (A100, {"pcie_generation": 1}, "nvmlDeviceGetMaxPcieLinkGeneration(gpu({i}))", 4),
        (A100, {"pcie_width": 8}, "nvmlDeviceGetCurrPcieLinkWidth(gpu({i}))", 8),
        (A100, {"pcie_replay": 9}, "nvmlDeviceGetPcieReplayCounter(gpu({i}))", 9),
        (A100, {"pcie_generation": 3}, "nvmlDeviceGetPcieSpeed(gpu({i}))", 8000),
        (A100, {}, "nvmlDeviceGetEccMode(gpu({i}))", [1, 1]),
        (A100, {"ecc": 0, "ecc_pending": 1}, "nvmlDeviceGetEccMode(gpu({i}))", [0, 1]),
        (RTX4090, {}, "nvmlDeviceGetEccMode(gpu({i}))", no(NOT_SUPPORTED)),
        (A100, {"ecc": 0}, "nvmlDeviceGetTotalEccErrors(gpu({i}), 0, 0)", no(NOT_SUPPORTED)),
        (
            A100,
            {"remapped_correctable": 1, "remapped_uncorrectable": 2, "remap_pending": 1, "remap_failed": 1},
            "nvmlDeviceGetRemappedRows(gpu({i}))",
            [1, 2, 1, 1],
        ),
        (T4, {}, "nvmlDeviceGetRemappedRows(gpu({i}))", no(NOT_SUPPORTED)),
        (
            A100,
            {"banks_high": 3, "banks_partial": 2, "banks_low": 1, "banks_none": 4},
            "nvmlDeviceGetRowRemapperHistogram(gpu({i}))",
            {"max": 630, "high": 3, "partial": 2, "low": 1, "none": 4},
        ),
        (A100, {}, "nvmlDeviceGetRetiredPagesPendingStatus(gpu({i}))", no(NOT_SUPPORTED)),
        (T4, {"retired_pending": 1}, "nvmlDeviceGetRetiredPagesPendingStatus(gpu({i}))", 1),
        (A100, {"inforom_corrupted": 1}, "nvmlDeviceValidateInforom(gpu({i}))", no(CORRUPTED_INFOROM)),
        (A100, {"inforom_corrupted": 1}, "nvmlDeviceGetInforomImageVersion(gpu({i}))", no(CORRUPTED_INFOROM)),
        (A100, {"sram_exceeded": 1}, f"{SRAM}.bThresholdExceeded", 1),
        (T4, {}, SRAM, no(NOT_SUPPORTED)),
        (A100, {}, "nvmlDeviceGetDisplayMode(gpu({i}))", no(DEPRECATED)),
        (P100, {}, "nvmlDeviceGetGspFirmwareVersion(gpu({i}))", no(NOT_SUPPORTED)),
        (T4, {}, "nvmlDeviceGetGspFirmwareMode(gpu({i}))", [1, 1]),
        (A100, {"compute_mode": 3}, "nvmlDeviceGetComputeMode(gpu({i}))", 3),
    ],
)
def test_value(gpus: Gpus, index: int, values: dict[str, int], call: str, answer: Any) -> None:
    gpus.set(index, **values)
    found = gpus.ask(call.format(i=index))
    assert found == answer


FIELDS = {
    1: 1,  # ECC_CURRENT
    4: 5,  # ECC_DBE_VOL_TOTAL
    6: 12,  # ECC_DBE_AGG_TOTAL
    12: 5,  # ECC_DBE_VOL_DEV
    23: 12,  # ECC_DBE_AGG_DEV
    82: 77,  # MEMORY_TEMP
    94: 3,  # PCIE_REPLAY_COUNTER
    142: 4,  # REMAPPED_COR
    144: 1,  # REMAPPED_PENDING
    186: 250_000,  # POWER_INSTANT
    188: 700_000,  # POWER_MAX_LIMIT
    190: 600_000,  # POWER_CURRENT_LIMIT
    193: -8,  # TEMPERATURE_SHUTDOWN_TLIMIT
    194: -5,  # TEMPERATURE_SLOWDOWN_TLIMIT
    230: 1,  # GET_GPU_RECOVERY_ACTION
}


def test_fields_agree_with_the_functions(gpus: Gpus) -> None:
    gpus.set(H100, memory_temperature=77, pcie_replay=3, remapped_correctable=4, remap_pending=1, power=250_000)
    gpus.set(H100, power_limit=600_000, recovery_action=1)
    gpus.ecc(H100, location=2, uncorrected=True, count=5)
    gpus.ecc(H100, location=2, uncorrected=True, count=7, volatile=False)
    rows = f"nvmlDeviceGetFieldValues(gpu({H100}), {list(FIELDS)})"
    choose = "(lambda f: f.value.siVal if f.valueType == 5 else f.value.ullVal)(f)"
    found = gpus.ask(f"[[f.fieldId, f.nvmlReturn, {choose}] for f in {rows}]")
    assert found == [[field, 0, value] for field, value in FIELDS.items()]


@pytest.mark.parametrize(
    ("index", "field"), [(RTX4090, 1), (RTX4090, 82), (A100, 29), (T4, 142), (A100, 193), (T4, 38), (A100, 9999)]
)
def test_field_that_a_board_lacks(gpus: Gpus, index: int, field: int) -> None:
    rows = f"nvmlDeviceGetFieldValues(gpu({index}), [{field}])"
    assert gpus.ask(f"[f.nvmlReturn for f in {rows}]") == [NOT_SUPPORTED]


@pytest.mark.parametrize(
    ("index", "call", "answer"),
    [
        (A100, "nvmlDeviceGetTotalEccErrors(gpu({i}), 1, 0)", 2),
        (A100, "nvmlDeviceGetTotalEccErrors(gpu({i}), 1, 1)", 9),
        (A100, "nvmlDeviceGetTotalEccErrors(gpu({i}), 0, 1)", 30),
        (A100, "nvmlDeviceGetMemoryErrorCounter(gpu({i}), 1, 1, 2)", 9),
        (A100, "nvmlDeviceGetMemoryErrorCounter(gpu({i}), 0, 1, 7)", 30),
        (A100, "nvmlDeviceGetMemoryErrorCounter(gpu({i}), 0, 1, 0)", no(NOT_SUPPORTED)),  # L1 is part of SRAM
        (T4, "nvmlDeviceGetMemoryErrorCounter(gpu({i}), 0, 1, 7)", no(NOT_SUPPORTED)),
        (A100, "nvmlDeviceGetMemoryErrorCounter(gpu({i}), 0, 1, 8)", no(INVALID_ARGUMENT)),
        (A100, "nvmlDeviceGetTotalEccErrors(gpu({i}), 2, 0)", no(INVALID_ARGUMENT)),
        (A100, "nvmlDeviceGetDetailedEccErrors(gpu({i}), 1, 1).deviceMemory", 9),
        (A100, f"{SRAM}.volatileCor", 30),
    ],
)
def test_memory_errors(gpus: Gpus, index: int, call: str, answer: Any) -> None:
    gpus.ecc(A100, location=2, uncorrected=True, count=2)
    gpus.ecc(A100, location=2, uncorrected=True, count=7, volatile=False)
    gpus.ecc(A100, location=7, uncorrected=False, count=30)
    assert gpus.ask(call.format(i=index)) == answer


def test_retired_pages(gpus: Gpus) -> None:
    with edit(gpus.box.state_path) as state:
        damage.retire_page(state, V100, cause=1, address=0x1000, time=1_700_000_000)
        damage.retire_page(state, V100, cause=0, address=0x2000, time=1_700_000_001)
    found = [gpus.ask(f"[int(p) for p in nvmlDeviceGetRetiredPages(gpu({V100}), {cause})]") for cause in (0, 1)]
    assert found == [[0x2000], [0x1000]]
    assert gpus.ask(f"[p['timestamp'] for p in nvmlDeviceGetRetiredPages_v2(gpu({V100}), 1)]") == [1_700_000_000]
    assert gpus.ask(f"nvmlDeviceGetRetiredPages(gpu({A100}), 1)") == no(NOT_SUPPORTED)


@pytest.mark.parametrize(
    ("index", "change", "call", "answer"),
    [
        (
            A100,
            "nvmlDeviceSetPowerManagementLimit(gpu({i}), 250000)",
            "nvmlDeviceGetEnforcedPowerLimit(gpu({i}))",
            250_000,
        ),
        (A100, "nvmlDeviceSetComputeMode(gpu({i}), 3)", "nvmlDeviceGetComputeMode(gpu({i}))", 3),
        (A100, "nvmlDeviceSetEccMode(gpu({i}), 0)", "nvmlDeviceGetEccMode(gpu({i}))", [1, 0]),
        (A100, "nvmlDeviceSetPersistenceMode(gpu({i}), 1)", "nvmlDeviceGetPersistenceMode(gpu({i}))", 1),
        (A100, "nvmlDeviceSetGpuLockedClocks(gpu({i}), 900, 900)", "nvmlDeviceGetClockInfo(gpu({i}), 1)", 900),
        (A100, "nvmlDeviceSetMemoryLockedClocks(gpu({i}), 810, 810)", "nvmlDeviceGetClockInfo(gpu({i}), 2)", 810),
        (A100, "nvmlDeviceClearEccErrorCounts(gpu({i}), 0)", "nvmlDeviceGetTotalEccErrors(gpu({i}), 1, 0)", 0),
        (A100, "nvmlDeviceClearEccErrorCounts(gpu({i}), 1)", "nvmlDeviceGetTotalEccErrors(gpu({i}), 1, 1)", 0),
    ],
)
def test_setter_is_seen_and_logged(gpus: Gpus, index: int, change: str, call: str, answer: Any) -> None:
    gpus.ecc(A100, location=2, uncorrected=True, count=2)
    before = len(gpus.box.writes)
    assert gpus.ask(change.format(i=index)) is None
    assert gpus.ask(call.format(i=index)) == answer
    written = gpus.box.writes[before:]
    assert [line.split()[:2] for line in written] == [[change.split("(")[0], f"gpu={index}"]]


@pytest.mark.parametrize(
    ("index", "change", "code"),
    [
        (A100, "nvmlDeviceSetPowerManagementLimit(gpu({i}), 99999)", INVALID_ARGUMENT),
        (A100, "nvmlDeviceSetPowerManagementLimit(gpu({i}), 400001)", INVALID_ARGUMENT),
        (A100, "nvmlDeviceSetComputeMode(gpu({i}), 4)", INVALID_ARGUMENT),
        (A100, "nvmlDeviceSetComputeMode(gpu({i}), 1)", NOT_SUPPORTED),
        (A100, "nvmlDeviceSetEccMode(gpu({i}), 2)", INVALID_ARGUMENT),
        (RTX4090, "nvmlDeviceSetEccMode(gpu({i}), 0)", NOT_SUPPORTED),
        (RTX4090, "nvmlDeviceClearEccErrorCounts(gpu({i}), 0)", NOT_SUPPORTED),
        (A100, "nvmlDeviceSetGpuLockedClocks(gpu({i}), 900, 800)", INVALID_ARGUMENT),
        (P100, "nvmlDeviceSetGpuLockedClocks(gpu({i}), 900, 900)", NOT_SUPPORTED),
        (T4, "nvmlDeviceSetMemoryLockedClocks(gpu({i}), 900, 900)", NOT_SUPPORTED),
    ],
)
def test_refused_setter_changes_nothing(gpus: Gpus, index: int, change: str, code: int) -> None:
    before = gpus.box.state_path.read_text()
    assert gpus.ask(change.format(i=index)) == no(code)
    assert gpus.box.state_path.read_text() == before


def test_locked_clocks_are_free_again(gpus: Gpus) -> None:
    gpus.ask(f"nvmlDeviceSetGpuLockedClocks(gpu({A100}), 900, 900)")
    gpus.ask(f"nvmlDeviceResetGpuLockedClocks(gpu({A100}))")
    assert gpus.ask(f"nvmlDeviceGetClockInfo(gpu({A100}), 1)") == 345


def test_supported_clocks_are_those_that_can_be_locked(gpus: Gpus) -> None:
    memory = gpus.ask(f"nvmlDeviceGetSupportedMemoryClocks(gpu({A100}))")
    graphics = gpus.ask(f"nvmlDeviceGetSupportedGraphicsClocks(gpu({A100}), 1215)")
    assert (memory, graphics[0], graphics[-1]) == ([1215], 1410, 345)
    assert gpus.ask(f"nvmlDeviceGetSupportedGraphicsClocks(gpu({A100}), 1)") == no(6)


def test_what_a_gpu_forgets() -> None:
    """nvml.h: limits and modes go with the driver, what waits for a reset is done by it; the board holds the rest."""
    settings = {"power_limit", "compute_mode", "clock_low", "clock_high", "memory_clock_low", "memory_clock_high"}
    assert settings | {"remap_pending", "retired_pending", "recovery_action", "pcie_replay"} == LOST_WITH_RESET


def _damaged(state: State) -> None:
    damage.set_health(state, A100, dict.fromkeys(KEYS, 1))
    damage.set_health(state, A100, {"ecc": 1, "ecc_pending": 0})
    damage.add_ecc(state, A100, location=2, uncorrected=True, count=3)
    damage.add_ecc(state, A100, location=7, uncorrected=False, count=0)


def _expected() -> dict[str, str]:
    kept = {key: "1" for key in KEYS if key not in LOST_WITH_RESET}
    return {"gpu": str(A100), **kept, "ecc": "0", "ecc_pending": "0"}


def test_reset_takes_away_what_unloading_the_driver_takes_away(tmp_path: Path) -> None:
    """The C library and driver.forget follow the same rules."""
    box = Sandbox(tmp_path, ["A100-40"])
    with edit(box.state_path) as state:
        _damaged(state)
    box.nvml("nvmlShutdown()\nresult = 0")
    assert box.smi("--gpu-reset", "-i", "0").returncode == 0
    by_reset = box.state
    state = read(box.state_path)
    _damaged(state)
    forget(state)
    assert by_reset.health == state.health == [_expected()]
    left = [{"gpu": "0", "location": "2", "uncorrected": "1", "volatile": "0", "aggregate": "3"}]
    assert by_reset.ecc == left
    assert [{**row, "aggregate": "3"} for row in state.ecc] == left
