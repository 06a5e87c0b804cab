# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that run in a lab until they are ended: by their own pids, since what starts them is `nsenter`."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab import processes
from lab.lab import Lab

STOP_SECONDS = 10


class Spawned:
    """One program; its command line, which names a file of this lab, tells it apart from those of other labs."""

    def __init__(
        self, lab: Lab, command: Sequence[str | Path], log: Path, *, environment: Mapping[str, str] | None = None
    ) -> None:
        self.lab = lab
        self.environment = dict(environment or {})
        self.command = [str(word) for word in command]
        self.log = log
        self._starter: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it with an empty log."""
        self.log.unlink(missing_ok=True)
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        self._starter = self.lab.spawn(["env", *variables, *self.command], self.log)

    def ended(self) -> bool:
        """Whether it is known to have ended by itself."""
        return self._starter is not None and self._starter.poll() is not None

    def said(self) -> str:
        """Its log."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def pids(self) -> list[int]:
        """Pids as seen from this process."""
        found = processes.with_arguments(*self.command)
        return [pid for pid in found if processes.command_line(pid)[: len(self.command)] == self.command]

    def stop(self) -> None:
        """Ends it; no error when it does not run."""
        for pid in self.pids():
            end(processes.identity(pid))
        if self._starter:
            self._starter.wait(STOP_SECONDS)
            self._starter = None


def end(who: processes.Identity) -> None:
    """SIGTERM, after 10 s SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if processes.alive(who):
            os.kill(who.pid, number)
        deadline = time.monotonic() + STOP_SECONDS
        while processes.alive(who) and time.monotonic() < deadline:
            time.sleep(0.05)
