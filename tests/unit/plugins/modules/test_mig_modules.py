# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""mig_config, mig_info and the boot-time verb on a simulated machine: real pynvml, simulated NVML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.module_host import Host
from simulator.state import edit

IN_USE, UNKNOWN = 19, 999


def devices(result: dict[str, Any]) -> list[dict[str, int]]:
    return [g["devices"] for g in result["gpus"]]


def text(plan: dict[str, Any]) -> list[str]:
    return [f"{s['action']} {s['target']}" for s in plan["plan"]["steps"]]


@pytest.mark.parametrize(
    ("profile", "small", "half"), [("a100x2", "1g.5gb", "3g.20gb"), ("h100x2", "1g.10gb", "3g.40gb")]
)
def test_life_of_a_layout(tmp_path: Path, profile: str, small: str, half: str) -> None:
    host = Host(tmp_path, profile)
    planned = host.layout(selected_config=f"all-{small}", check=True)
    assert planned["changed"]
    assert planned["writes"] == []
    assert [g["predicted"]["devices"] for g in planned["gpus"]] == [{small: 7}] * 2

    made = host.layout(selected_config=f"all-{small}")
    assert text(made) == text(planned)
    assert devices(made) == [{small: 7}] * 2

    again = host.layout(selected_config=f"all-{small}")
    assert not again["changed"]
    assert again["writes"] == []

    assert devices(host.want({half: 2})) == [{half: 2}] * 2
    off = host.layout(selected_config="all-disabled")
    assert [g["enabled"] for g in off["gpus"]] == [False, False]
    assert not host.layout(selected_config="all-disabled")["changed"]


