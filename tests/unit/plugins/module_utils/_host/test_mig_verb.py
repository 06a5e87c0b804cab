# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The boot verb's limit of time: from the number of GPUs, also where NVML never answers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._host import mig
from ansible_collections.gpu.fleet.plugins.module_utils._host.units import MIG_SERVICE


@pytest.mark.parametrize(("gpus", "seconds"), [(0, 180), (1, 240), (8, 660), (16, 1140)])
def test_limit(gpus, seconds):
    assert mig.limit_seconds(gpus, mig.WAIT_SECONDS) == seconds


def test_the_unit_waits_longer_than_the_program():
    found = re.search(r"^TimeoutStartSec=(\d+)$", MIG_SERVICE, re.MULTILINE)
    assert int(found[1]) > mig.limit_seconds(16, mig.WAIT_SECONDS)


class Ended(Exception):
    """In place of the end of the process."""


def test_an_end_by_the_limit_starts_what_was_stopped(tmp_path: Path, monkeypatch, capsys):
    asked = []

    def run(args):
        asked.append(list(args))
        return 0, "", ""

    def end(status):
        raise Ended(status)

    monkeypatch.setattr(mig, "run_command", run)
    monkeypatch.setattr(mig.os, "_exit", end)
    state = mig.MigState(str(tmp_path))
    state.save_stopped(["nvidia-dcgm.service"])
    with pytest.raises(Ended, match="1"):
        mig._expired(state, "it took longer than 240 s for 1 GPUs")()
    assert asked == [["systemctl", "start", "nvidia-dcgm.service"]]
    assert capsys.readouterr().err == "mig: it took longer than 240 s for 1 GPUs\n"
    assert state.stopped() == []


def test_a_verb_that_hangs_is_ended(tmp_path: Path, monkeypatch):
    """The timer is set from the host's PCI bus and runs beside the work."""
    folder = tmp_path / "sys/bus/pci/devices/0000:41:00.0"
    folder.mkdir(parents=True)
    for name, text in {"vendor": "0x10de", "device": "0x20b0", "class": "0x030200"}.items():
        (folder / name).write_text(text)
    wish = tmp_path / "var/lib/gpu-fleet/mig/wish.yaml"
    wish.parent.mkdir(parents=True)
    wish.write_text(json.dumps({"schema": 1, "selected_config": "all-disabled"}))
    set_to = []

    class Timer:
        def __init__(self, seconds, end):
            set_to.append(seconds)

        def start(self):
            set_to.append("started")

        def cancel(self):
            set_to.append("cancelled")

    def bring(*_arguments):
        assert set_to == [180.0, "started"]
        raise mig.LockedError("busy")

    monkeypatch.setattr(mig.threading, "Timer", Timer)
    monkeypatch.setattr(mig, "_bring", bring)
    assert mig.run(host_root=str(tmp_path), lock=str(tmp_path / "lock"), wait=0) == 1
    assert set_to[-1] == "cancelled"
