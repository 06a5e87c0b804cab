# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_config_file import (
    ConfigError,
    parse_config,
    resolve,
    select_config,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_layout import MigGpu, parse_device_name

GOOD = {"devices": "all", "mig-enabled": True, "mig-devices": {"1g.5gb": 7}}


def document(*entries, **more):
    return {"version": "v1", "mig-configs": {"a": list(entries)}, **more}


def gpu(index, pci_id="20B010DE", subsystem="134710DE"):
    return MigGpu(index, f"GPU-{index}", f"0000:0{index}:00.0", pci_id, subsystem, "board", True)


# document -> what the message has to name
WRONG = {
    "empty": ({}, "config is no mapping"),
    "text": ("v1", "config is no mapping"),
    "no version": ({"mig-configs": {"a": [GOOD]}}, "version is None; write version: v1"),
    "another version": ({"version": "v2", "mig-configs": {"a": [GOOD]}}, "version is 'v2'"),
    "unknown key on top": (document(GOOD, profile="x"), "unknown key 'profile'"),
    "no layouts": ({"version": "v1"}, "mig-configs has no layout"),
    "empty list": (document(), r"mig-configs\.a has no entry"),
    "entry is a text": (document("all"), r"mig-configs\.a\[0\] is 'all'"),
    "unknown key": (document({**GOOD, "mig-profile": "x"}), "unknown key 'mig-profile'"),
    "no devices": (document({"mig-enabled": False}), r"a\[0\]\.devices is missing"),
    "no mode": (document({"devices": "all"}), r"a\[0\]\.mig-enabled is missing"),
    "mode is a text": (document({**GOOD, "mig-enabled": "yes"}), "mig-enabled is 'yes'; write true or false"),
    "devices is another word": (document({**GOOD, "devices": "some"}), "devices is 'some'"),
    "negative index": (document({**GOOD, "devices": [-1]}), r"devices is \[-1\]"),
    "no UUID": (document({**GOOD, "devices": ["GPU-1"]}), r"devices is \['GPU-1'\].*nvidia-smi -L"),
    "UUID of a MIG device": (
        document({**GOOD, "devices": ["MIG-5d4dd2a0-7d3c-4b6c-8f0e-2a1b3c4d5e6f"]}),
        "write all, or a list",
    ),
    "index is a bool": (document({**GOOD, "devices": [True]}), r"devices is \[True\]"),
    "malformed filter": (document({**GOOD, "device-filter": "20B010DE"}), "device-filter holds '20B010DE'"),
    "filter too short": (document({**GOOD, "device-filter": ["0x20B0"]}), "device-filter holds '0x20B0'"),
    "enabled without devices": (document({"devices": "all", "mig-enabled": True}), "mig-devices is None"),
    "disabled with devices": (document({**GOOD, "mig-enabled": False}), "although mig-enabled is false"),
    "no profile name": (document({**GOOD, "mig-devices": {"1g5gb": 7}}), "holds '1g5gb', no profile name"),
    "upper case": (document({**GOOD, "mig-devices": {"1G.5GB": 7}}), "no profile name"),
    "negative count": (document({**GOOD, "mig-devices": {"1g.5gb": -1}}), r"1g\.5gb is -1"),
    "count is a text": (document({**GOOD, "mig-devices": {"1g.5gb": "7"}}), r"1g\.5gb is '7'"),
    "only zeroes": (document({**GOOD, "mig-devices": {"1g.5gb": 0}}), "only zero counts"),
    "another layout is broken": (
        {"version": "v1", "mig-configs": {"a": [GOOD], "b": [{"devices": "all"}]}},
        r"mig-configs\.b\[0\]\.mig-enabled is missing",
    ),
}


@pytest.mark.parametrize(("config", "named"), WRONG.values(), ids=WRONG)
def test_mistakes_are_named(config, named):
    with pytest.raises(ConfigError, match=named) as found:
        parse_config(config)
    assert found.value.kind == "invalid_config"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1g.5gb", "1g.5gb"),
        ("1c.1g.5gb", "1g.5gb"),
        ("2c.3g.20gb", "2c.3g.20gb"),
        ("1g.10gb+me", "1g.10gb+me"),
        ("1g.24gb+me.all", "1g.24gb+me.all"),
        ("1g.24gb-me", "1g.24gb-me"),
        ("1g.24gb+gfx,me", "1g.24gb+gfx,me"),
    ],
)
def test_device_names(text, name):
    assert str(parse_device_name(text)) == name


