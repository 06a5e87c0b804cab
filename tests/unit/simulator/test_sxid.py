# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from simulator.layout import machine_state
from simulator.sxid import kernel_lines, manager_text

STATE = machine_state(["H100-80"] * 8, "host", nvlink="switch")


@pytest.mark.parametrize(
    ("number", "lines"),
    [
        (12028, ["12028, Non-fatal, Link 32 egress non-posted PRIV error (First)"]),
        (20034, ["20034, Fatal, Link 32 LTSSM Fault Up", "20034, Data {0x50610002, 0x10100030}"]),
    ],
)
def test_the_kernel_log_names_switch_and_link(number, lines):
    head = "nvidia-nvswitch3: SXid (PCI:0000:c7:00.0): "
    assert kernel_lines(STATE, 3, number, 32).splitlines() == [head + line for line in lines]


def test_the_fabric_manager_writes_the_address_with_a_long_domain():
    wanted = (
        "detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:c7:00.0 physical id 3 port 33"
    )
    assert manager_text(STATE, 3, 20034, 33) == wanted


@pytest.mark.parametrize(("switch", "number", "word"), [(4, 20034, "has 4"), (0, 1, "12028, 20034, 22013")])
def test_what_is_not_there_is_refused_with_what_is(switch, number, word):
    with pytest.raises(ValueError, match=word):
        kernel_lines(STATE, switch, number, 0)
