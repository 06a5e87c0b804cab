# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stops the units that hold GPUs, and starts them again whatever happens. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .._observe.command import Run
from .mig_state import MigState


class ClientError(Exception):
    """systemd refused to stop or start a unit; the message is its own."""


@contextmanager
def clients_stopped(run: Run, units: Sequence[str], state: MigState) -> Iterator[None]:
    """The active ones among ``units`` are stopped inside the block, in order, and started after it in reverse order.

    Units that an earlier, killed run left stopped are started too. Raises ClientError.
    """
    active = [u for u in units if _systemctl(run, "is-active", "--quiet", u)[0] == 0]
    stopped = [*active, *(u for u in state.stopped() if u not in active)]
    state.save_stopped(stopped)
    try:
        for unit in active:
            _expect(run, "stop", unit)
        yield
    finally:
        start_again(run, stopped, state)


def start_again(run: Run, units: Sequence[str], state: MigState) -> None:
    """Starts ``units`` in reverse order and forgets them. Raises ClientError for the first that does not come back."""
    for unit in reversed(units):
        _expect(run, "start", unit)
    state.save_stopped([])


def _expect(run: Run, verb: str, unit: str) -> None:
    status, _out, err = _systemctl(run, verb, unit)
    if status:
        raise ClientError(f"systemctl {verb} {unit} ended with {status}: {err.strip()}")


def _systemctl(run: Run, *args: str) -> tuple[int, str, str]:
    return run(["systemctl", *args])
