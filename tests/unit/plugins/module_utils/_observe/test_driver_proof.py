# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readers of what proves a driver, and the wait for services."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.driver_proof import (
    read_imex_state,
    read_kernels,
    read_last_messages,
    read_licence,
    settled_proof,
)
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_proof import DriverProof

LOG = """\
Dec 01 09:00:01 gpu1 kernel: NVRM: GPU at PCI:0000:42:00: GPU-7f0e
Dec 01 09:00:02 gpu1 kernel: NVRM: Xid (PCI:0000:41:00): 31, pid=4211, name=python3, Ch 00000008
Dec 01 09:00:03 gpu1 kernel: NVRM: Xid (PCI:0000:42:00): 79, pid='<unknown>', GPU has fallen off the bus.
Dec 01 09:00:04 gpu1 kernel: pci 0000:43:00.0: not ready 1023ms after resume; waiting
"""


def says(*texts: str):
    left = list(texts)
    return lambda args: (0, left.pop(0) if left else "", "")


def test_last_message_about_each_missing_gpu():
    found = read_last_messages(says(LOG), ["0000:42:00.0", "0000:43:00.0", "0000:44:00.0"])
    assert "79" in found["0000:42:00.0"]
    assert "fallen off the bus" in found["0000:42:00.0"]
    assert "not ready 1023ms" in found["0000:43:00.0"]
    assert "0000:44:00.0" not in found


def test_without_a_journal_dmesg_is_asked():
    found = read_last_messages(
        says("", "[    3.1] NVRM: Xid (PCI:0000:42:00): 79, GPU has fallen off the bus.\n"), ["0000:42:00.0"]
    )
    assert "fallen off" in found["0000:42:00.0"]


@pytest.mark.parametrize(
    ("text", "state"), [("READY\n", "READY"), ("INIT_GPU\n", "INIT_GPU"), ("", None), ("usage", None)]
)
def test_word_of_the_imex_daemon(text, state):
    assert read_imex_state(says(text)) == state


def test_licence_by_the_last_word_of_the_journal():
    lines = [
        "Dec 01 09:00:01 vm nvidia-gridd[7]: Started (7)",
        "Dec 01 09:00:02 vm nvidia-gridd[7]: License acquired successfully. (Info: 10.0.0.5, NVIDIA vApps)",
    ]
    assert read_licence(says("\n".join(lines)))[0] == "acquired"
    assert read_licence(says("")) == (None, None)


def test_kernels_that_can_be_booted(tmp_path):
    for release in ("6.1.0-57-amd64", "6.1.0-60-amd64", "6.1.0-1-gone"):
        (tmp_path / "lib/modules" / release).mkdir(parents=True)
        (tmp_path / "lib/modules" / release / "modules.dep").write_text("")
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/vmlinuz-6.1.0-57-amd64").write_text("")
    (tmp_path / "lib/modules/6.1.0-60-amd64/vmlinuz").write_text("")

    def run(args):
        there = "6.1.0-57-amd64" in args
        return (0, "version: 595.71.05\nlicense: Dual MIT/GPL\n", "") if there else (1, "", "not found")

    assert read_kernels(HostRoot(str(tmp_path)), run) == {"6.1.0-57-amd64": "595.71.05", "6.1.0-60-amd64": None}


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("ready_after", "timeout", "looks"), [(0, 60, 1), (3, 60, 4), (99, 6, 4), (99, 0, 1)])
def test_the_wait_is_as_short_as_it_can_be_and_ends(ready_after, timeout, looks):
    clock, seen = Clock(), []

    def read() -> DriverProof:
        seen.append(clock.now)
        return DriverProof(imex="READY" if len(seen) > ready_after else "INIT_GPU")

    proof = settled_proof(
        read, lambda p: p.imex != "READY", timeout=timeout, sleep=clock.sleep, clock=lambda: clock.now
    )
    assert len(seen) == looks
    assert (proof.imex == "READY") == (ready_after < looks)
