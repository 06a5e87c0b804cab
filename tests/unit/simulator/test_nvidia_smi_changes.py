# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the simulated nvidia-smi sets: its texts, and that NVML tells the new value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simulator.sandbox import DRIVER, Sandbox
from simulator.state import edit

T4, A100 = "00000000:41:00.0", "00000000:51:00.0"
MOVE_ON, DONE = "Treating as warning and moving on.", "All done."

# arguments, lines that are printed, expression of pynvml for the A100, its value afterwards
CHANGES: list[tuple[str, list[str], str, Any]] = [
    (
        "-pm 1",
        [f"Enabled persistence mode for GPU {T4}.", f"Enabled persistence mode for GPU {A100}.", DONE],
        "nvmlDeviceGetPersistenceMode(gpu(1))",
        1,
    ),
    (
        "--persistence-mode=ENABLED -i 1",
        [f"Enabled persistence mode for GPU {A100}.", DONE],
        "nvmlDeviceGetPersistenceMode(gpu(1))",
        1,
    ),
    (
        "-pm 0 -i 1",
        [f"Persistence mode is already Disabled for GPU {A100}.", DONE],
        "nvmlDeviceGetPersistenceMode(gpu(1))",
        0,
    ),
    (
        "-e 0 -i 1",
        [f"Disabled ECC support for GPU {A100}.", DONE, "Reboot required."],
        "nvmlDeviceGetEccMode(gpu(1))",
        [1, 0],
    ),
    ("-e 1 -i 1", [f"ECC support is already Enabled for GPU {A100}.", DONE], "nvmlDeviceGetEccMode(gpu(1))", [1, 1]),
    (
        "-c EXCLUSIVE_PROCESS -i 1",
        [f"Set compute mode to EXCLUSIVE_PROCESS for GPU {A100}.", DONE],
        "nvmlDeviceGetComputeMode(gpu(1))",
        3,
    ),
    (
        "-c 0 -i 1",
        [f"Compute mode is already set to DEFAULT for GPU {A100}.", DONE],
        "nvmlDeviceGetComputeMode(gpu(1))",
        0,
    ),
    (
        "-mig 1",
        [
            f"Unable to enable MIG Mode for GPU {T4}: Not Supported",
            MOVE_ON,
            f"Enabled MIG Mode for GPU {A100}",
            DONE,
        ],
        "nvmlDeviceGetMigMode(gpu(1))",
        [1, 1],
    ),
    ("-mig DISABLED -i 1", [f"Disabled MIG Mode for GPU {A100}", DONE], "nvmlDeviceGetMigMode(gpu(1))", [0, 0]),
]


def _lines(text: str) -> list[str]:
    """Without the remark about persistence mode, which has its own test."""
    return [line for line in text.splitlines() if line and not line.startswith("Warning: persistence mode")]


@pytest.mark.parametrize(("arguments", "lines", "value", "after"), CHANGES)
def test_change(tmp_path: Path, arguments: str, lines: list[str], value: str, after: Any) -> None:
    box = Sandbox(tmp_path, "t4-a100")
    done = box.smi(*arguments.split())
    assert (done.returncode, _lines(done.stdout), done.stderr) == (0, lines, "")
    assert box.nvml(f"result = {value}") == after


