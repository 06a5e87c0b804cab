# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIG on the simulated NVML: mode, placement, life of instances, resets. Rules: MIG User Guide and recorded outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.driver import forget
from simulator.sandbox import Sandbox
from simulator.state import edit

INVALID_ARGUMENT, NOT_SUPPORTED, RESET_REQUIRED, IN_USE, INSUFFICIENT_RESOURCES = 2, 3, 16, 19, 23
ON = "nvmlDeviceSetMigMode(gpu(), 1)\n"


def _set(box: Sandbox, gpu: int, **values: str) -> None:
    with edit(box.state_path) as state:
        state.gpus[gpu].update(values)


@pytest.mark.parametrize("profile", ["a100x1", "h100x1"])
def test_idle_gpu_changes_mode_at_once(tmp_path: Path, profile: str) -> None:
    box = Sandbox(tmp_path, profile)
    assert box.nvml("result = [nvmlDeviceSetMigMode(gpu(), 1), nvmlDeviceGetMigMode(gpu())]") == [0, [1, 1]]


@pytest.mark.parametrize(
    ("profile", "values", "status"),
    [
        ("a100x1", {"client": "1"}, IN_USE),
        ("a100x1", {"passthrough": "1"}, RESET_REQUIRED),
        ("h100x1", {"client": "1"}, IN_USE),
        ("h100x1", {"passthrough": "1"}, 0),
    ],
)
def test_mode_stays_pending(tmp_path: Path, profile: str, values: dict[str, str], status: int) -> None:
    box = Sandbox(tmp_path, profile)
    _set(box, 0, **values)
    found = box.nvml("result = [nvmlDeviceSetMigMode(gpu(), 1), nvmlDeviceGetMigMode(gpu())]")
    assert found == [status, [0 if status else 1, 1]]


@pytest.mark.parametrize(("profile", "status"), [("a100x1", IN_USE), ("h100x1", 0)])
def test_another_nvml_client_stands_against_the_reset_of_ampere(tmp_path: Path, profile: str, status: int) -> None:
    box = Sandbox(tmp_path, profile)
    with box.start("") as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        assert box.nvml("result = nvmlDeviceSetMigMode(gpu(), 1)") == status
        assert (box.smi("-r").returncode == 0) is False
    assert box.smi("-r").returncode == 0
    assert box.nvml("result = nvmlDeviceGetMigMode(gpu())") == [1, 1]