@pytest.mark.parametrize("text", ["1g.5gb+me,me", "1g.5gb+1x", "1g.5gb+me-gfx", "g.5gb", "1g.5gb ", "0g.5gb", "1g.5"])
def test_what_is_no_device_name(text):
    assert parse_device_name(text) is None


def test_equal_names_are_added_and_zeroes_dropped():
    entry = {**GOOD, "mig-devices": {"1g.5gb": 2, "1c.1g.5gb": 1, "2g.10gb": 0}}
    counts = parse_config(document(entry))["a"][0].counts
    assert [(str(n), c) for n, c in counts] == [("1g.5gb", 3)]


FILTERS = {
    "board": ("0x20B010DE", [0]),
    "board in lower case": ("0x20b010de", [0]),
    "number, as YAML reads it unquoted": (0x20B010DE, [0]),
    "one of several": (["0x233010DE", "0x20B010DE"], [0, 1]),
    "board and subsystem": ("0x20B010DE:0x134710DE", [0]),
    "other subsystem": (["0x20B010DE:0x000010DE", "0x233010DE"], [1]),
    "empty matches all": ("", [0, 1]),
}


@pytest.mark.parametrize(("value", "selected"), FILTERS.values(), ids=FILTERS)
def test_filters(value, selected):
    entries = parse_config(document({**GOOD, "device-filter": value}))["a"]
    assert list(resolve(entries, [gpu(0), gpu(1, "233010DE")])) == selected


def test_last_entry_stands():
    entries = parse_config(document(GOOD, {**GOOD, "devices": [0], "mig-devices": {"3g.20gb": 2}}))["a"]
    targets = resolve(entries, [gpu(0), gpu(1)])
    assert [[str(n) for n, _c in t.counts] for t in targets.values()] == [["3g.20gb"], ["1g.5gb"]]
    assert [t.explicit for t in targets.values()] == [True, False]


def test_index_that_the_host_lacks():
    entries = parse_config(document({**GOOD, "devices": [0, 8]}))["a"]
    with pytest.raises(ConfigError, match=r"names GPU 8, but the host has these indexes: 0, 1") as found:
        resolve(entries, [gpu(0), gpu(1)])
    assert found.value.kind == "device_not_found"


NUMBER = "5d4dd2a0-7d3c-4b6c-8f0e-2a1b3c4d5e6"


def numbered(index):
    return MigGpu(index, f"GPU-{NUMBER}{index}", f"0000:0{index}:00.0", "20B010DE", "134710DE", "board", True)


def test_devices_by_uuid():
    entries = parse_config(document({**GOOD, "devices": [f"GPU-{NUMBER}1", 2]}))["a"]
    assert list(resolve(entries, [numbered(0), numbered(1), numbered(2)])) == [1, 2]


def test_uuid_that_the_host_lacks():
    entries = parse_config(document({**GOOD, "devices": [f"GPU-{NUMBER}7", 0]}))["a"]
    with pytest.raises(ConfigError, match=f"names GPU GPU-{NUMBER}7, but the host has these UUIDs: GPU-{NUMBER}0"):
        resolve(entries, [numbered(0)])


def test_nothing_selected():
    entries = parse_config(document({**GOOD, "device-filter": "0x233010DE"}))["a"]
    with pytest.raises(ConfigError, match="no entry selects a GPU"):
        resolve(entries, [gpu(0)])


def test_host_without_gpus_has_no_targets():
    assert resolve(parse_config(document(GOOD))["a"], []) == {}


SELECT = {
    "the only one": (["a"], None, "a"),
    "by name": (["a", "b"], "b", "b"),
    "ambiguous": (["a", "b"], None, "not set and the config holds several"),
    "unknown": (["a"], "c", "it holds: a"),
}


@pytest.mark.parametrize(("names", "wanted", "result"), SELECT.values(), ids=SELECT)
def test_selection(names, wanted, result):
    configs = parse_config({"version": "v1", "mig-configs": {n: [GOOD] for n in names}})
    if len(result) == 1:
        assert select_config(configs, wanted)[0] == result
        return
    with pytest.raises(ConfigError, match=result) as found:
        select_config(configs, wanted)
    assert found.value.kind == "unknown_config"
    assert "mig_selected_config" in f"{found.value} {found.value.wanted}"
