# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.gpus import BOARDS
from ansible_collections.gpu.fleet.plugins.module_utils._catalog.mig import MODELS, WITHOUT_GEOMETRY, find_model
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_capacity import room_for
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_config_file import ConfigError, parse_config
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_documents import checkpoint, export_config
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_layout import ComputeInstance, GpuInstance, MigGpu
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_named import named_layouts
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_search import find_layout
from ansible_collections.gpu.fleet.plugins.module_utils._plan.mig_wish import MigWish, parse_wish


def gpu(index=0, device="20B0", *places, enabled=True):
    model = find_model(device)
    slices = {p.name: p.slices for p in model.profiles} if model else {}
    instances = tuple(
        GpuInstance(n, name, slices[name], int(start), (ComputeInstance(0, slices[name]),))
        for n, (name, _sep, start) in enumerate(p.partition("@") for p in places)
    )
    return MigGpu(
        index=index,
        uuid=f"GPU-{index}",
        pci_address=f"0000:0{index}:00.0",
        pci_id=f"{device}10DE",
        subsystem_id="000010DE",
        name=model.name if model else "T4",
        capable=model is not None,
        enabled=enabled and model is not None,
        pending=enabled and model is not None,
        profiles=model.profiles if model else (),
        instances=instances,
        source="nvml",
    )


def entries(gpus, name):
    return named_layouts(gpus)["mig-configs"][name]


