# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stops the units that hold GPUs, and starts them again whatever happens. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from .._observe.command import Run
from .mig_state import MigState

RUNNING = ("active", "activating", "reloading")


class ClientError(Exception):
    """systemd refused to stop a unit; the message is its own."""


def active_units(run: Run, units: Sequence[str]) -> tuple[str, ...]:
    """The running ones among ``units``, in their order; none where there is no systemd."""
    if not units:
        return ()
    _status, out, _err = run(["systemctl", "is-active", *units])
    return tuple(unit for unit, state in zip(units, out.split()) if state in RUNNING)


class ClientsStopped:
    """A context in which ``units`` are stopped: in order before it, started after it in reverse order.

    Units that an earlier, killed run left stopped are started too. ``trouble`` says after the context which did not
    start; they stay on record, so that the next run tries again. Entering raises ClientError.
    """

    def __init__(self, run: Run, units: Sequence[str], state: MigState) -> None:
        self._run = run
        self._units = list(units)
        self._state = state
        self.trouble = ""

    def __enter__(self) -> ClientsStopped:
        left = [u for u in self._state.stopped() if u not in self._units]
        self._state.save_stopped([*self._units, *left])
        try:
            for unit in self._units:
                self._stop(unit)
        except ClientError:
            self.trouble = start_again(self._run, self._state)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.trouble = start_again(self._run, self._state)

    def _stop(self, unit: str) -> None:
        status, _out, err = self._run(["systemctl", "stop", unit])
        if status:
            raise ClientError(f"systemctl stop {unit} ended with {status}: {err.strip()}")


def start_again(run: Run, state: MigState) -> str:
    """Starts every unit on record in reverse order and forgets those that started; empty, or why others did not."""
    refused: dict[str, str] = {}
    for unit in reversed(state.stopped()):
        status, _out, err = run(["systemctl", "start", unit])
        if status:
            refused[unit] = f"systemctl start {unit} ended with {status}: {err.strip()}"
    state.save_stopped([unit for unit in state.stopped() if unit in refused])
    return "; ".join(refused.values())