def test_drift_is_taken_back_with_the_fewest_destroys(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    host.want({"1g.5gb": 4, "3g.20gb": 1})
    host.box.nvml(
        "n = c_uint(); a = (c_nvmlGpuInstance_t * 7)(); nvmlDeviceGetGpuInstances(gpu(), 19, a, byref(n)); "
        "c = nvmlGpuInstanceGetComputeInstanceById(a[0], 0); nvmlComputeInstanceDestroy(c); "
        "nvmlGpuInstanceDestroy(a[0]); result = 0"
    )
    back = host.want({"1g.5gb": 4, "3g.20gb": 1})
    assert devices(back) == [{"1g.5gb": 4, "3g.20gb": 1}]
    assert [s.split()[0] for s in text(back)] == ["create_gpu_instance"]


def busy_instance(host: Host) -> dict[str, Any]:
    row = host.want({"2g.10gb": 1})["gpus"][0]["instances"][0]
    host.box.process(gi=row["gpu_instance"], ci=0, pid=4242)
    return row


def test_busy_instance_is_not_destroyed(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    busy_instance(host)
    refused = host.want({"1g.5gb": 7})
    assert refused["failed"]
    assert refused["error_kind"] == "in_use"
    assert "4242" in refused["msg"]
    assert refused["writes"] == []


def test_busy_instance_stays_where_the_layout_has_room_for_it(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    start = busy_instance(host)["start"]
    grown = host.want({"2g.10gb": 1, "3g.20gb": 1})
    assert devices(grown) == [{"2g.10gb": 1, "3g.20gb": 1}]
    assert [i["processes"] for i in grown["gpus"][0]["instances"] if i["start"] == start] == [[4242]]


def test_impossible_request_writes_nothing(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x2")
    refused = host.want({"1g.5gb": 8})
    assert (refused["error_kind"], refused["writes"]) == ("infeasible_layout", [])
    assert not (tmp_path / "var/lib/gpu-fleet").exists()


def test_ampere_that_cannot_be_reset_waits_for_a_reboot(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    host.set_gpu(passthrough="1")
    skipped = host.layout(selected_config="all-enabled", mode_only=True, skip_reset=True)
    assert (skipped["changed"], skipped["reboot_required"]) == (True, True)
    refused = host.want({"1g.5gb": 7})
    assert (refused["error_kind"], refused["reboot_required"]) == ("reset_required", True)


def test_foreign_client_blocks_a_mode_change(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    host.set_gpu(client="1")
    assert host.want({"1g.5gb": 7})["error_kind"] == "mode_change_blocked"


def test_pending_mode_is_brought_about_by_a_reset_of_this_gpu(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x2")
    host.set_gpu(0, pending="1")
    done = host.layout(
        config={
            "version": "v1",
            "mig-configs": {"want": [{"devices": [0], "mig-enabled": True, "mig-devices": {"7g.40gb": 1}}]},
        }
    )
    assert text(done)[0].startswith("reset_gpu ")
    assert [g["enabled"] for g in done["gpus"]] == [True, False]


def test_instance_without_its_compute_instance_is_not_left_behind(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    host.set_gpu(mig="1", pending="1")
    host.box.fault("nvmlGpuInstanceCreateComputeInstance", UNKNOWN)
    refused = host.want({"7g.40gb": 1})
    assert refused["error_kind"] == "nvml_error"
    assert host.box.state.instances == []


def test_short_lived_handle_is_waited_for(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    host.want({"3g.20gb": 1})
    host.box.fault("nvmlComputeInstanceDestroy", IN_USE, count=2)
    assert devices(host.want({"1g.5gb": 7})) == [{"1g.5gb": 7}]


def test_instance_that_cannot_go_stays_usable(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    host.want({"1c.3g.20gb": 3})
    host.box.fault("nvmlGpuInstanceDestroy", IN_USE)
    refused = host.want({"1g.5gb": 7})
    assert refused["error_kind"] == "in_use"
    assert devices(refused) == [{"1c.3g.20gb": 3}]


@pytest.mark.parametrize(("function", "after"), [("nvmlGpuInstanceDestroy", 3), ("nvmlDeviceCreateGpuInstance", 1)])
def test_stopped_half_way_ends_the_same(tmp_path: Path, function: str, after: int) -> None:
    """A call that fails ends the run where a kill would: what is done stays, the next run does the rest."""
    host = Host(tmp_path, "h100x1")
    host.want({"1g.10gb": 7})
    host.box.fault(function, UNKNOWN, skip=after)
    broken = host.want({"3g.40gb": 2})
    assert broken["failed"]
    with edit(host.box.state_path) as state:
        state.faults.clear()
    assert devices(host.want({"3g.40gb": 2})) == [{"3g.40gb": 2}]


def test_wish_is_saved_before_the_change_and_forgotten_on_removal(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    host.set_gpu(mig="1", pending="1")
    host.want({"3g.40gb": 1})
    host.box.fault("nvmlDeviceCreateGpuInstance", UNKNOWN)
    assert host.layout(selected_config="all-1g.10gb", at_boot=True)["failed"]
    assert json.loads(host.wish_path().read_text())["selected_config"] == "all-1g.10gb"
    with edit(host.box.state_path) as state:
        state.faults.clear()
    assert devices(host.layout(selected_config="all-1g.10gb", at_boot=True)) == [{"1g.10gb": 7}]
    assert not host.layout(selected_config="all-1g.10gb", at_boot=True)["changed"]

    gone = host.layout(state="absent")
    assert devices(gone) == [{"3g.40gb": 1}]
    assert not host.wish_path().exists()
    assert not host.layout(state="absent")["changed"]


def test_removal_without_driver_forgets_the_wish(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    host.layout(selected_config="all-3g.40gb", at_boot=True)
    with edit(host.box.state_path) as state:
        state.driver = None
    gone = host.layout(state="absent")
    assert [f["severity"] for f in gone["findings"]] == ["warning"]
    assert not host.wish_path().exists()


def test_export_check_and_restore(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    host.want({"2g.10gb": 1, "3g.20gb": 1})
    before = host.module("mig_info", selected_config="all-balanced")
    assert before["matches"] is False
    assert before["config"]["mig-configs"]["current"][0]["mig-devices"] == {"2g.10gb": 1, "3g.20gb": 1}
    assert host.module("mig_info", config=before["config"])["matches"] is True
    host.want({"1g.5gb": 7})
    host.layout(checkpoint=before["checkpoint"])
    assert host.module("mig_info")["checkpoint"] == before["checkpoint"]


def test_check_before_the_driver_plans_from_the_catalog(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    with edit(host.box.state_path) as state:
        state.driver = None
    planned = host.layout(selected_config="all-1g.5gb", check=True)
    assert (planned["source"], planned["changed"]) == ("catalog", True)
    assert len(text(planned)) == 8
    assert host.layout(selected_config="all-1g.5gb")["error_kind"] == "driver_not_loaded"


def test_check_before_the_driver_knows_the_units_that_will_run(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    with edit(host.box.state_path) as state:
        state.driver = None
    coming = ["nvidia-persistenced.service", "some.service"]
    planned = host.layout(selected_config="all-1g.5gb", check=True, coming_clients=coming)
    alone = host.layout(selected_config="all-1g.5gb", check=True)
    units = [(s["action"], s["target"]) for s in planned["plan"]["steps"] if s["action"].endswith("_unit")]
    assert units == [("stop_unit", coming[0]), ("start_unit", coming[0])]
    assert [s for s in planned["plan"]["steps"] if not s["action"].endswith("_unit")] == alone["plan"]["steps"]


def test_lost_gpu(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x2")
    host.set_gpu(1, lost="1")
    assert host.want({"1g.5gb": 7})["error_kind"] == "gpu_lost"


def test_nothing_chosen(tmp_path: Path) -> None:
    assert Host(tmp_path, "a100x1").layout()["error_kind"] == "unknown_config"


def test_config_file_is_read_below_the_host_root(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    (tmp_path / "etc").mkdir(exist_ok=True)
    (tmp_path / "etc/mig.yaml").write_text(
        "version: v1\nmig-configs:\n  halves:\n"
        "  - {devices: all, device-filter: 0x20B010DE, mig-enabled: true, mig-devices: {3g.20gb: 2}}\n"
    )
    assert devices(host.layout(config_file="/etc/mig.yaml")) == [{"3g.20gb": 2}]
    assert "is not there" in host.layout(config_file="/etc/no.yaml")["msg"]


def test_boot_brings_the_saved_layout_back(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    assert host.boot() == (0, "mig: no layout is saved, nothing to do\n")
    host.layout(selected_config="all-3g.40gb", at_boot=True)
    with edit(host.box.state_path) as state:
        state.compute.clear()
        state.instances.clear()
        state.gpus[0].update(mig="0", pending="0")
    status, said = host.boot()
    assert status == 0
    assert "set_mig_mode 0000:41:00.0" in said
    assert devices(host.module("mig_info")) == [{"3g.40gb": 2}]
    assert host.boot() == (0, "mig: 0 steps, the layout is as saved\n")


def test_another_unit_for_the_layout_at_boot_is_told(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    wants = tmp_path / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True)
    (wants / "nvidia-mig-manager.service").symlink_to("/lib/systemd/system/nvidia-mig-manager.service")
    told = host.layout(selected_config="all-3g.40gb", at_boot=True)
    assert [(f["id"], f["severity"]) for f in told["findings"]] == [("GPU-MIG-113", "warning")]
    assert host.layout(selected_config="all-3g.40gb")["findings"] == []
    (wants / "nvidia-mig-manager.service").unlink()
    assert host.layout(selected_config="all-3g.40gb", at_boot=True)["findings"] == []


def test_boot_without_driver_and_with_a_broken_wish(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    host.layout(selected_config="all-3g.40gb", at_boot=True)
    with edit(host.box.state_path) as state:
        state.driver = None
    assert host.boot()[0] == 75
    host.wish_path().write_text("{")
    status, said = host.boot()
    assert status == 1
    assert "is no JSON" in said
