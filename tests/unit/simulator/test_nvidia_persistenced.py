# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated nvidia-persistenced: what is there while it runs, what it refuses. Rules: its sources, 595.71.05."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from simulator.build import artifact_dir
from simulator.sandbox import Sandbox
from simulator.state import edit

FAILED = "nvidia-persistenced failed to initialize. Check syslog for more details.\n"
SECONDS = 30


def _start(box: Sandbox, *arguments: str) -> subprocess.CompletedProcess[str]:
    return box.run(str(artifact_dir() / "bin/nvidia-persistenced"), *arguments)


def _folder(box: Sandbox) -> Path:
    return box.folder / "var/run/nvidia-persistenced"


def _box(folder: Path, machine: str = "a100x2", driver: str = "570.172.08") -> Sandbox:
    (folder / "var/run").mkdir(parents=True)
    return Sandbox(folder, machine, driver=driver)


def _wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _stop(box: Sandbox) -> None:
    os.kill(int((_folder(box) / "nvidia-persistenced.pid").read_text()), signal.SIGTERM)
    _wait(lambda: not _folder(box).exists())


@contextmanager
def _running(box: Sandbox, *arguments: str) -> Iterator[None]:
    done = _start(box, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    try:
        yield
    finally:
        _stop(box)


def _modes(box: Sandbox) -> list[str]:
    return [gpu["persistence"] for gpu in box.state.gpus]


def test_persistence_mode_is_on_while_it_runs(tmp_path: Path) -> None:
    box = _box(tmp_path)
    with _running(box):
        assert _modes(box) == ["1", "1"]
        assert stat.S_ISSOCK((_folder(box) / "socket").stat().st_mode)
    assert _modes(box) == ["0", "0"]


def test_without_persistence_mode(tmp_path: Path) -> None:
    box = _box(tmp_path)
    with _running(box, "--no-persistence-mode", "--uvm-persistence-mode", "-V"):
        assert _modes(box) == ["0", "0"]


def test_nvidia_smi_speaks_of_legacy_mode_without_it(tmp_path: Path) -> None:
    box = _box(tmp_path, driver="595.71.05")
    with _running(box, "--no-persistence-mode"):
        assert box.smi("-pm", "1", "-i", "0").stdout.startswith("Enabled persistence mode for GPU")
    assert box.smi("-pm", "1", "-i", "0").stdout.startswith("Enabled Legacy persistence mode for GPU")


def test_a_reset_is_refused_meanwhile(tmp_path: Path) -> None:
    box = _box(tmp_path)
    with _running(box):
        done = box.smi("-r", "-i", "0")
        assert (done.returncode, "In use by another client" in done.stdout) == (255, True)
    assert box.smi("-r", "-i", "0").returncode == 0


def test_a_second_one_is_refused_and_leaves_the_first_alone(tmp_path: Path) -> None:
    box = _box(tmp_path)
    with _running(box):
        done = _start(box)
        assert (done.returncode, done.stderr) == (1, FAILED)
        assert _modes(box) == ["1", "1"]
        assert (_folder(box) / "nvidia-persistenced.pid").exists()


def test_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    box = _box(tmp_path)
    _folder(box).mkdir()
    assert _start(box).returncode == 0
    os.kill(int((_folder(box) / "nvidia-persistenced.pid").read_text()), signal.SIGTERM)
    _wait(lambda: not any(_folder(box).iterdir()))


def test_a_lost_gpu_is_left_out(tmp_path: Path) -> None:
    box = _box(tmp_path)
    with edit(box.state_path) as state:
        state.gpus[0]["lost"] = "1"
    with _running(box):
        assert _modes(box) == ["0", "1"]


@pytest.mark.parametrize(
    ("machine", "driver", "arguments"),
    [
        ("a100x2", "", []),
        ("p100x1", "595.71.05", []),
        ("a100x2", "570.172.08", ["--nvidia-cfg-path", "/nowhere"]),
    ],
)
def test_what_it_cannot_start_with(tmp_path: Path, machine: str, driver: str, arguments: list[str]) -> None:
    box = _box(tmp_path, machine, driver)
    done = _start(box, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", FAILED)
    _wait(lambda: not _folder(box).exists())


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["--user", "nobody-of-this-name"], 1, "Failed to find user ID of user 'nobody-of-this-name': "),
        (["-g", "nogroup-of-this-name"], 1, "Failed to find group ID of group 'nogroup-of-this-name': "),
        (["--colour"], 0, "Invalid commandline, please run `"),
    ],
)
def test_wrong_command_lines(tmp_path: Path, arguments: list[str], status: int, text: str) -> None:
    done = _start(_box(tmp_path), *arguments)
    assert (done.returncode, done.stderr.strip().startswith(f"ERROR: {text}")) == (status, True)


@pytest.mark.parametrize("option", ["-h", "--help", "-v", "--version"])
def test_help_and_version(tmp_path: Path, option: str) -> None:
    done = _start(_box(tmp_path), option)
    assert (done.returncode, "nvidia-persistenced" in done.stdout) == (0, True)
