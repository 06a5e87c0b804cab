# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that `./dev` waits for: each a process group of its own, ended as a whole when `./dev` is interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

GRACE_SECONDS = 10
_groups: set[int] = set()
_lock = threading.Lock()


def run(
    args: Sequence[str | Path],
    out: IO[bytes],
    *,
    cwd: Path | None,
    env: Mapping[str, str],
    stdin: str,
    timeout: float | None,
) -> int | None:
    """Runs a command with its output to `out`; None when it had not ended after `timeout` seconds and was killed."""
    process = subprocess.Popen(
        [*_tied(), *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=out,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env=env,
        start_new_session=True,
    )
    with _lock:
        _groups.add(process.pid)
    try:
        process.communicate(stdin.encode(), timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(process)
    return process.returncode


def interrupt() -> None:
    """Asks every command that runs to end, also those that other threads wait for."""
    for group in list(_groups):  # no lock: a signal handler may not wait for what it interrupted
        _signal(group, signal.SIGTERM)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the group when its leader is still there, then forgets it."""
    if process.poll() is None:
        _signal(process.pid, signal.SIGTERM)
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            _signal(process.pid, signal.SIGKILL)
            process.wait()
    with _lock:
        _groups.discard(process.pid)


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:  # ended by itself meanwhile
        return


def _tied() -> list[str]:
    """Makes the command end with the thread that waits for it, however that ends; Linux only."""
    return ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
