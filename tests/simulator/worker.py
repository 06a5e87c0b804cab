# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that run Python statements with pynvml's names; to start one for each would take most of a test's time."""

from __future__ import annotations

import atexit
import json
import select
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

SECONDS = 120


class Worker:
    """One process. `environment` has to name the folder of its NVML in LD_LIBRARY_PATH."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, "-X", "faulthandler", "-c", f"{NAMES}{_SERVE}"]
        self._process = subprocess.Popen(command, env=dict(environment), stdin=pipe, stdout=pipe, text=True)

    def ask(self, **request: Any) -> Any:
        """`code`: statements that may leave `result`. `machine`: variables of the machine they run on, in a session of
        their own; without it they share one, and their names. AssertionError with the traceback when they raise.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
        except BrokenPipeError as error:
            raise AssertionError(self._end()) from error
        if not select.select([self._process.stdout], [], [], SECONDS)[0]:
            self._process.kill()
            raise AssertionError(f"no answer within {SECONDS} s to {request['code']}")
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"{self._end()} at {request['code']}")
        answer = json.loads(line)
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["result"]

    def _end(self) -> str:
        """How the process ended; a negative status is the number of a signal."""
        return f"the process that holds the NVML session has ended with status {self._process.wait(SECONDS)}"

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate(timeout=SECONDS)


@cache
def shared(libraries: str) -> Worker:
    """The worker whose NVML comes from the folders `libraries`; it ends with the tests."""
    worker = Worker({"LD_LIBRARY_PATH": libraries, "PATH": "/usr/bin:/bin"})
    atexit.register(worker.close)
    return worker


NAMES = """
import json, os, sys
from pynvml import *

def number(function, *arguments):
    try:
        function(*arguments)
    except NVMLError as error:
        return error.value
    return 0

def gpu(index=0):
    return nvmlDeviceGetHandleByIndex(index)

def make(profile, start=None, device=None):
    device = device or gpu()
    if start is None:
        return nvmlDeviceCreateGpuInstance(device, profile)
    sizes = {19: 1, 20: 1, 15: 2, 14: 2, 9: 4, 5: 4, 0: 8}
    place = c_nvmlGpuInstancePlacement_t(start, sizes[profile])
    return nvmlDeviceCreateGpuInstanceWithPlacement(device, profile, byref(place))

def start_of(gi):
    return nvmlGpuInstanceGetInfo(gi).placement.start

def value_of(function):
    try:
        return function()
    except NVMLError as error:
        return {"code": error.value}

def filled(function, structure, *arguments):
    function(*arguments, byref(structure))
    return structure

def plain(answer):
    if hasattr(answer, "_fields_"):
        return {name: plain(getattr(answer, name)) for name, *_ in answer._fields_}
    if hasattr(answer, "_length_"):
        return [plain(item) for item in answer]
    if isinstance(answer, (list, tuple)):
        return [plain(item) for item in answer]
    if isinstance(answer, dict):
        return {key: plain(item) for key, item in answer.items()}
    if isinstance(answer, bytes):
        return answer.decode("utf-8", "replace")
    return getattr(answer, "value", answer) if type(answer).__name__.startswith("c_") else answer

"""
_SERVE = """
import traceback

def alone(request):
    os.environ.update(request["machine"])
    names = dict(globals())
    nvmlInit()
    try:
        exec(request["code"], names)
        return plain(names.get("result"))
    finally:
        for _ in range(9):  # statements may have closed the session, or opened more
            if number(nvmlShutdown):
                break

def joined(request):
    if "result" not in globals():
        nvmlInit()
    globals()["result"] = None
    exec(request["code"], globals())
    return plain(globals()["result"])

for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"result": (alone if "machine" in request else joined)(request)}
    except Exception:
        answer = {"error": traceback.format_exc()}
    print(json.dumps(answer, default=str), flush=True)
"""
