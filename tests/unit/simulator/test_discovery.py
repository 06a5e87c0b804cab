# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated NVML, seen by nvidia-ml-py: what a machine has, and what fails."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pynvml
import pytest

from simulator.build import artifact_dir, defined_symbols, wanted_symbols
from simulator.models import MODELS, Model
from simulator.sandbox import DRIVER, Sandbox
from simulator.state import edit

NOT_SUPPORTED, DRIVER_NOT_LOADED, GPU_IS_LOST, MISMATCH = 3, 9, 15, 18


def test_every_symbol_of_the_list_is_there() -> None:
    assert set(wanted_symbols()) - defined_symbols(artifact_dir() / "lib/libnvidia-ml.so.1") == set()


def test_list_has_every_symbol_of_nvidia_ml_py() -> None:
    text = Path(pynvml.__file__).read_text()
    names = {part.split('"')[0] for part in text.split('_nvmlGetFunctionPointer("')[1:]}
    assert len(names) > 300
    assert names - set(wanted_symbols()) == set()


def test_everything_runs_on_the_glibc_of_debian_12() -> None:
    files = [str(path) for folder in ("lib", "bin") for path in (artifact_dir() / folder).iterdir()]
    text = subprocess.run(["objdump", "--dynamic-syms", *files], capture_output=True, text=True, check=True).stdout
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+\.\d+)", text)}
    assert max(versions) <= (2, 36)


@pytest.mark.parametrize(
    ("profile", "names"),
    [
        ("a100x2", ["NVIDIA A100-SXM4-40GB"] * 2),
        ("h100x1", ["NVIDIA H100 80GB HBM3"]),
        ("t4-a100", ["Tesla T4", "NVIDIA A100-SXM4-40GB"]),
        ("none", []),
    ],
)
def test_gpus_of_a_profile(tmp_path: Path, profile: str, names: list[str]) -> None:
    box = Sandbox(tmp_path, profile)
    with edit(box.state_path) as state:
        state.driver = (DRIVER, "open")
    (tmp_path / "dev/nvidiactl").touch()
    assert box.nvml("result = [nvmlDeviceGetName(gpu(i)) for i in range(nvmlDeviceGetCount())]") == names


@pytest.mark.parametrize(("branch", "architectures"), [(580, range(4, 10)), (580, range(6, 99)), (620, range(6, 99))])
def test_numbers_of_the_models(tmp_path: Path, branch: int, architectures: range) -> None:
    """All boards that a driver of the branch drives in one machine: the proprietary modules, or the open ones."""
    driver = f"{branch}.999"
    boards = {key: model for key, model in MODELS.items() if model.architecture in architectures}
    keys = [key for key, model in boards.items() if (model.last_branch or 620) >= branch]
    found = Sandbox(tmp_path, keys, driver=driver).nvml(
        "def row(d):\n"
        "    p, now = nvmlDeviceGetPciInfo(d), nvmlDeviceGetMemoryInfo\n"
        "    totals = [now(d), now(d, nvmlMemory_v2)]\n"
        "    kind = [list(nvmlDeviceGetCudaComputeCapability(d)), nvmlDeviceGetArchitecture(d)]\n"
        "    limit = nvmlDeviceGetPowerManagementDefaultLimit(d)\n"
        "    return [p.pciDeviceId, p.pciSubSystemId, *(t.total >> 20 for t in totals), *kind, limit]\n"
        "result = [row(gpu(i)) for i in range(nvmlDeviceGetCount())]"
    )
    assert found == [_numbers(MODELS[key]) for key in keys]


def _numbers(model: Model) -> list[Any]:
    kind = [[*model.compute], model.architecture, model.power[2] * 1000]
    return [model.device_id << 16 | 0x10DE, model.subsystem, model.memory_mib, model.memory_mib, *kind]


def test_handles_by_uuid_and_bus_are_the_same_gpu(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2")
    uuid = box.state.gpus[1]["uuid"]
    code = f"found = [nvmlDeviceGetHandleByUUID('{uuid}'), nvmlDeviceGetHandleByPciBusId('0000:51:00.0')]\n"
    assert box.nvml(f"{code}result = [nvmlDeviceGetIndex(d) for d in found]") == [1, 1]


def test_gpu_without_device_file_is_invisible(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2")
    (tmp_path / "dev/nvidia0").unlink()
    assert box.nvml("result = [nvmlDeviceGetCount(), nvmlDeviceGetMinorNumber(gpu(0))]") == [1, 1]


def test_versions_come_from_the_loaded_module(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "h100x1", driver="595.71.05")
    calls = "nvmlSystemGetDriverVersion(), nvmlSystemGetNVMLVersion(), nvmlSystemGetCudaDriverVersion()"
    assert box.nvml(f"result = [{calls}]") == ["595.71.05", "13.595.71.05", 13020]


@pytest.mark.parametrize(
    ("driver", "library", "code"),
    [("", "", DRIVER_NOT_LOADED), (DRIVER, "595.71.05", MISMATCH), (DRIVER, DRIVER, 0)],
)
def test_library_and_module_have_to_agree(tmp_path: Path, driver: str, library: str, code: int) -> None:
    box = Sandbox(tmp_path / "machine", "h100x1", driver=driver)
    if library:
        folder = tmp_path / "lib"
        folder.mkdir()
        shutil.copy(artifact_dir() / "lib/libnvidia-ml.so.1", folder / f"libnvidia-ml.so.{library}")
        (folder / "libnvidia-ml.so.1").symlink_to(f"libnvidia-ml.so.{library}")
        box.environment["LD_LIBRARY_PATH"] = str(folder)
    assert box.run("python3", "-c", _INIT).stdout.strip() == str(code)


@pytest.mark.parametrize(
    ("fault", "call", "codes"),
    [
        ({"function": "nvmlDeviceGetName", "code": 999}, "nvmlDeviceGetName, gpu()", [999, 999, 999]),
        ({"function": "nvmlDeviceGetName", "code": 15, "skip": 1, "count": 1}, "nvmlDeviceGetName, gpu()", [0, 15, 0]),
        ({"function": "nvmlDeviceGetName", "code": 15, "gpu": 1}, "nvmlDeviceGetName, gpu()", [0, 0, 0]),
        ({"function": "nvmlDeviceGetName", "code": 15, "gpu": 1}, "nvmlDeviceGetName, gpu(1)", [15, 15, 15]),
        ({"function": "nvmlDeviceGetCount", "code": 4}, "nvmlDeviceGetCount", [4, 4, 4]),
    ],
)
def test_faults(tmp_path: Path, fault: dict[str, Any], call: str, codes: list[int]) -> None:
    box = Sandbox(tmp_path, "a100x2")
    box.fault(**fault)
    assert box.nvml(f"result = [number({call}) for _time in range(3)]") == codes


def test_broken_profile_fails_at_init(tmp_path: Path) -> None:
    assert Sandbox(tmp_path, "h100-nvml-broken").run("python3", "-c", _INIT).stdout.strip() == "999"


def test_lost_gpu_answers_nothing(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2")
    with edit(box.state_path) as state:
        state.gpus[1]["lost"] = "1"
    assert box.nvml("result = [number(gpu, 0), number(gpu, 1)]") == [0, GPU_IS_LOST]


def test_processes_and_memory(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2")
    box.process(gpu=1, pid=77)
    found = box.nvml(
        "lists = [nvmlDeviceGetComputeRunningProcesses(gpu(i)) for i in (0, 1)]\n"
        "result = [[[p.pid, p.usedGpuMemory >> 20] for p in rows] for rows in lists]"
        " + [nvmlDeviceGetMemoryInfo(gpu(1), nvmlMemory_v2).used >> 20]"
    )
    assert found == [[], [[77, 1024]], 1024]


def test_t4_has_no_mig(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "t4x1")
    calls = "[number(nvmlDeviceGetMigMode, gpu()), number(nvmlDeviceSetMigMode, gpu(), 1)]"
    assert box.nvml(f"result = {calls}") == [NOT_SUPPORTED, NOT_SUPPORTED]


def test_persistence_mode_outlives_the_process(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2")
    box.nvml("nvmlDeviceSetPersistenceMode(gpu(1), 1); result = 0")
    assert box.nvml("result = [nvmlDeviceGetPersistenceMode(gpu(i)) for i in (0, 1)]") == [0, 1]
    assert box.writes == ["nvmlDeviceSetPersistenceMode gpu=1 mode=1"]


def test_unreadable_state_is_an_error_not_an_empty_machine(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    box.state_path.write_text("gpu minor=0 model=B9000 uuid=GPU-x\n")
    done = box.run("python3", "-c", _INIT)
    assert done.stdout.strip() == "999"
    assert "line 1 cannot be read" in done.stderr


_INIT = "import ctypes; print(ctypes.CDLL('libnvidia-ml.so.1').nvmlInit_v2())"


def test_open_session_holds_the_device_files(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2")
    found = "sorted(os.path.basename(os.readlink(f'/proc/self/fd/{n}')) for n in fds())"
    known = "[n for n in os.listdir('/proc/self/fd') if '/dev/nvidia' in read(n)]"
    code = (
        "import os\nread = lambda n: os.path.exists(f'/proc/self/fd/{n}') and os.readlink(f'/proc/self/fd/{n}') or ''\n"
        f"fds = lambda: {known}\nbefore = {found}\nnvmlShutdown()\nresult = [before, fds()]"
    )
    assert box.nvml(code) == [["nvidia0", "nvidia1", "nvidiactl"], []]


@pytest.mark.parametrize(
    ("driver", "lacks", "has"),
    [
        ("470.57.02", "nvmlDeviceGetGpuFabricInfo", "nvmlDeviceGetMigMode"),
        ("535.129.03", "nvmlDeviceGetNumaNodeId", "nvmlDeviceGetCurrentClocksEventReasons"),
        ("550.90.07", "nvmlDeviceGetTemperatureV", "nvmlDeviceGetSramEccErrorStatus"),
        ("570.172.08", "nvmlDeviceGetGpuInstanceProfileInfoByIdV", "nvmlDeviceGetPlatformInfo"),
        ("595.71.05", "nvmlDeviceGetRemappedRows_v2", "nvmlDeviceGetGpuInstanceProfileInfoByIdV"),
        ("610.57.04", "nvmlEventSetWait_v3", "nvmlDeviceGetRemappedRows_v2"),
    ],
)
def test_library_of_a_branch_has_the_functions_of_its_time(tmp_path: Path, driver: str, lacks: str, has: str) -> None:
    box = Sandbox(tmp_path, ["A100-40"], driver=driver)
    code = "import ctypes; l = ctypes.CDLL('libnvidia-ml.so.1'); print([hasattr(l, n) for n in {names!r}])"
    assert box.run("python3", "-c", code.format(names=[lacks, has])).stdout.strip() == "[False, True]"


def test_function_that_is_missing_is_not_found(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, ["A100-40"], driver="535.129.03")
    assert box.nvml("result = [number(nvmlDeviceGetNumaNodeId, gpu()), number(nvmlDeviceGetName, gpu())]") == [13, 0]


@pytest.mark.parametrize(("driver", "counts"), [("470.57.02", [8, 7]), ("550.90.07", [10, 8]), ("620.10", [18, 9])])
def test_profile_numbers_end_where_the_branch_ends(tmp_path: Path, driver: str, counts: list[int]) -> None:
    box = Sandbox(tmp_path, ["A100-40"], driver=driver)
    code = (
        "nvmlDeviceSetMigMode(gpu(), 1)\ngi = make(9)\n"
        "ends = lambda ask: next(n for n in range(99) if number(ask, n) == 2)\n"
        "result = [ends(lambda n: nvmlDeviceGetGpuInstanceProfileInfo(gpu(), n)),"
        " ends(lambda n: nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, n, 0))]"
    )
    assert box.nvml(code) == counts
