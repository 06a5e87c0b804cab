# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `simhw` does to GPUs, and how the kernel log, NVML's events and the PCI tree tell it."""

from __future__ import annotations

import contextlib
import io
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from simulator import cli, incident, kernel_log
from simulator.sandbox import Sandbox
from simulator.state import edit
from simulator.xids import XIDS

TIMEOUT, GPU_IS_LOST, INVALID_ARGUMENT, NOT_SUPPORTED = 10, 15, 2, 3
WATCH = """
s = nvmlEventSetCreate()
for index in range(nvmlDeviceGetCount()):
    nvmlDeviceRegisterEvents(gpu(index), nvmlDeviceGetSupportedEventTypes(gpu(index)), s)

def wait(ms=0):
    try:
        e = nvmlEventSetWait_v2(s, ms)
    except NVMLError as error:
        return error.value
    return [nvmlDeviceGetMinorNumber(e.device), e.eventType, e.eventData]
"""


def machine(folder: Path, *models: str, driver: str = "580.95.05") -> Sandbox:
    box = Sandbox(folder, models, driver=driver)
    box.place.kernel_log.touch()
    return box


def simhw(box: Sandbox, *words: str) -> tuple[int, str]:
    """Exit code and messages of the command, run here: it is a process of its own in test_command."""
    said = io.StringIO()
    with patch.dict("os.environ", box.environment), contextlib.redirect_stderr(said):
        return cli.main(list(words)), said.getvalue()


def done(result: tuple[int, str]) -> None:
    assert result == (0, "")


def log_of(box: Sandbox) -> list[str]:
    return [line.split(";", 1)[1] for line in box.place.kernel_log.read_text().splitlines()]


def test_command(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40")
    good, bad = box.simhw("status"), box.simhw("lost", "3")
    assert (good.returncode, good.stdout, good.stderr) == (0, box.state_path.read_text(), "")
    assert (bad.returncode, bad.stderr) == (2, "simhw: GPU 3 is not there: device minors here are 0\n")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["0", "79"], "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
        (
            ["1", "31", "--pid", "77", "--process", "ray::Worker", "--text", "MMU Fault"],
            "NVRM: Xid (PCI:0000:51:00): 31, pid=77, name=ray::Worker, MMU Fault",
        ),
        (
            ["1", "154"],
            "NVRM: Xid (PCI:0000:51:00): 154, pid='<unknown>', name=<unknown>, "
            "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        ),
    ],
)
def test_xid_is_in_the_kernel_log(tmp_path: Path, words: list[str], line: str) -> None:
    box = machine(tmp_path, "A100-40", "A100-40")
    done(simhw(box, "xid", *words))
    assert log_of(box) == [line]


@pytest.mark.parametrize(
    ("model", "number", "call", "answer"),
    [
        ("A100-40", 48, "nvmlDeviceGetTotalEccErrors(gpu(), 1, 0)", 1),
        ("A100-40", 63, "list(nvmlDeviceGetRemappedRows(gpu()))", [0, 1, 1, 0]),
        ("A100-40", 64, "list(nvmlDeviceGetRemappedRows(gpu()))", [0, 0, 0, 1]),
        ("T4", 63, "[nvmlDeviceGetRetiredPagesPendingStatus(gpu()), len(nvmlDeviceGetRetiredPages(gpu(), 1))]", [1, 1]),
        ("A100-40", 95, "nvmlDeviceGetMemoryErrorCounter(gpu(), 1, 0, 7)", 1),
        ("A100-40", 119, "nvmlDeviceGetFieldValues(gpu(), [230])[0].value.uiVal", 1),
        ("A100-40", 13, "nvmlDeviceGetFieldValues(gpu(), [230])[0].value.uiVal", 0),
    ],
)
def test_xid_shows_in_the_gpu(tmp_path: Path, model: str, number: int, call: str, answer: Any) -> None:
    box = machine(tmp_path, model)
    done(simhw(box, "xid", "0", str(number)))
    assert box.nvml(f"result = {call}") == answer


def test_every_known_xid_can_happen(tmp_path: Path) -> None:
    box = machine(tmp_path, "T4", "H100-80")
    with edit(box.state_path) as state:
        for gpu in state.gpus:
            gpu["nvlink"] = "switch"
    for number in XIDS:
        incident.xid(box.place, 1, number, link=2)
    said = log_of(box)
    assert len(said) == len(XIDS)
    assert not [line for line in said if "{" in line or "}" in line]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["xid", "7", "79"], "GPU 7 is not there: device minors here are 0"),
        (["xid", "0", "999"], "Xid 999 has no usual text: give one, or choose one of 13, 31"),
        (["health", "0", "heat=1"], "heat: no value of a GPU; there are temperature"),
        (["health", "0", "temperature=hot"], "temperature: write KEY=NUMBER, or KEY= for the usual value"),
        (["fault", "nvmlDeviceGetNames", "3"], "has no function 'nvmlDeviceGetNames' that can fail: nvmlDeviceGetName"),
        (["fault", "nvmlInit"], "a fault needs an NVML return code"),
        (["fault", "nvmlInit", "3", "--gpu", "4"], "GPU 4 is not there"),
        (["link", "0", "1", "down"], "GPU 0 has no NVLink 1: its links are none"),
        (["fabric", "0", "completed"], "GPU 0 (NVIDIA A100-SXM4-40GB) does not say whether it joined a fabric"),
        (["retire", "0", "0x1000"], "remaps rows and retires no pages"),
        (["gpu", "3", "client", "1"], "GPU 3 is not there"),
        (["lost", "3"], "GPU 3 is not there"),
    ],
)
def test_what_cannot_be_is_said(tmp_path: Path, words: list[str], message: str) -> None:
    box = machine(tmp_path, "A100-40")
    before = box.state_path.read_text()
    code, said = simhw(box, *words)
    assert code == 2
    assert message in said
    assert (box.state_path.read_text(), log_of(box)) == (before, [])


