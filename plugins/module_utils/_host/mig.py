# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu-fleet-host mig: brings the GPUs back to the saved MIG layout. Private to this collection."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .._act.lock import PATH, LockedError, host_lock
from .._act.mig_clients import start_again
from .._act.mig_run import MigRun, Outcome
from .._act.mig_state import MigState, MigStateError
from .._act.ownership import STATE_DIRECTORY
from .._observe.files import HostRoot
from .._observe.mig import read_mig_offline
from .._observe.nvml import HelperMissing, NvmlFailure
from .._plan.mig_config_file import ConfigError
from .._plan.mig_wish import MigWish, parse_wish
from .command import run as run_command
from .lines import complain, say

DONE, FAILED, NOT_YET = 0, 1, 75

# The driver of a just booted or just updated host may still be loading.
WAIT_SECONDS = 60.0
PAUSE_SECONDS = 2.0

# mig-parted's unit has 480 s for the eight GPUs of a host; a GPU instance takes about a second to go.
LIMIT_SECONDS = 120.0
GPU_SECONDS = 60.0


def run(*, host_root: str = "/", lock: str = PATH, wait: float = WAIT_SECONDS) -> int:
    """Exit status: 0 done or nothing saved, 1 failed, 75 the driver is not loaded after ``wait`` seconds."""
    host = HostRoot(host_root)
    state = MigState(host.where(STATE_DIRECTORY))
    try:
        document = state.wish()
        if document is None:
            _say("no layout is saved, nothing to do")
            return DONE
        with _limit(host, state, wait), host_lock(path=lock):
            outcome = _bring(MigRun(host, run_command, state, say=_say), parse_wish(document), wait)
    except NvmlFailure as failure:
        return _fail(str(failure), NOT_YET if failure.kind == "driver_not_loaded" else FAILED)
    except (ConfigError, HelperMissing, LockedError, MigStateError, OSError) as error:
        return _fail(str(error))
    return _report(outcome)


def limit_seconds(gpus: int, wait: float) -> float:
    """How long the verb may take in all, from the number of GPUs on the PCI bus."""
    return LIMIT_SECONDS + wait + GPU_SECONDS * gpus


@contextmanager
def _limit(host: HostRoot, state: MigState, wait: float) -> Iterator[None]:
    """Ends the process when the time is over, also in the middle of a call of NVML that never comes back: the engines
    and the kubelet wait for this unit.
    """
    gpus = len(read_mig_offline(host))
    seconds = limit_seconds(gpus, wait)
    timer = threading.Timer(seconds, _expired(state, f"it took longer than {seconds:.0f} s for {gpus} GPUs; given up"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _expired(state: MigState, text: str) -> Callable[[], None]:
    """What the timer does: no unit is left stopped."""

    def end() -> None:
        trouble = start_again(run_command, state)
        os._exit(_fail("; ".join(filter(None, (text, trouble)))))

    return end


def _bring(mig: MigRun, wish: MigWish, wait: float) -> Outcome:
    """Waits for the driver, then does it. Raises NvmlFailure where the driver does not come."""
    end = time.monotonic() + wait
    while True:
        try:
            return mig.bring(wish)
        except NvmlFailure as failure:
            if failure.kind != "driver_not_loaded" or time.monotonic() >= end:
                raise
        time.sleep(PAUSE_SECONDS)


def _report(outcome: Outcome) -> int:
    if outcome.reboot_required:
        _say("a mode change waits for a reboot")
    if outcome.error is not None:
        kind, message = outcome.error
        return _fail(f"{kind}: {message}")
    _say(f"{len(outcome.decision.operations)} steps, the layout is as saved")
    return DONE


def _say(line: str) -> None:
    say(f"mig: {line}")


def _fail(message: str, status: int = FAILED) -> int:
    complain(f"mig: {message}")
    return status
