# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the collection's modules on simulated machines, each in a process of its own.

One process has imported Ansible, and forks for every run: starting Python for each would take most of the tests' time.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible.module_utils.testing import patch_module_args

CAPABILITY_VERSION_3 = 0x20080522
FILE_CAPABILITIES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
COLLECTION = "ansible_collections.gpu.fleet.plugins"
PRELOADED = ("modules.mig_config", "modules.mig_info", "modules.gpu_info", "module_utils._host.mig")


class Runner:
    """Started by its first run, ended with the tests. ``libraries`` is the folder of the simulated NVML."""

    def __init__(self, libraries: Path) -> None:
        self._libraries = libraries
        self._server: subprocess.Popen[str] | None = None

    def run(
        self,
        environment: Mapping[str, str],
        name: str,
        arguments: Mapping[str, Any],
        *,
        by_mode: bool = False,
        dies_at: int | None = None,
    ) -> tuple[int, str]:
        """Exit status and output of the module ``name``, or of the boot-time verb mig where it is ``boot``.

        ``by_mode``: it may read only what modes allow, as any user, also where it runs as root. ``dies_at``: it is
        killed before it calls NVML for the time of this number, from 0; the status then is -9.
        """
        server = self._server = self._server or self._start()
        with tempfile.NamedTemporaryFile("r") as out:
            request: dict[str, Any] = {
                "environment": dict(environment),
                "name": name,
                "arguments": dict(arguments),
                "out": out.name,
            }
            request |= {"by_mode": by_mode, "dies_at": dies_at}
            print(json.dumps(request), file=server.stdin, flush=True)
            status = server.stdout.readline() if server.stdout else ""
            return int(status), out.read()

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self._libraries)}
        tests = str(Path(__file__).parents[1])
        program = f"import sys; sys.path.insert(0, {tests!r}); from simulator import runner; runner.serve()"
        pipe = subprocess.PIPE
        server = subprocess.Popen([sys.executable, "-c", program], env=environment, stdin=pipe, stdout=pipe, text=True)
        atexit.register(server.communicate)  # closes its input, which ends it
        return server


def serve() -> None:
    """Answers each request, a line of JSON, with the exit status of its process."""
    for name in PRELOADED:
        import_module(f"{COLLECTION}.{name}")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return _become(json.loads(line))
        _pid, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    return None


def _become(request: Mapping[str, Any]) -> None:
    """Does what is asked, with its output to a file."""
    os.environ.update(request["environment"])
    handle = os.open(request["out"], os.O_WRONLY | os.O_APPEND)
    os.dup2(handle, sys.stdout.fileno())
    os.dup2(handle, sys.stderr.fileno())
    if request["by_mode"]:
        _obey_modes()
    if request["dies_at"] is not None:
        _die_at(request["dies_at"])
    sys.exit(_call(request["name"], request["arguments"]))


def _obey_modes() -> None:
    """Gives up CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH (capabilities(7)); another user than root has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the same for the numbers from 32 on
    libc.capget(header, sets)
    sets[0] &= ~FILE_CAPABILITIES
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")


def _die_at(number: int) -> None:
    """Kills this process, as SIGKILL does, before its NVML call of that number."""
    nvml = import_module(f"{COLLECTION}.module_utils._observe.nvml").Nvml
    real, calls = nvml.call, itertools.count()

    def call(self: Any, *arguments: Any) -> Any:
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, *arguments)

    nvml.call = call


def _call(name: str, arguments: Mapping[str, Any]) -> int:
    if name == "boot":
        root = arguments["host_root"]
        verb = import_module(f"{COLLECTION}.module_utils._host.mig")
        return int(verb.run(host_root=root, lock=f"{root}/lock", wait=0))
    with patch_module_args(dict(arguments)):
        import_module(f"{COLLECTION}.modules.{name}").main()
    return 0
