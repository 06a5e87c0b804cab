# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the simulated nvidia-smi says and returns when something is wrong, read by the readers of the collection."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.nvidia_smi_failure import read_smi_failure
from simulator.build import artifact_dir
from simulator.sandbox import DRIVER, Sandbox
from simulator.state import edit

NEWER = "595.71.05"
LOST = "GPU is lost.  Reboot the system to recover this GPU"
Setup = Callable[[Sandbox], None]


def _nothing(_box: Sandbox) -> None:
    pass


def _without_library(box: Sandbox) -> None:
    box.environment["LD_LIBRARY_PATH"] = ""


def _driver_of_another_release(box: Sandbox) -> None:
    """The library tells its version by its file name."""
    folder = box.folder / "library"
    folder.mkdir()
    shutil.copy(artifact_dir() / "lib/libnvidia-ml.so.1", folder / f"libnvidia-ml.so.{DRIVER}")
    (folder / "libnvidia-ml.so.1").symlink_to(f"libnvidia-ml.so.{DRIVER}")
    box.environment["LD_LIBRARY_PATH"] = str(folder)
    with edit(box.state_path) as state:
        state.driver = ("570.195.03", "open")


def _lost(box: Sandbox) -> None:
    with edit(box.state_path) as state:
        state.gpus[0]["lost"] = "1"


def _all_lost(box: Sandbox) -> None:
    with edit(box.state_path) as state:
        for gpu in state.gpus:
            gpu["lost"] = "1"


def _fault(function: str, code: int) -> Setup:
    return lambda box: box.fault(function, code)


def _mig(*commands: str) -> Setup:
    def prepare(box: Sandbox) -> None:
        for command in ("-mig 1", *commands):
            assert box.smi(*command.split()).returncode == 0

    return prepare


def _instance_in_use(box: Sandbox) -> None:
    _mig("mig -i 0 -cgi 19 -C")(box)
    box.process(gpu=0, gi=int(box.state.instances[0]["id"]), ci=0)


# machine, driver, what is done before, arguments, exit code, kind of the message
FAILURES: list[tuple[str, str, Setup, str, int, str | None]] = [
    ("a100x1", "", _nothing, "", 9, "driver_not_loaded"),
    ("a100x1", "", _nothing, "-L", 9, "driver_not_loaded"),
    ("a100x1", "", _nothing, "mig -lgi", 9, "driver_not_loaded"),
    ("a100x1", "", _nothing, "topo -m", 9, "driver_not_loaded"),
    ("a100x1", DRIVER, _without_library, "-q", 12, "library_missing"),
    ("a100x1", DRIVER, _driver_of_another_release, "", 18, "driver_library_mismatch"),
    ("a100x1", DRIVER, _driver_of_another_release, "--query-gpu=name --format=csv", 18, "driver_library_mismatch"),
    ("p100x1", NEWER, _nothing, "", 6, "no_devices"),
    ("a100x1", DRIVER, _nothing, "-i 1 -q", 6, "no_devices"),
    ("a100x1", DRIVER, _nothing, "-i GPU-0", 6, "no_devices"),
    ("a100x2", DRIVER, _lost, "", 15, "gpu_lost"),
    ("a100x2", DRIVER, _lost, "-L", 15, "gpu_lost"),
    ("a100x2", DRIVER, _lost, "--query-gpu=name --format=csv", 15, "gpu_lost"),
    ("a100x2", DRIVER, _lost, "-q -i 0", 15, "gpu_lost"),
    ("a100x2", NEWER, _lost, "-q -i 0", 15, "gpu_lost"),
    ("a100x2", NEWER, _all_lost, "-L", 15, "gpu_lost"),
    ("a100x2", DRIVER, _fault("nvmlDeviceGetHandleByIndex", 16), "", 16, "gpu_requires_reset"),
    ("a100x1", DRIVER, _fault("nvmlInit", 4), "", 4, "no_permission"),
    ("a100x1", DRIVER, _fault("nvmlInit", 999), "-L", 255, "nvml_unknown_error"),
    ("a100x1", DRIVER, _fault("nvmlInit", 17), "-L", 17, "os_blocked"),
    ("a100x1", DRIVER, _fault("nvmlDeviceSetMigMode", 4), "-mig 1", 4, "no_permission"),
    ("a100x1", DRIVER, _fault("nvmlDeviceSetPersistenceMode", 4), "-pm 1", 4, "no_permission"),
    ("a100x1", DRIVER, _fault("nvmlDeviceSetEccMode", 4), "-e 0", 4, "no_permission"),
    ("a100x1", DRIVER, _fault("nvmlDeviceSetComputeMode", 4), "-c 3", 4, "no_permission"),
    ("a100x1", DRIVER, _fault("nvmlDeviceSetPowerManagementLimit", 4), "-pl 300", 4, None),
    ("a100x1", DRIVER, _nothing, "-pl 9000", 2, None),
    ("a100x1", DRIVER, _nothing, "mig -lgi", 6, None),
    ("t4x1", DRIVER, _nothing, "mig -lgip", 6, "no_mig_devices"),
    ("a100x1", DRIVER, _mig(), "mig -lgi", 6, "no_instances"),
    ("a100x1", DRIVER, _mig("mig -cgi 19"), "mig -lci", 6, "no_instances"),
    ("a100x1", DRIVER, _mig("mig -cgi 0"), "mig -cgi 19", 23, "insufficient_resources"),
    ("a100x1", DRIVER, _mig("mig -cgi 19 -C"), "mig -dgi", 19, "in_use"),
    ("a100x1", DRIVER, _instance_in_use, "mig -dci", 19, "in_use"),
    ("a100x1", DRIVER, _mig(), "mig -cgi 99", 2, None),
    ("a100x1", DRIVER, _mig(), "mig -cgi 19:x", 2, None),
    ("a100x1", DRIVER, _nothing, "--query-gpu=name,gpu_colour --format=csv", 2, "invalid_argument"),
    ("a100x1", DRIVER, _nothing, "--query-gpu=name", 2, None),
    ("a100x1", DRIVER, _nothing, "-L -q", 2, "invalid_argument"),
    ("a100x1", DRIVER, _nothing, "-q -d COLOUR", 2, "invalid_argument"),
    ("a100x1", DRIVER, _nothing, "-mig 2", 2, "invalid_argument"),
    ("a100x1", DRIVER, _nothing, "--colour", 2, None),
    ("a100x1", DRIVER, _nothing, "-i", 2, None),
]


