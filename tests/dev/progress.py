# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the person at the terminal sees: steps with elapsed time; what commands say goes to a log file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import children

TAIL = 20
# Child processes of `./dev` (the inside of a lab) go on counting and logging where their parent does.
START_VARIABLE, LOG_VARIABLE = "GPU_FLEET_DEV_START", "GPU_FLEET_DEV_LOG"

_lock = threading.Lock()
_open_line: object | None = None


class CommandFailed(Exception):
    """A command ended with another status than 0; the text holds its last lines and where the whole log is."""


def elapsed() -> float:
    """Seconds since `./dev` started."""
    return max(0.0, time.time() - float(os.environ.setdefault(START_VARIABLE, repr(time.time()))))


def log_path() -> Path:
    """The log file of this start of `./dev`; its folder is there from the first time that somebody asks."""
    if LOG_VARIABLE not in os.environ:
        os.environ[LOG_VARIABLE] = str(Path(tempfile.mkdtemp(prefix="gpu-fleet-log-")) / "dev.log")
    path = Path(os.environ[LOG_VARIABLE])
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def set_log(path: Path) -> None:
    """Makes `path` the log of this process and of all that it starts."""
    os.environ[LOG_VARIABLE] = str(path)


def say(text: str) -> None:
    """One line with the elapsed time."""
    with _lock:
        _write(f"{_stamp()} {text}\n", opens=None)


@contextmanager
def step(title: str) -> Iterator[None]:
    """`[ 12.3s] title ... 4.5 s`; the time is written when the block ends, `failed` before it on an exception."""
    token, begin = object(), time.monotonic()
    with _lock:
        _write(f"{_stamp()} {title} ...", opens=token)
    try:
        yield
    except BaseException:
        _finish(token, title, f"failed after {time.monotonic() - begin:.1f} s")
        raise
    _finish(token, title, f"{time.monotonic() - begin:.1f} s")


def run(
    args: Sequence[str | Path],
    *,
    log: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    timeout: float | None = None,
    check: bool = True,
) -> int:
    """Runs a command, its output to the log. Returns the exit status; `check`: raises CommandFailed when not 0.

    `env` is added to the environment. `timeout` in seconds; passing it raises CommandFailed, too.
    """
    path = log or log_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as out:
        out.write(f"\n$ {' '.join(map(str, args))}\n".encode())
        out.flush()
        begin = out.tell()
        status = children.run(args, out, cwd=cwd, env={**os.environ, **(env or {})}, stdin=stdin, timeout=timeout)
    if check and status != 0:
        what = f"had not ended after {timeout} s" if status is None else f"ended with status {status}"
        raise CommandFailed(f"`{' '.join(map(str, args))}` {what}.\n{tail(path, begin)}\nWhole log: {path}")
    return 124 if status is None else status


def output(args: Sequence[str | Path], *, env: Mapping[str, str] | None = None, timeout: float = 120) -> str:
    """What a command prints on its standard output; raises CommandFailed with what it said when it fails."""
    done = subprocess.run(
        [str(a) for a in args],
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode != 0:
        raise CommandFailed(
            f"`{' '.join(map(str, args))}` ended with status {done.returncode}: {(done.stderr or done.stdout).strip()}"
        )
    return done.stdout


def tail(path: Path, begin: int = 0) -> str:
    """The last 20 lines of a log, from the byte `begin` on."""
    with path.open("rb") as handle:
        handle.seek(begin)
        lines = handle.read().decode(errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-TAIL:])


def _stamp() -> str:
    return f"[{elapsed():6.1f}s]"


def _finish(token: object, title: str, result: str) -> None:
    with _lock:
        if _open_line is token:
            sys.stdout.write(f" {result}\n")
            _flush(None)
        else:
            _write(f"{_stamp()} {title} ... {result}\n", opens=None)


def _write(text: str, *, opens: object | None) -> None:
    sys.stdout.write(f"\n{text}" if _open_line is not None else text)
    _flush(opens)


def _flush(opens: object | None) -> None:
    global _open_line
    _open_line = opens
    sys.stdout.flush()
