# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps on the driver's modules, and the way back when one fails."""

from __future__ import annotations

import json
import os
import signal

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._act.driver_modules import (
    Interrupted,
    ModuleRun,
    signals_raise,
)
from ansible_collections.gpu.fleet.plugins.module_utils._act.modules import ModuleError
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._observe.stopped_units import STOPPED_PATH, read_stopped
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import DriverVersion, LoadedModule
from ansible_collections.gpu.fleet.plugins.module_utils._plan.modules import (
    RELOADED,
    UNLOADED,
    ModuleHost,
    plan_modules,
)

DCGM, PERSISTENCED = "nvidia-dcgm.service", "nvidia-persistenced.service"
OLD, NEW = DriverVersion("570.172.08", "open"), DriverVersion("595.71.05", "open")
FOUND = ModuleHost(
    {n: LoadedModule(n, 0, ()) for n in ("nvidia", "nvidia_uvm")}, OLD, NEW, (), {}, {}, "6.1", (DCGM, PERSISTENCED)
)


class Programs:
    """Programs that do what they are asked, or fail where they are told to; what ran, in order."""

    def __init__(self, *failing: str) -> None:
        self.ran: list[str] = []
        self.failing = list(failing)

    def __call__(self, args):
        text = " ".join(args)
        self.ran.append(text)
        if text in self.failing:
            self.failing.remove(text)
            return 1, "", "it refused"
        return 0, "", ""


def carry_out(run: Programs, host: HostRoot, *, state: str = RELOADED, found: ModuleHost = FOUND) -> str:
    """Runs all steps as the module does; the message of a failure, '' without one."""
    task = ModuleRun(host, run, lambda: found, state=state)
    try:
        for step in plan_modules(found, state=state, wanted=("nvidia", "nvidia_uvm"), links=False).steps:
            task.act(step, found, wanted=("nvidia", "nvidia_uvm"), links=False)
    except ModuleError as error:
        return f"{error}{task.restore()}"
    task.done()
    return ""


def record(host: HostRoot) -> list[str]:
    return list(read_stopped(host))


RELOAD = [
    f"systemctl stop {DCGM}",
    f"systemctl stop {PERSISTENCED}",
    "modprobe -r nvidia_uvm",
    "modprobe -r nvidia",
    "modprobe nvidia",
    "modprobe nvidia_uvm",
    f"systemctl start {PERSISTENCED}",
    f"systemctl start {DCGM}",
]


def test_services_stop_in_order_and_start_in_reverse(tmp_path):
    run, host = Programs(), HostRoot(str(tmp_path))
    assert carry_out(run, host) == ""
    assert run.ran == RELOAD
    assert record(host) == []


# Whatever fails: the services that were stopped run again, and the modules that went are back.
@pytest.mark.parametrize("failing", RELOAD[:6])
def test_what_was_stopped_is_started_when_a_step_fails(tmp_path, failing):
    run, host = Programs(failing), HostRoot(str(tmp_path))
    message = carry_out(run, host)
    assert "it refused" in message
    assert "everything is as it was" in message
    stopped = [c.split()[-1] for c in run.ran if c.startswith("systemctl stop")]
    started = [c.split()[-1] for c in run.ran if c.startswith("systemctl start")]
    assert started == stopped[::-1]
    gone = [c.split()[-1] for c in RELOAD[2 : RELOAD.index(failing)] if c.startswith("modprobe -r")]
    after = run.ran[run.ran.index(failing) + 1 :]
    assert [c for c in after if c.startswith("modprobe")] == [f"modprobe {n}" for n in reversed(gone)]
    assert record(host) == []


def test_a_service_that_does_not_come_back_is_named_and_remembered(tmp_path):
    run, host = Programs("modprobe -r nvidia", f"systemctl start {DCGM}"), HostRoot(str(tmp_path))
    assert f"could not be brought back: {DCGM}" in carry_out(run, host)
    assert record(host) == [DCGM]


def test_the_record_is_there_before_a_service_stops(tmp_path):
    host = HostRoot(str(tmp_path))
    seen = []

    def run(args):
        seen.append((args[1], record(host)))
        return 0, "", ""

    carry_out(run, host)
    assert ("stop", [DCGM]) in seen
    assert ("stop", [DCGM, PERSISTENCED]) in seen


def test_nothing_is_unloaded_under_an_unseen_user(tmp_path):
    run, host = Programs(), HostRoot(str(tmp_path))
    used = ModuleHost(**{**vars(FOUND), "modules": {"nvidia": LoadedModule("nvidia", 3, ())}})
    message = carry_out(run, host, found=used)
    assert "nvidia has 3 references" in message
    assert not [c for c in run.ran if c.startswith("modprobe")]
    assert [c for c in run.ran if "start" in c] == [f"systemctl start {PERSISTENCED}", f"systemctl start {DCGM}"]


def test_services_stay_stopped_where_the_driver_is_to_stay_away(tmp_path):
    run, host = Programs(), HostRoot(str(tmp_path))
    assert carry_out(run, host, state=UNLOADED) == ""
    assert not [c for c in run.ran if "start" in c]
    assert record(host) == []


def test_a_signal_ends_the_run_through_the_way_back():
    before = signal.getsignal(signal.SIGHUP)
    with pytest.raises(Interrupted, match="SIGHUP"), signals_raise():
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == before


def test_a_record_that_is_none_is_said(tmp_path):
    host = HostRoot(str(tmp_path))
    path = host.where(STOPPED_PATH)
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"units": []}, file)
    with pytest.raises(ValueError, match="is no list of units"):
        read_stopped(host)
