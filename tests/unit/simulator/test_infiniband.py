# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from simulator import infiniband, profiles
from simulator.infiniband import SM_DISABLED, adapters, port_files, vital_product_data
from simulator.place import Place


def test_bridges_follow_the_adapters_of_the_network_and_half_of_them_run_a_subnet_manager():
    found = adapters("connectx7", 8, 4, owner=1)
    assert [a.name for a in found if a.bridge] == ["mlx5_8", "mlx5_9", "mlx5_10", "mlx5_11"]
    assert [a.name for a in found if a.bridge and a.manager] == ["mlx5_8", "mlx5_10"]
    assert len({a.guid for a in found}) == len({a.bus for a in found}) == 12


@pytest.mark.parametrize(("bridge", "state"), [(False, "4: ACTIVE\n"), (True, "2: INIT\n")])
def test_a_bridge_waits_for_its_subnet_manager(bridge, state):
    row = infiniband.Adapter(0, "connectx7", "0000:18:00.0", 1, bridge)
    assert port_files(row)["ports/1/state"] == state
    assert port_files(row)["ports/1/rate"] == "400 Gb/sec (4X NDR)\n"


@pytest.mark.parametrize("manager", [True, False])
def test_the_capability_mask_says_who_may_run_a_subnet_manager(manager):
    row = infiniband.Adapter(0, "connectx7", "0000:18:00.0", 1, True, manager)
    assert bool(int(port_files(row)["ports/1/cap_mask"], 16) & SM_DISABLED) != manager


def test_product_data_has_the_lengths_of_its_parts():
    data = vital_product_data(b"name", b"SW_MNG")
    assert data[0] == 0x82
    assert data[3:7] == b"name"
    assert data[7] == 0x90
    assert len(data) == 10 + int.from_bytes(data[8:10], "little") + 1
    assert b"V3\x06SW_MNG" in data


def test_what_is_plugged_in_is_read_back(tmp_path):
    place, found = Place(tmp_path), profiles.adapters("hgx-b200", "host")
    infiniband.save(place, found)
    assert infiniband.load(place) == found
    assert profiles.adapters("h100x2", "host") == []