NAMED = {
    "40 GB board": (["20B0"], "all-1g.10gb", [{"1g.10gb": 4}]),
    "80 GB board": (["2330"], "all-1g.10gb", [{"1g.10gb": 7}]),
    "media engines": (["20B0"], "all-1g.5gb.me", [{"1g.5gb+me": 1}]),
    "without media engines": (["2BB5"], "all-2g.48gb-me", [{"2g.48gb-me": 2}]),
    "balanced, seven slices": (["20B0"], "all-balanced", [{"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}]),
    "balanced, four slices": (["20B7"], "all-balanced", [{"1g.6gb": 2, "2g.12gb": 1}]),
    "both boards have it": (["20B0", "2330"], "all-1g.10gb", [{"1g.10gb": 4}, {"1g.10gb": 7}]),
    "one of two boards has it": (["20B0", "2330"], "all-1g.5gb", [{"1g.5gb": 7}]),
}


@pytest.mark.parametrize(("devices", "name", "counts"), NAMED.values(), ids=NAMED)
def test_layouts_that_need_no_config(devices, name, counts):
    found = entries([gpu(i, d) for i, d in enumerate(devices)], name)
    assert [e["mig-devices"] for e in found] == counts
    assert all(("device-filter" in e) is (len(devices) > 1) for e in found)


# Names in mig-parted's default file (bd7160f), so that labels and variables that name them go on working.
PARTED = {
    "20B0": "1g.5gb 1g.5gb.me 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb",
    "2330": "1g.10gb 1g.10gb.me 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb",
    "20B7": "1g.6gb 1g.6gb.me 2g.12gb 2g.12gb.me 4g.24gb",
    "2321": "1g.12gb 1g.12gb.me 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb",
    "2342": "1g.12gb 1g.12gb.me 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb",
    "2335": "1g.18gb 1g.18gb.me 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb",
    "2348": "1g.18gb 1g.18gb.me 1g.36gb 2g.36gb 3g.72gb 4g.72gb 7g.144gb",
    "2901": "1g.23gb 1g.23gb.me 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb",
    "2941": "1g.23gb 1g.23gb.me 1g.47gb 2g.47gb 3g.93gb 4g.93gb 7g.186gb",
    "3182": "1g.34gb 1g.34gb.me 1g.67gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb",
    "31C2": "1g.35gb 1g.35gb.me 1g.70gb 2g.70gb 3g.139gb 4g.139gb 7g.278gb",
    "2BB5": "1g.24gb 1g.24gb.me 1g.24gb.gfx 1g.24gb.me.all 1g.24gb-me "
    "2g.48gb 2g.48gb.gfx 2g.48gb.me.all 2g.48gb-me 4g.96gb 4g.96gb.gfx",
}


@pytest.mark.parametrize(("device", "names"), PARTED.items(), ids=PARTED)
def test_names_are_those_of_mig_parted(device, names):
    found = named_layouts([gpu(0, device)])["mig-configs"]
    assert set(found) - {"all-disabled", "all-enabled", "all-balanced"} == {f"all-{n}" for n in names.split()}


def test_every_board_with_mig_has_a_geometry_or_a_reason_why_not():
    boards = {f"{b.device:04X}" for b in BOARDS if b.mig}
    assert {d for d in boards if find_model(d) is None} == set(WITHOUT_GEOMETRY) & boards
    assert not [d for d in WITHOUT_GEOMETRY if find_model(d)]


def test_what_is_assumed_is_marked():
    """A board with starts that were seen has no mark; of one without, it is known what was taken over."""
    assert {m.device_ids[0] for m in MODELS if not m.assumed} == {"20B0", "20B2", "20B7", "2322", "2321", "2BB5"}
    assert {a for m in MODELS for a in m.assumed} <= {"starts", "profiles"}


def test_on_and_off_need_no_profiles():
    assert set(named_layouts([])["mig-configs"]) == {"all-disabled", "all-enabled"}


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_every_layout_without_config_is_valid_and_fits(model):
    configs = parse_config(named_layouts([gpu(0, model.device_ids[0])]))
    assert len(configs) >= len(model.profiles) + 2
    for found in configs.values():
        layout = find_layout(model.profiles, (), found[0].counts)
        assert len(layout.create) == sum(c for _n, c in found[0].counts)


def test_export_groups_equal_gpus():
    seven = [f"1g.5gb@{n}" for n in range(7)]
    gpus = [gpu(0, "20B0", *seven), gpu(1, "20B0", *seven), gpu(2, "20B0", enabled=False)]
    assert export_config(gpus)["mig-configs"]["current"] == [
        {"devices": [0, 1], "mig-enabled": True, "mig-devices": {"1g.5gb": 7}},
        {"devices": [2], "mig-enabled": False, "mig-devices": {}},
    ]


def test_export_of_mixed_boards_has_filters():
    found = export_config([gpu(0, "20B0", "7g.40gb@0"), gpu(1, "1EB8")])["mig-configs"]["current"]
    assert [(e["device-filter"], e["devices"], e["mig-enabled"]) for e in found] == [
        ("0x20B010DE", "all", True),
        ("0x1EB810DE", "all", False),
    ]


def test_export_is_a_config_that_changes_nothing():
    gpus = [gpu(0, "20B0", "1g.5gb@2", "3g.20gb@4"), gpu(1, "2330", "7g.80gb@0"), gpu(2, "20B0", enabled=False)]
    decision = MigWish(config=export_config(gpus)).decide(gpus)
    assert decision.error_kind is None
    assert decision.operations == ()


def test_checkpoint_brings_every_start_back():
    before = gpu(0, "20B0", "1g.5gb@1", "2g.10gb@2", "3g.20gb@4")
    after = gpu(0, "20B0", *(f"1g.5gb@{n}" for n in range(7)))
    decision = MigWish(checkpoint=checkpoint([before])).decide([after])
    made = [s.target.split()[1] for s in decision.plan.steps if s.action == "create_gpu_instance"]
    gone = [s.target.split()[1] for s in decision.plan.steps if s.action == "destroy_gpu_instance"]
    assert sorted(made) == ["2g.10gb@2", "3g.20gb@4"]
    assert "1g.5gb@1" not in gone
    assert MigWish(checkpoint=checkpoint([before])).decide([before]).operations == ()


CHECKPOINTS = {
    "no checkpoint": ({"a": 1}, "invalid_config", "is no checkpoint"),
    "row without mode": ({"gpus": [{"uuid": "GPU-0"}]}, "invalid_config", "has no mig_enabled"),
    "GPU that is gone": (
        {"gpus": [{"uuid": "GPU-9", "mig_enabled": True}]},
        "device_not_found",
        "GPU-9, which this host lacks",
    ),
    "instance without start": (
        {"gpus": [{"uuid": "GPU-0", "mig_enabled": True, "instances": [{"profile": "3g.20gb"}]}]},
        "invalid_config",
        "without profile or start",
    ),
}


@pytest.mark.parametrize(("document", "kind", "named"), CHECKPOINTS.values(), ids=CHECKPOINTS)
def test_wrong_checkpoints(document, kind, named):
    with pytest.raises(ConfigError, match=named) as found:
        MigWish(checkpoint=document).targets([gpu()])
    assert found.value.kind == kind


def test_illegal_start_in_a_checkpoint():
    row = {"profile": "3g.20gb", "start": 2, "compute": ["3g.20gb"]}
    document = {"gpus": [{"uuid": "GPU-0", "mig_enabled": True, "instances": [row]}]}
    assert MigWish(checkpoint=document).decide([gpu()]).error_kind == "infeasible_layout"


def test_saved_wish_keeps_what_was_selected_only():
    config = {
        "version": "v1",
        "mig-configs": {n: [{"devices": "all", "mig-enabled": False}] for n in ("a", "b")},
    }
    wish = MigWish(config=config, selected_config="b", gpu_clients=("nvidia-dcgm.service",))
    saved = wish.document()
    assert list(saved["config"]["mig-configs"]) == ["b"]
    assert parse_wish(saved).document() == saved


def test_saved_wish_of_another_release():
    with pytest.raises(ConfigError, match="schema 2, wanted 1"):
        parse_wish({"schema": 2})


ROOM = {
    "nothing there": ((), "1g.5gb", 7),
    "one unit taken": (("1g.5gb@0",), "1g.5gb", 6),
    "both halves spoiled": (("1g.5gb@2", "1g.5gb@4"), "3g.20gb", 0),
    "one half free": (("1g.5gb@2",), "3g.20gb", 1),
    "whole GPU taken": (("7g.40gb@0",), "1g.5gb", 0),
    "media engines spoken for": (("1g.5gb+me@0",), "1g.5gb+me", 0),
}


@pytest.mark.parametrize(("places", "profile", "free"), ROOM.values(), ids=ROOM)
def test_room(places, profile, free):
    there = gpu(0, "20B0", *places)
    assert room_for(there, there.profile(profile)) == free


def test_no_room_while_mig_is_off():
    there = gpu(0, "20B0", enabled=False)
    assert room_for(there, there.profile("1g.5gb")) == 0
