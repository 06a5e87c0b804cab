# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries out a plan for the driver's modules, and brings back what it took away when it fails.

Private to this collection.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from .._observe.command import Run
from .._observe.files import HostRoot
from .._observe.stopped_units import read_stopped
from .._plan.model import Step
from .._plan.modules import DEV_CHAR, UNLOADED, ModuleHost, uncounted_references
from .modules import ModuleError, apply_step, settle
from .stopped_units import save_stopped

# A lost connection ends the module with the first, an impatient user with one of the others.
SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)


class Interrupted(BaseException):
    """A signal asked the run to end; what was stopped is started before it does."""


@contextmanager
def signals_raise() -> Iterator[None]:
    """Inside the block a signal raises Interrupted, so that nothing is left stopped."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        del frame
        raise Interrupted(f"ended by {signal.Signals(number).name}")

    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class ModuleRun:
    """One run on the modules of a host: its steps, and the way back."""

    def __init__(self, host: HostRoot, run: Run, observe: Callable[[], ModuleHost], *, state: str) -> None:
        self._host, self._run, self._observe, self._state = host, run, observe, state
        self._stopped: tuple[str, ...] = ()
        self._unloaded: list[str] = []

    def act(self, step: Step, found: ModuleHost, *, wanted: Sequence[str], links: bool) -> None:
        """One step. What is stopped is recorded before, and forgotten after it was started."""
        if step.action == "stop":
            self._stopped = (*self._stopped, step.target)
            save_stopped(self._host, tuple(dict.fromkeys((*found.stopped, *self._stopped))))
        if step.action == "unload" and not self._unloaded:
            self._refuse_if_used()
        if step.target == DEV_CHAR:
            settle(self._run, self._observe, wanted=wanted, links=links)
        else:
            apply_step(self._run, step)
        if step.action == "unload":
            self._unloaded.append(step.target)
        if step.action == "start":
            self._forget(step.target)

    def _forget(self, unit: str) -> None:
        self._stopped = tuple(u for u in self._stopped if u != unit)
        save_stopped(self._host, tuple(u for u in read_stopped(self._host) if u != unit))

    def _refuse_if_used(self) -> None:
        """The kernel's own count, before the first module goes: not every user is seen in /proc/<pid>/fd."""
        users = uncounted_references(self._observe().modules)
        if users:
            raise ModuleError(f"{users}; nothing was unloaded: end what uses the GPUs, or reboot the host")

    def done(self) -> None:
        """Where the driver is to stay away, so do its services."""
        if self._state == UNLOADED:
            save_stopped(self._host, ())

    def restore(self) -> str:
        """Loads again what was unloaded and starts what was stopped; what of that failed, as the end of a message."""
        left = [name for name in reversed(self._unloaded) if self._run(["modprobe", name])[0] != 0]
        silent = tuple(u for u in reversed(self._stopped) if self._run(["systemctl", "start", u])[0] != 0)
        if self._stopped:
            save_stopped(self._host, tuple(reversed(silent)))
        self._unloaded, self._stopped = [], ()
        left += silent
        return f"; could not be brought back: {', '.join(left)}" if left else "; everything is as it was"
