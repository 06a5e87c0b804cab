# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change of the MIG layout that is killed before any NVML call, and run again, ends in the same state."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from simulator.module_host import RUNNER, Host
from simulator.systemd import Systemd

# Every one of so many calls is a test; 1 are all.
STRIDE = int(os.environ.get("GPU_FLEET_MIG_STRIDE", "19"))
KILLED = -9
UNITS = ("nvidia-dcgm.service", "nvidia-persistenced.service")
ENABLED = {"mig-enabled": True}
START = {"version": "v1", "mig-configs": {"start": [{"devices": [0], **ENABLED, "mig-devices": {"1g.5gb": 7}}]}}
WISH = {"version": "v1", "mig-configs": {"wish": [{"devices": "all", **ENABLED, "mig-devices": {"3g.20gb": 2}}]}}
BEFORE, AFTER = [{"1g.5gb": 7}, {}], [{"3g.20gb": 2}, {"3g.20gb": 2}]


def machine(folder: Path) -> tuple[Host, Systemd]:
    """A GPU full of small instances, another without MIG, and units that hold both."""
    host = Host(folder / "host", "a100x2")
    host.layout(config=START)
    (folder / "host/var/lib/gpu-fleet/mig/checkpoint.json").unlink()
    return host, Systemd(host, folder / "systemd", *UNITS)


def killed(host: Host, number: int) -> bool:
    """Whether the change made so many calls; then it was killed before the last."""
    arguments = {"host_root": str(host.root), "_ansible_check_mode": False, "config": WISH, "at_boot": True}
    status, said = RUNNER.run(host.box.environment, "mig_config", arguments, dies_at=number)
    assert status in (0, KILLED), said
    return status == KILLED


def devices(result: dict[str, Any]) -> list[dict[str, int]]:
    assert not result.get("failed"), result.get("msg")
    return [gpu["devices"] for gpu in result["gpus"]]


def test_killed_and_run_again(tmp_path: Path) -> None:
    for number in count(0, STRIDE):
        host, systemd = machine(tmp_path / str(number))
        if not killed(host, number):
            break
        assert devices(host.layout(config=WISH, at_boot=True)) == AFTER, number
        assert systemd.running == set(UNITS), number
        assert not host.layout(config=WISH, at_boot=True)["changed"], number
        assert json.loads(host.wish_path().read_text())["config"] == WISH, number
        # What was there before the first of the two runs is not forgotten, unless the first had done it all.
        assert devices(host.layout(state="restored")) == BEFORE, number
    assert number > 2 * STRIDE, "it was never killed"


@pytest.mark.parametrize("stop", ["start", "stop"])
def test_killed_while_a_unit_stops_or_starts(tmp_path: Path, stop: str) -> None:
    host, systemd = machine(tmp_path)
    systemd.kill(stop, UNITS[0])
    arguments = {"host_root": str(host.root), "_ansible_check_mode": False, "config": WISH}
    assert RUNNER.run(host.box.environment, "mig_config", arguments)[0] == KILLED
    systemd.relent()
    assert devices(host.layout(config=WISH)) == AFTER
    assert systemd.running == set(UNITS)
    assert not host.layout(config=WISH)["changed"]