@pytest.mark.parametrize(("machine", "driver", "prepare", "arguments", "code", "kind"), FAILURES)
def test_exit_code_and_message(
    tmp_path: Path, machine: str, driver: str, prepare: Setup, arguments: str, code: int, kind: str | None
) -> None:
    box = Sandbox(tmp_path, machine, driver=driver)
    prepare(box)
    done = box.smi(*arguments.split())
    failure = read_smi_failure(done.stdout)
    assert (done.returncode, failure and failure["kind"], done.stderr) == (code, kind, "")
    assert failure is None or failure["rc"] in (None, code)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--query-gpu=name,gpu_colour --format=csv", 'Field "gpu_colour" is not a valid field to query.\n\n'),
        ("--colour", "ERROR: Option --colour is not recognized. Please run 'nvidia-smi -h' for help.\n"),
        ("-i", "ERROR: Option -i is missing its value. Please run 'nvidia-smi -h' for help.\n"),
        ("-L -q", "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n"),
        ("--query-gpu=name", "\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n"),
    ],
)
def test_texts_of_wrong_command_lines(tmp_path: Path, arguments: str, text: str) -> None:
    assert Sandbox(tmp_path, "a100x1").smi(*arguments.split()).stdout == text


def test_version_of_the_library_has_two_parts_when_it_does_not_match(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    _driver_of_another_release(box)
    assert box.smi().stdout == (
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.172\n"
    )


def test_other_gpus_are_shown_beside_a_lost_one_since_580(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2", driver=NEWER)
    _lost(box)
    done = box.smi("-L")
    message, gpu = done.stdout.splitlines()
    assert message == f"Unable to determine the device handle for GPU0: 0000:41:00.0: {LOST}"
    assert (done.returncode, gpu.split(":")[0]) == (0, "GPU 1")


def test_a_lost_gpu_hides_the_others_before_580(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2")
    _lost(box)
    assert box.smi("-L").stdout == f"Unable to determine the device handle for GPU0000:41:00.0: {LOST}\n"


@pytest.mark.parametrize(
    ("function", "code", "cell"),
    [
        ("nvmlDeviceGetTemperature", 999, "[Unknown Error]"),
        ("nvmlDeviceGetTemperature", 16, "[GPU requires reset]"),
        ("nvmlDeviceGetTemperature", 3, "[N/A]"),
        ("nvmlDeviceGetTemperature", 4, "[Insufficient Permissions]"),
    ],
)
def test_a_value_that_nvml_refuses_shows_why(tmp_path: Path, function: str, code: int, cell: str) -> None:
    box = Sandbox(tmp_path, "a100x2")
    box.fault(function, code, gpu=1)
    done = box.smi("--query-gpu=index,temperature.gpu", "--format=csv,noheader")
    assert (done.returncode, done.stdout.splitlines()[1]) == (0, f"1, {cell}")


def test_table_marks_what_nvml_refuses(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2")
    box.fault("nvmlDeviceGetPowerUsage", 999, gpu=1)
    rows = [line for line in box.smi().stdout.splitlines() if "W /" in line or "ERR!" in line]
    assert ["ERR!" in row for row in rows] == [False, True]


@pytest.mark.parametrize("arguments", ["dmon", "vgpu", "-lgc 1200", "nvlink -re", "topo -c 0", "-B"])
def test_what_is_not_simulated_says_so(tmp_path: Path, arguments: str) -> None:
    done = Sandbox(tmp_path, "a100x1").smi(*arguments.split())
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("nvidia-smi (simulated): ")


@pytest.mark.parametrize("arguments", ["-h", "--help", "mig -h", "topo -h", "nvlink -h"])
def test_help_needs_no_driver(tmp_path: Path, arguments: str) -> None:
    box = Sandbox(tmp_path, "a100x1", driver="")
    _without_library(box)
    done = box.smi(*arguments.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 5
