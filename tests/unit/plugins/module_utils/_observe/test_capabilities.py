# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Capability nodes of MIG devices that are missing and could be made."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.capabilities import read_creatable
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_host import Gpu, MigDevice, Node

BASE = "/proc/driver/nvidia/capabilities/gpu1/mig/gi7"
FILES = {
    "/proc/devices": "Character devices:\n195 nvidia\n237 nvidia-caps\n238 nvidia-caps-imex-channels\n",
    f"{BASE}/access": "DeviceFileMinor: 198\nDeviceFileMode: 292\nDeviceFileModify: 1\n",
    f"{BASE}/ci0/access": "DeviceFileMinor: 199\nDeviceFileMode: 292\nDeviceFileModify: 1\n",
}
PROGRAM = "/usr/bin/nvidia-modprobe"
GPU = Gpu(0, 1, "GPU-a", "H100", "0000:41:00.0", True, (MigDevice(0, "MIG-a", 7, 0, "1g.10gb"),))
CAP = "/dev/nvidia-caps/nvidia-cap"


class RunningHost(HostRoot):
    """A machine that runs, with these files only."""

    def __init__(self, files, *, has_program=True):
        super().__init__("/")
        self._files = files
        self._has_program = has_program

    def text(self, path):
        return self._files.get(path)

    def exists(self, path):
        return self._has_program and path == PROGRAM

    def is_dir(self, path):
        return False

    def is_executable(self, path):
        return self.exists(path)


def test_numbers_come_from_the_driver():
    found = read_creatable(RunningHost(FILES), [GPU], {})
    assert list(found) == [f"{CAP}198", f"{CAP}199"]
    row = found[f"{CAP}199"]
    assert row.node == Node(f"{CAP}199", f"{CAP}199", 237, 199, 0o444, 0)
    assert row.capability == f"{BASE}/ci0/access"


def test_nodes_that_are_there_are_not_made():
    there = {f"{CAP}198": Node(f"{CAP}198", f"{CAP}198", 237, 198, 0o444, 0)}
    assert list(read_creatable(RunningHost(FILES), [GPU], there)) == [f"{CAP}199"]


NOTHING = {
    "no program": RunningHost(FILES, has_program=False),
    "no major": RunningHost({**FILES, "/proc/devices": ""}),
    "no such instance": RunningHost({"/proc/devices": FILES["/proc/devices"]}),
}


@pytest.mark.parametrize("host", NOTHING.values(), ids=NOTHING)
def test_nothing_can_be_made(host):
    assert read_creatable(host, [GPU], {}) == {}


def test_a_tree_is_left_alone(tmp_path):
    assert read_creatable(HostRoot(str(tmp_path)), [GPU], {}) == {}
