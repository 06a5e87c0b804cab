# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several processes share the simulated hardware, and some of them are killed."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest

from simulator import damage
from simulator.invariants import violations
from simulator.sandbox import Sandbox
from simulator.state import edit

KILLS = 12
LOOP = """
nvmlDeviceSetMigMode(gpu(), 1)
print('ready', flush=True)
while True:
    gi = make(19)
    ci = nvmlGpuInstanceCreateComputeInstance(gi, 0)
    nvmlComputeInstanceDestroy(ci)
    nvmlGpuInstanceDestroy(gi)
"""


def together(box: Sandbox, count: int, code: str) -> list[object]:
    """What `count` processes that start at the same time leave as `result`."""
    wait = "print('ready', flush=True); sys.stdin.readline()\n"
    running = [box.start(f"{wait}{code}\nprint(json.dumps(result), flush=True)") for _time in range(count)]
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None
        print("go", file=one.stdin, flush=True)
    return [json.loads(one.communicate(timeout=120)[0].splitlines()[0]) for one in running]


def test_one_place_is_given_away_once(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, ["H100-80"])
    box.nvml("result = nvmlDeviceSetMigMode(gpu(), 1)")
    counts = together(box, 4, "result = sum(number(make, 19) == 0 for _time in range(7))")
    assert sum(map(int, counts)) == 7
    assert violations(box.state) == []
    assert len(box.writes) == 1 + 4 * 7


def test_a_fault_is_used_up_by_all_together(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, ["H100-80"])
    box.fault("nvmlDeviceGetName", 999, skip=15, count=20)
    counts = together(box, 3, "result = sum(number(nvmlDeviceGetName, gpu()) == 999 for _time in range(40))")
    assert sum(map(int, counts)) == 20


def test_two_hands_on_the_file(tmp_path: Path) -> None:
    """Python's edits and the library's writes do not overwrite each other."""
    box = Sandbox(tmp_path, ["H100-80", "A100-40"])
    code = "for n in range(100): nvmlDeviceSetPersistenceMode(gpu(1), n % 2)\nresult = 0"
    wait = "print('ready', flush=True)\n"
    with box.start(f"{wait}{code}") as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        for _time in range(100):
            with edit(box.state_path) as state:
                damage.raise_health(state, 0, "pcie_replay")
        assert other.communicate(timeout=120)[0].splitlines()[-1] == "ready"
    assert (damage.health(box.state, 0, "pcie_replay"), box.state.gpus[1]["persistence"]) == (100, "1")


def test_killed_in_the_middle_of_a_write(tmp_path: Path) -> None:
    """With 64 GPUs a write takes long enough to be hit; the next process goes on from a sound state."""
    box = Sandbox(tmp_path, ["H100-80"] * 64)
    chance = random.Random(1)
    for _time in range(KILLS):
        with box.start(LOOP) as victim:
            assert victim.stdout is not None
            assert victim.stdout.readline() == "ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                victim.wait(chance.uniform(0.02, 0.08))
            victim.kill()
        state = box.state
        assert (len(state.gpus), violations(state)) == (64, [])
        with edit(box.state_path) as state:
            state.instances.clear()
            state.compute.clear()


def test_half_a_file_of_a_killed_writer_is_not_read(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, ["H100-80"])
    leftover = box.state_path.with_name("state.new")
    leftover.write_text("driver 570.172.08 open\ngpu minor=0 mod")
    assert box.nvml("nvmlDeviceSetPersistenceMode(gpu(), 1); result = nvmlDeviceGetPersistenceMode(gpu())") == 1
    assert not leftover.exists()


def test_capability_files_follow_also_after_a_kill(tmp_path: Path) -> None:
    """A writer that died between the state and the files below /proc: the next session puts them right."""
    box = Sandbox(tmp_path, ["H100-80"])
    box.nvml("nvmlDeviceSetMigMode(gpu(), 1); make(19, 3); result = 0")
    folder = tmp_path / "proc/driver/nvidia/capabilities/gpu0/mig"
    (folder / "gi10/access").unlink()
    (folder / "gi10").rmdir()
    (folder / "gi8").mkdir()
    (folder / "gi8/access").write_text("DeviceFileMinor: 75\n")
    box.nvml("result = 0")
    assert [path.name for path in folder.iterdir()] == ["gi10"]