@pytest.mark.parametrize(
    ("words", "call", "answer"),
    [
        (["health", "0", "temperature=91", "pcie_width=8"], "nvmlDeviceGetTemperature(gpu(), 0)", 91),
        (["ecc", "0", "corrected", "12", "--location", "sram"], "nvmlDeviceGetTotalEccErrors(gpu(), 0, 0)", 12),
        (["ecc", "0", "uncorrected", "--before"], "nvmlDeviceGetTotalEccErrors(gpu(), 1, 0)", 0),
        (
            ["throttle", "0", "hw_slowdown", "hw_thermal_slowdown"],
            "nvmlDeviceGetCurrentClocksEventReasons(gpu())",
            0x48,
        ),
        (["fault", "nvmlDeviceGetMemoryInfo_v2", "999"], "number(nvmlDeviceGetMemoryInfo, gpu())", 999),
        (["fault", "nvmlDeviceCreateGpuInstanceWithPlacement", "19"], "number(make, 19, 0)", 19),
        (
            ["process", "add", "--pid", "9", "--type", "graphics"],
            "len(nvmlDeviceGetGraphicsRunningProcesses(gpu()))",
            1,
        ),
    ],
)
def test_verb(tmp_path: Path, words: list[str], call: str, answer: Any) -> None:
    box = machine(tmp_path, "A100-40")
    done(simhw(box, *words))
    assert box.nvml(f"result = {call}") == answer


