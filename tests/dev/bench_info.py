# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What gpu_info costs: on 64 simulated GPUs, and beside a ping where there is no GPU. Over the local connection."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simulator.layout import machine_state
from simulator.sandbox import Sandbox
from simulator.state import State

from . import collection, progress

GPUS = 64
ROUNDS = 5
SECONDS = 120
PING_BUDGET = 2.0
PING, INFO = "ansible.builtin.ping", "gpu.fleet.gpu_info"


@dataclass(frozen=True)
class Cost:
    """Of one task, start of Ansible included: median wall seconds, and the highest memory of any process in MiB."""

    seconds: float
    memory_mib: int


def many_gpus() -> Cost:
    """gpu_info, all subsets, on a machine with 64 GPUs behind NVSwitches."""
    with _machine(machine_state(["H100-80"] * GPUS, "bench", nvlink="switch")) as box:
        return Cost(statistics.median(_seconds(box, INFO) for _round in range(ROUNDS)), _memory(box, INFO))


def without_gpu() -> float:
    """How many times as long as a ping gpu_info takes on a machine without GPU, in turns."""
    with _machine(State()) as box:
        rows = [(_seconds(box, INFO), _seconds(box, PING)) for _round in range(ROUNDS)]
    info, ping = (statistics.median(column) for column in zip(*rows, strict=True))
    return info / ping


def show() -> None:
    """Measures and prints."""
    with progress.step(f"gpu_info on {GPUS} GPUs, and without any"):
        many, ratio = many_gpus(), without_gpu()
    print(f"           gpu_info of {GPUS} GPUs: {many.seconds:.2f} s, {many.memory_mib} MiB, Ansible's start included")
    print(f"           gpu_info without GPU: {ratio:.2f} times the time of a ping, budget {PING_BUDGET:.1f}")


@contextmanager
def _machine(state: State) -> Iterator[Sandbox]:
    with tempfile.TemporaryDirectory(prefix="gpu-fleet-bench-") as folder:
        yield Sandbox(Path(folder), state)


def _command(box: Sandbox, module: str) -> list[str]:
    arguments = json.dumps({"host_root": str(box.folder)}) if module == INFO else ""
    return ["ansible", "localhost", "-c", "local", "-i", "localhost,", "-m", module, "-a", arguments]


def _environment(box: Sandbox) -> dict[str, str]:
    settings = {"ANSIBLE_COLLECTIONS_PATH": collection.search_path(), "ANSIBLE_PYTHON_INTERPRETER": sys.executable}
    return {**os.environ, **box.environment, **settings}


def _seconds(box: Sandbox, module: str) -> float:
    begin = time.monotonic()
    _run(box, _command(box, module))
    return time.monotonic() - begin


def _memory(box: Sandbox, module: str) -> int:
    """In a process of its own, whose only children are those of this run."""
    program = f"import resource, subprocess, sys\nsubprocess.run({_command(box, module)!r}, check=True, stdout=2)\n"
    program += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
    return int(_run(box, [sys.executable, "-c", program]))


def _run(box: Sandbox, command: list[str]) -> str:
    done = subprocess.run(command, env=_environment(box), capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise progress.CommandFailed(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout
