# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated machine in a folder with its library: what tests of programs that use NVML run in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.build import artifact_dir, nvml_folder
from simulator.layout import machine_state
from simulator.place import Place
from simulator.state import State, edit, read
from simulator.tree import make_tree
from simulator.worker import NAMES, Worker, shared

DRIVER = "570.172.08"
SECONDS = 30


class Sandbox:
    """Everything lies below `folder`; nothing runs on."""

    def __init__(self, folder: Path, machine: str | Sequence[str] | State, *, driver: str = DRIVER) -> None:
        """`machine`: a profile's name, the models of its GPUs, or a state as layout.machine_state makes it."""
        self.folder = folder
        whole = machine if isinstance(machine, str | State) else machine_state(machine, folder.name)
        self.environment = make_tree(folder, whole, driver, nodes=False)
        self.state_path = Path(self.environment["GPU_FLEET_SIM_STATE"])
        nvml = nvml_folder(int(driver.split(".")[0])) if driver else artifact_dir() / "lib"
        self.environment["LD_LIBRARY_PATH"] = f"{nvml}:{artifact_dir() / 'lib'}"
        self.environment["GPU_FLEET_SIM_ROOT"] = str(folder)
        shutil.copy(artifact_dir() / "functions.txt", self.place.installed)

    @property
    def place(self) -> Place:
        """Where its parts are."""
        return Place(self.folder)

    @property
    def state(self) -> State:
        """The state as it is now."""
        return read(self.state_path)

    @property
    def writes(self) -> list[str]:
        """The write log without times and pids."""
        log = self.state_path.with_name("state.log")
        return [line.split(" ", 2)[2] for line in log.read_text().splitlines()] if log.exists() else []

    def fault(self, function: str, code: int, *, skip: int = 0, count: int = -1, gpu: int = -1) -> None:
        """Lets the NVML function (name without version) return `code`."""
        with edit(self.state_path) as state:
            state.faults.append((function, code, {"skip": str(skip), "count": str(count), "gpu": str(gpu)}))

    def hide(self, gpu: int, profile: int) -> None:
        """The driver does not offer the GPU instance profile with that id on the GPU."""
        with edit(self.state_path) as state:
            state.hidden.append({"gpu": str(gpu), "profile": str(profile)})

    def process(self, *, gpu: int = 0, pid: int = 4001, gi: int | None = None, ci: int | None = None) -> None:
        """A process that uses the GPU, or an instance of it."""
        numbers = {"gpu": gpu, "pid": pid, "gi": gi, "ci": ci, "memory": 1024}
        with edit(self.state_path) as state:
            state.processes.append({**{key: _text(value) for key, value in numbers.items()}, "name": "python3"})

    def nvml(self, code: str) -> Any:
        """Runs Python statements that use pynvml's names and leave `result`; AssertionError when they raise."""
        machine = {key: value for key, value in self.environment.items() if key.startswith("GPU_FLEET_")}
        return shared(self.environment["LD_LIBRARY_PATH"]).ask(code=code, machine=machine)

    def start(self, code: str) -> subprocess.Popen[str]:
        """As `nvml`, in a process that the caller ends: it prints `ready` and waits for its standard input to close."""
        text = f"{NAMES}nvmlInit()\n{code}\nprint('ready', flush=True)\nsys.stdin.read()\n"
        pipe = subprocess.PIPE
        return subprocess.Popen([sys.executable, "-c", text], env=self._all(), stdin=pipe, stdout=pipe, text=True)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a program on the simulated machine."""
        return subprocess.run(command, env=self._all(), capture_output=True, text=True, timeout=SECONDS, check=False)

    def simhw(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the command of simulated hosts."""
        tests = str(Path(__file__).parents[1])
        program = (
            f"import sys; sys.path.insert(0, {tests!r}); from simulator.cli import main; sys.exit(main(sys.argv[1:]))"
        )
        return self.run(sys.executable, "-c", program, *arguments)

    def session(self) -> Session:
        """A process with an open NVML session, to be closed by the caller (a context manager)."""
        return Session(self._all())

    def smi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the simulated nvidia-smi."""
        return self.run(str(artifact_dir() / "bin/nvidia-smi"), *arguments)

    def _all(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


class Session:
    """A process with an NVML session of its own; names stay from one question to the next."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._worker = Worker(environment)
        self.ask("")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_details: object) -> None:
        self._worker.close()

    def ask(self, code: str) -> Any:
        """Runs statements that may leave `result`. AssertionError when they raise."""
        return self._worker.ask(code=code)

    def value(self, expression: str) -> Any:
        """What the expression gives; for an NVMLError its code as `{"code": n}`."""
        return self.ask(f"result = value_of(lambda: {expression})")


def _text(value: int | str | None) -> str:
    return "-" if value is None else str(value)