def test_reset_takes_instances_away(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2")
    box.nvml(f"{ON}nvmlGpuInstanceCreateComputeInstance(make(19), 0); result = 0")
    assert box.smi("--gpu-reset", "-i", "0").stdout == "GPU 00000000:41:00.0 was successfully reset.\nAll done.\n"
    assert (box.state.instances, box.state.compute, box.state.gpus[0]["mig"]) == ([], [], "1")


@pytest.mark.parametrize(
    ("profile", "id", "starts"),
    [
        ("a100x1", 19, [6, 4, 5, 0, 1, 2, 3]),
        ("h100x1", 19, [6, 4, 5, 0, 1, 2, 3]),
        ("a100x1", 14, [4, 0, 2]),
        ("h100x1", 9, [4, 0]),
        ("a100x1", 5, [0]),
        ("a100x1", 0, [0]),
        ("h100x1", 20, [6]),
        ("a100x1", 15, [6, 4, 0, 2]),
    ],
)
def test_driver_places_until_nothing_fits(tmp_path: Path, profile: str, id: int, starts: list[int]) -> None:
    box = Sandbox(tmp_path, profile)
    left = f"nvmlDeviceGetGpuInstanceRemainingCapacity(gpu(), {id})"
    code = f"{ON}before = {left}; made = [start_of(make({id})) for _time in range(before)]\n"
    assert box.nvml(f"{code}result = [made, {left}, number(make, {id})]") == [starts, 0, INSUFFICIENT_RESOURCES]


@pytest.mark.parametrize(
    ("profile", "layout", "last"),
    [
        ("a100x1", [(9, None), (9, None), (19, None)], INSUFFICIENT_RESOURCES),  # 3g+3g+1g
        ("a100x1", [(0, None), (19, None)], INSUFFICIENT_RESOURCES),  # 7g and anything
        ("h100x1", [(20, None), (20, None)], INSUFFICIENT_RESOURCES),  # one set of media engines
        ("a100x1", [(9, 4), (5, 0)], 0),  # 4g+3g
        ("a100x1", [(9, 0), (5, 0)], INSUFFICIENT_RESOURCES),  # the start is taken
        ("a100x1", [(9, 4), (19, 0), (19, 1), (19, 2), (19, 3)], 0),
        ("h100x1", [(14, 0), (14, 2), (14, 4), (15, 6)], 0),  # 3x2g and a double-memory 1g
        ("a100x1", [*((19, start) for start in range(6)), (15, 6)], 0),
        ("a100x1", [(19, None), (15, 6)], INSUFFICIENT_RESOURCES),  # the driver put the 1g at 6
        ("a100x1", [(9, 2)], INVALID_ARGUMENT),  # no such start
        ("a100x1", [(47, None)], INVALID_ARGUMENT),  # no such profile
    ],
)
def test_layouts(tmp_path: Path, profile: str, layout: list[tuple[int, int | None]], last: int) -> None:
    box = Sandbox(tmp_path, profile)
    *first, (id, start) = layout
    makes = "".join(f"make({one}, {place})\n" for one, place in first)
    place = f"byref(c_nvmlGpuInstancePlacement_t({start}, {_size(id)}))"
    call = f"nvmlDeviceCreateGpuInstance, gpu(), {id}"
    if start is not None:
        call = f"nvmlDeviceCreateGpuInstanceWithPlacement, gpu(), {id}, {place}"
    assert box.nvml(f"{ON}{makes}result = number({call})") == last


def _size(id: int) -> int:
    return {19: 1, 20: 1, 15: 2, 14: 2, 9: 4, 5: 4, 0: 8}.get(id, 1)


def test_instance_ids_follow_the_tree(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "h100x1")
    code = f"{ON}made = [make(9, 4), make(14, 0), make(19, 2), make(19, 3)]\n"
    assert box.nvml(f"{code}result = [nvmlGpuInstanceGetInfo(gi).id for gi in made]") == [2, 3, 9, 10]


def test_mig_devices_of_an_instance(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    found = box.nvml(
        f"{ON}gi = make(9)\nci = nvmlGpuInstanceCreateComputeInstance(gi, 2)\n"
        "m = nvmlComputeInstanceGetInfo_v2(ci).device; a = nvmlDeviceGetAttributes(m)\n"
        "again = nvmlDeviceGetHandleByUUID(nvmlDeviceGetUUID(m))\n"
        "parent = nvmlDeviceGetDeviceHandleFromMigDeviceHandle(m)\n"
        "result = [nvmlDeviceGetName(m), nvmlDeviceIsMigDeviceHandle(again).value, nvmlDeviceGetIndex(parent),"
        "nvmlDeviceGetGpuInstanceId(m), nvmlDeviceGetComputeInstanceId(m), nvmlDeviceGetMaxMigDeviceCount(gpu()),"
        "a.multiprocessorCount, a.gpuInstanceSliceCount, a.memorySizeMB, nvmlDeviceGetMemoryInfo(m).total >> 20]"
    )
    assert found == ["NVIDIA A100-SXM4-40GB MIG 3g.20gb", 1, 0, 2, 0, 7, 42, 3, 19968, 19968]


@pytest.mark.parametrize(
    ("profile", "id", "offered"),
    [
        ("a100x1", 9, {"0": [3, 14], "1": [1, 28], "2": [1, 42]}),
        ("a100x1", 5, {"0": [4, 14], "1": [2, 28], "3": [1, 56]}),
        ("a100x1", 0, {"0": [7, 14], "1": [3, 28], "2": [2, 42], "3": [1, 56], "4": [1, 98]}),
        ("a100x1", 15, {"0": [1, 14]}),
        ("h100x1", 15, {"0": [1, 16], "7": [1, 26]}),
        ("h100x1", 14, {"0": [2, 16], "1": [1, 32], "7": [1, 26]}),
    ],
)
def test_compute_profiles(tmp_path: Path, profile: str, id: int, offered: dict[str, list[int]]) -> None:
    box = Sandbox(tmp_path, profile)
    ask = "nvmlGpuInstanceGetComputeInstanceProfileInfo"
    code = f"{ON}gi = make({id}); known = [n for n in range(9) if not number({ask}, gi, n, 0)]\n"
    row = f"(lambda i: [i.instanceCount, i.multiprocessorCount])({ask}(gi, n, 0))"
    assert box.nvml(f"{code}result = {{n: {row} for n in known}}") == offered


@pytest.mark.parametrize(
    ("profile", "start", "size", "code"),
    [
        (0, 1, 1, 0),
        (0, 2, 1, INSUFFICIENT_RESOURCES),  # taken
        (1, 2, 2, INSUFFICIENT_RESOURCES),
        (1, 0, 2, 0),
        (1, 1, 2, INVALID_ARGUMENT),  # no such start
        (0, 7, 1, INVALID_ARGUMENT),
        (1, 6, 2, INVALID_ARGUMENT),
        (1, 0, 1, INVALID_ARGUMENT),  # not its size
        (2, 4, 3, 0),
        (7, 0, 1, NOT_SUPPORTED),
        (8, 0, 0, INVALID_ARGUMENT),  # no such profile, so no slices to count with
        (8, 0, 1, INVALID_ARGUMENT),
        (2**32 - 1, 0, 0, INVALID_ARGUMENT),
        (0, 2**32 - 1, 1, INVALID_ARGUMENT),  # start + size overflows
        (2, 2**32 - 4, 3, INVALID_ARGUMENT),
    ],
)
def test_compute_instance_at_a_place(tmp_path: Path, profile: int, start: int, size: int, code: int) -> None:
    box = Sandbox(tmp_path, "a100x1")
    make = "nvmlGpuInstanceCreateComputeInstanceWithPlacement, gi, {}, byref(c_nvmlComputeInstancePlacement_t({}, {}))"
    first = f"{ON}gi = make(0)\nassert not number({make.format(0, 2, 1)})\n"
    assert box.nvml(f"{first}result = number({make.format(profile, start, size)})") == code


def test_instance_in_use_is_not_destroyed(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    box.nvml(f"{ON}nvmlGpuInstanceCreateComputeInstance(make(19, 0), 0); result = 0")
    box.process(gi=7, ci=0)
    handles = "gi = nvmlDeviceGetGpuInstanceById(gpu(), 7); ci = nvmlGpuInstanceGetComputeInstanceById(gi, 0)\n"
    calls = "number(nvmlComputeInstanceDestroy, ci), number(nvmlGpuInstanceDestroy, gi)"
    assert box.nvml(f"{handles}result = [{calls}]") == [IN_USE, IN_USE]
    with edit(box.state_path) as state:
        state.processes.clear()
    assert box.nvml(f"{handles}result = [number(nvmlGpuInstanceDestroy, gi), {calls}]") == [IN_USE, 0, 0]
    assert box.state.instances == []


def test_disabling_with_instances_stays_pending(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "h100x1")
    found = box.nvml(f"{ON}make(19); result = [nvmlDeviceSetMigMode(gpu(), 0), nvmlDeviceGetMigMode(gpu())]")
    assert found == [IN_USE, [1, 0]]


def test_no_instance_without_mig_mode(tmp_path: Path) -> None:
    assert Sandbox(tmp_path, "a100x1").nvml("result = number(make, 19)") == NOT_SUPPORTED


def test_capability_files_follow_the_instances(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x2")
    folder = tmp_path / "proc/driver/nvidia/capabilities/gpu1/mig"
    on = "nvmlDeviceSetMigMode(gpu(1), 1)\n"
    box.nvml(f"{on}result = str(nvmlGpuInstanceCreateComputeInstance(make(19, 3, gpu(1)), 0))")
    minors = (tmp_path / "proc/driver/nvidia-caps/mig-minors").read_text().splitlines()
    for name in ("gi10/access", "gi10/ci0/access"):
        minor = (folder / name).read_text().splitlines()[0].split()[1]
        assert f"gpu1/{name} {minor}" in minors
    handles = "gi = nvmlDeviceGetGpuInstanceById(gpu(1), 10); ci = nvmlGpuInstanceGetComputeInstanceById(gi, 0)\n"
    box.nvml(f"{handles}nvmlComputeInstanceDestroy(ci); nvmlGpuInstanceDestroy(gi); result = 0")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("profile", "mode"), [("a100x1", "1"), ("h100x1", "0")])
def test_reboot_keeps_the_mode_of_ampere_and_no_instance(tmp_path: Path, profile: str, mode: str) -> None:
    box = Sandbox(tmp_path, profile)
    box.nvml(f"{ON}make(19); result = 0")
    with edit(box.state_path) as state:
        forget(state)
    assert (box.state.driver, box.state.instances, box.state.gpus[0]["mig"]) == (None, [], mode)


def test_two_processes_at_once_lose_no_instance(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "h100x2")
    box.nvml("result = [nvmlDeviceSetMigMode(gpu(i), 1) for i in (0, 1)]")
    both = [box.start(f"[make(19, device=gpu({index})) for _time in range(7)]") for index in (0, 1)]
    for process in both:
        process.communicate(timeout=30)
    rows = box.state.instances
    assert [sum(row["gpu"] == gpu for row in rows) for gpu in ("0", "1")] == [7, 7]
    assert len(box.writes) == 16


@pytest.mark.parametrize(
    ("minors", "ids"), [([30, 31], [3]), ([30], []), ([2], [2, 3]), ([1], [2, 3]), ([21, 22, 30, 31], [2, 3])]
)
def test_container_sees_the_instances_whose_device_files_it_has(
    tmp_path: Path, minors: list[int], ids: list[int]
) -> None:
    box = Sandbox(tmp_path, "a100x1")
    make = "result = str([nvmlGpuInstanceCreateComputeInstance(make(*a), p) for a, p in (((9, 4), 2), ((14, 0), 1))])"
    box.nvml(f"{ON}{make}")
    (tmp_path / "dev/nvidia-caps").mkdir()
    for minor in minors:
        (tmp_path / f"dev/nvidia-caps/nvidia-cap{minor}").touch()
    handles = "nvmlDeviceGetMigDeviceHandleByIndex(gpu(), i)"
    found = "[i for i in range(7) if not number(nvmlDeviceGetMigDeviceHandleByIndex, gpu(), i)]"
    assert box.nvml(f"result = [nvmlDeviceGetGpuInstanceId({handles}) for i in {found}]") == ids
