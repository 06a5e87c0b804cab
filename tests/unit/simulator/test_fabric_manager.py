# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from simulator import fabric_manager
from simulator.fabric_manager import MISMATCH, NOTHING_TO_DO, TOPOLOGY, problem
from simulator.layout import COMPLETED, machine_state

VERSION = "580.65.06"


@pytest.mark.parametrize(
    ("model", "nvlink", "missing", "loaded", "subnet_manager", "said"),
    [
        ("H100-80", "none", 0, VERSION, False, NOTHING_TO_DO),
        ("H100-80", "switch", 0, VERSION, False, ""),
        ("A100-80", "switch", 0, VERSION, False, ""),
        ("H100-80", "switch", 1, VERSION, False, TOPOLOGY),
        ("H100-80", "switch", 4, VERSION, False, NOTHING_TO_DO),
        ("H100-80", "switch", 0, "570.1", False, MISMATCH.format(own=VERSION, loaded="570.1")),
        ("H100-80", "none", 0, "none", False, MISMATCH.format(own=VERSION, loaded="none")),
        ("B200", "switch", 0, VERSION, False, NOTHING_TO_DO),
        ("B200", "switch", 0, VERSION, True, ""),
    ],
)
def test_what_keeps_the_fabric_manager_from_its_work(model, nvlink, missing, loaded, subnet_manager, said):
    state = machine_state([model] * 8, "host", nvlink=nvlink)
    del state.switches[:missing]
    assert problem(state, loaded, VERSION, subnet_manager=subnet_manager) == said


def test_all_gpus_join_the_fabric():
    state = machine_state(["H100-80"] * 8, "host", nvlink="switch")
    fabric_manager.configure(state)
    assert [(row["state"], row["summary"]) for row in state.fabrics] == [(str(COMPLETED), "1")] * 8


def test_settings_are_read_as_the_daemon_reads_them():
    text = "# LOG_LEVEL=1\nLOG_LEVEL=4\nFM_STAY_RESIDENT_ON_FAILURES = 0\n\nUNIX_SOCKET_PATH=\n"
    wanted = {"LOG_LEVEL": "4", "FM_STAY_RESIDENT_ON_FAILURES": "0", "UNIX_SOCKET_PATH": ""}
    assert fabric_manager.configuration(text) == wanted