def test_usual_value_comes_back(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40")
    done(simhw(box, "health", "0", "temperature=91"))
    done(simhw(box, "health", "0", "temperature="))
    assert box.state.health == []
    done(simhw(box, "throttle", "0", "sync_boost"))
    done(simhw(box, "throttle", "0"))
    assert box.state.health == []


def pcie_link(tmp_path: Path, bus: str) -> list[str]:
    folder = tmp_path / "sys/bus/pci/devices" / bus
    return [
        (folder / f"{which}_link_{what}").read_text() for which in ("current", "max") for what in ("speed", "width")
    ]


def test_slow_pcie_link_shows_in_sysfs(tmp_path: Path) -> None:
    box = machine(tmp_path, "H100-80")
    usual = ["32.0 GT/s PCIe\n", "16\n"]
    assert pcie_link(tmp_path, "0000:41:00.0") == usual * 2
    done(simhw(box, "health", "0", "pcie_width=8", "pcie_generation=1"))
    assert pcie_link(tmp_path, "0000:41:00.0") == ["2.5 GT/s PCIe\n", "8\n", *usual]
    done(simhw(box, "heal", "0"))
    assert pcie_link(tmp_path, "0000:41:00.0") == usual * 2
    done(simhw(box, "gpu", "0", "lost", "1"))
    assert pcie_link(tmp_path, "0000:41:00.0") == ["Unknown\n", "63\n", *usual]


def test_lost_gpu_answers_with_ones(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40", "A100-40")
    space = tmp_path / "sys/bus/pci/devices/0000:51:00.0/config"
    whole = space.read_bytes()
    done(simhw(box, "lost", "1", "--log", "plain"))
    assert space.read_bytes() == b"\xff" * 256
    assert pcie_link(tmp_path, "0000:51:00.0")[:2] == ["Unknown\n", "63\n"]
    assert log_of(box) == [
        "NVRM: The NVIDIA GPU 0000:51:00.0",
        "NVRM: (PCI ID: 10de:20b0) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    ]
    assert box.nvml("result = [nvmlDeviceGetCount(), number(gpu, 0), number(gpu, 1)]") == [2, 0, GPU_IS_LOST]
    done(simhw(box, "heal", "1"))
    assert space.read_bytes() == whole
    assert box.nvml("result = number(gpu, 1)") == 0


def test_heal_leaves_settings_and_layout(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40", "A100-40")
    box.nvml("nvmlDeviceSetMigMode(gpu(), 1); make(19); result = 0")
    before = box.state
    for words in (["xid", "0", "48"], ["xid", "0", "79"], ["health", "1", "power=1"], ["fault", "nvmlInit", "999"]):
        done(simhw(box, *words))
    done(simhw(box, "heal"))
    assert box.state == before


def test_event_reaches_the_set(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40", "H100-80")
    done(simhw(box, "xid", "0", "13"))  # before anybody listens
    with box.session() as session:
        session.ask(WATCH)
        assert session.value("wait()") == TIMEOUT
        done(simhw(box, "xid", "1", "48"))
        assert [session.value("wait()") for _time in range(3)] == [[1, 8, 48], [1, 2, 0], TIMEOUT]


def test_set_sees_nothing_from_before_a_gpu_was_added(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40")
    with box.session() as session:
        session.ask("s = nvmlEventSetCreate()")
        done(simhw(box, "xid", "0", "13"))
        session.ask("nvmlDeviceRegisterEvents(gpu(0), 8, s)")
        done(simhw(box, "xid", "0", "31"))
        assert [session.value("nvmlEventSetWait_v2(s, 0).eventData"), session.value("nvmlEventSetWait_v2(s, 0)")] == [
            31,
            {"code": TIMEOUT},
        ]


def test_waiting_ends_when_the_event_comes(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40")
    with box.session() as session:
        session.ask(
            f"{WATCH}import threading\nfound = []\nt = threading.Thread(target=lambda: found.append(wait(60000)))"
        )
        session.ask("t.start()")
        time.sleep(0.2)
        done(simhw(box, "xid", "0", "45"))
        session.ask("t.join(20)")
        assert session.value("found") == [[0, 8, 45]]


def test_lost_gpu_of_a_set_ends_the_wait_after_its_event(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40", "A100-40")
    with box.session() as session:
        session.ask(WATCH.replace("[nvmlDeviceGetMinorNumber(e.device), e.eventType", "[e.eventType"))
        done(simhw(box, "lost", "1"))
        assert [session.value("wait(60000)") for _time in range(2)] == [[8, 79], GPU_IS_LOST]


def test_sets_see_only_what_they_asked_for(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40", "A100-40", "RTX4090")
    with box.session() as session:
        session.ask("a, b = nvmlEventSetCreate(), nvmlEventSetCreate()")
        session.ask("nvmlDeviceRegisterEvents(gpu(0), 2, a); nvmlDeviceRegisterEvents(gpu(1), 8, b)")
        for minor in ("0", "1"):
            done(simhw(box, "xid", minor, "48"))
        ask = "[nvmlEventSetWait_v2({s}, 0).eventType, number(nvmlEventSetWait_v2, {s}, 0)]"
        assert [session.value(ask.format(s=name)) for name in "ab"] == [[2, TIMEOUT], [8, TIMEOUT]]
        refused = "[number(nvmlDeviceRegisterEvents, gpu({i}), {types}, a)]"
        assert session.value(refused.format(i=0, types=1 << 40)) == [INVALID_ARGUMENT]
        assert session.value(refused.format(i=2, types=2)) == [NOT_SUPPORTED]  # a board without ECC
        session.ask("nvmlEventSetFree(a)")
        freed = "[number(nvmlEventSetFree, a), number(nvmlEventSetWait_v2, a, 0)]"
        assert session.value(freed) == [INVALID_ARGUMENT, INVALID_ARGUMENT]


def test_mig_changes_are_events(tmp_path: Path) -> None:
    box = machine(tmp_path, "H100-80")
    with box.session() as session:
        session.ask(WATCH)
        session.ask("nvmlDeviceSetMigMode(gpu(), 1)\ngi = make(19)\nnvmlGpuInstanceDestroy(gi)")
        assert [session.value("wait()") for _time in range(4)] == [[0, 0x100, 0]] * 3 + [TIMEOUT]


def test_slow_call_holds_nobody_up(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40", "A100-40")
    done(simhw(box, "fault", "nvmlDeviceGetName", "0", "--gpu", "1", "--delay", "60000"))
    with box.start("slow = gpu(1)\nprint('asks', flush=True)\nnvmlDeviceGetName(slow)") as slow:
        assert slow.stdout is not None
        assert slow.stdout.readline() == "asks\n"
        assert box.nvml("result = nvmlDeviceGetName(gpu(0))") == "NVIDIA A100-SXM4-40GB"
        assert slow.poll() is None
        slow.kill()


def test_delayed_call_still_succeeds(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40")
    done(simhw(box, "fault", "nvmlDeviceGetName", "0", "--delay", "50", "--count", "1"))
    code = "import time\nt = time.monotonic(); name = nvmlDeviceGetName(gpu())"
    assert box.nvml(f"{code}\nresult = [name, time.monotonic() - t > 0.05]") == ["NVIDIA A100-SXM4-40GB", True]


def test_log_levels_are_those_of_the_kernel(tmp_path: Path) -> None:
    box = machine(tmp_path, "A100-40")
    done(simhw(box, "xid", "0", "13"))
    assert box.place.kernel_log.read_text().startswith(f"{kernel_log.ERROR},0,")