def test_power_limit(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    assert box.smi("-pm", "1").returncode == 0
    done = box.smi("-pl", "250")
    assert done.stdout == f"Power limit for GPU {T4} was set to 250.00 W from 400.00 W.\n{DONE}\n"
    assert box.nvml("result = nvmlDeviceGetPowerManagementLimit(gpu())") == 250000
    assert box.smi("--query-gpu=power.limit", "--format=csv,noheader").stdout == "250.00 W\n"


def test_a_power_limit_beyond_the_range_changes_nothing(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    done = box.smi("-pl", "500")
    assert done.returncode == 2
    assert _lines(done.stdout) == [
        "Provided power limit 500.00 W is not a valid power limit which should be between 100.00 W and 400.00 W for "
        f"GPU {T4}",
        "Terminating early due to previous errors.",
    ]
    assert box.nvml("result = nvmlDeviceGetPowerManagementLimit(gpu())") == 400000


def test_changes_warn_of_persistence_mode_that_is_off(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    assert f"Warning: persistence mode is disabled on device {T4}." in box.smi("-mig", "1").stdout
    assert box.smi("-pm", "1").returncode == 0
    assert "Warning" not in box.smi("-mig", "0").stdout


@pytest.mark.parametrize(("driver", "word"), [(DRIVER, ""), ("580.95.05", "Legacy "), ("610.43.02", "Legacy ")])
def test_persistence_without_the_daemon_is_called_legacy_since_580(tmp_path: Path, driver: str, word: str) -> None:
    box = Sandbox(tmp_path, "a100x1", driver=driver)
    assert box.smi("-pm", "1").stdout == f"Enabled {word}persistence mode for GPU {T4}.\n{DONE}\n"


def test_ecc_takes_effect_with_the_reset(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    query = ("--query-gpu=ecc.mode.current,ecc.mode.pending", "--format=csv,noheader")
    assert box.smi("-e", "0").returncode == 0
    assert box.smi(*query).stdout == "Enabled, Disabled\n"
    assert box.smi("-r").stdout == f"GPU {T4} was successfully reset.\n{DONE}\n"
    assert box.smi(*query).stdout == "Disabled, Disabled\n"
    assert next(line for line in box.smi().stdout.splitlines() if "|   0  " in line).endswith(" Off |")


def test_clearing_ecc_errors(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    with edit(box.state_path) as state:
        counts = {"location": "2", "uncorrected": "1", "volatile": "4", "aggregate": "9"}
        state.ecc.append({"gpu": "0", **counts})
    query = "--query-gpu=ecc.errors.uncorrected.volatile.total,ecc.errors.uncorrected.aggregate.total"
    assert box.smi(query, "--format=csv,noheader").stdout == "4, 9\n"
    assert box.smi("-p", "0").stdout == f"Reset volatile ECC errors to zero for GPU {T4}.\n{DONE}\n"
    assert box.smi(query, "--format=csv,noheader").stdout == "0, 9\n"


@pytest.mark.parametrize(
    ("values", "reason"),
    [({"client": "1"}, "In use by another client"), ({"passthrough": "1"}, "GPU requires reset")],
)
def test_mig_mode_that_waits(tmp_path: Path, values: dict[str, str], reason: str) -> None:
    box = Sandbox(tmp_path, "a100x1")
    with edit(box.state_path) as state:
        state.gpus[0].update(values)
    done = box.smi("-mig", "1")
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[0], lines[-1]) == (
        0,
        f"Warning: MIG mode is in pending enable state for GPU {T4}:{reason}",
        DONE,
    )
    query = ("--query-gpu=mig.mode.current,mig.mode.pending", "--format=csv,noheader")
    assert box.smi(*query).stdout == "Disabled, Enabled\n"
    assert "Disabled*" in box.smi().stdout


def test_a_warning_can_be_an_error(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "t4-a100")
    assert box.smi("-mig", "1", "--error-on-warning").returncode == 255


@pytest.mark.parametrize("fault", [("nvmlDeviceSetPersistenceMode", "-pm 1"), ("nvmlDeviceSetMigMode", "-mig 1")])
def test_the_first_failure_ends_the_run(tmp_path: Path, fault: tuple[str, str]) -> None:
    box = Sandbox(tmp_path, "a100x2")
    box.fault(fault[0], 999, gpu=0)
    done = box.smi(*fault[1].split())
    assert done.returncode == 255
    assert done.stdout.splitlines()[-1] == "Terminating early due to previous errors."
    assert [gpu["persistence"] for gpu in box.state.gpus] + [gpu["mig"] for gpu in box.state.gpus] == ["0"] * 4
