# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""mig_config where something fails on the way: what is told, what is started again, and the way back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.module_host import Host
from simulator.state import edit
from simulator.systemd import Systemd

IN_USE, UNKNOWN = 19, 999

DCGM, EXPORTER, FABRIC, PERSISTENCED = (
    "nvidia-dcgm.service",
    "dcgm-exporter.service",
    "nvidia-fabricmanager.service",
    "nvidia-persistenced.service",
)
ALL = (DCGM, EXPORTER, FABRIC, PERSISTENCED)


def steps(result: dict[str, Any]) -> list[str]:
    return [f"{s['action']} {s['target']}" for s in result["plan"]["steps"]]


def heal(host: Host) -> None:
    with edit(host.box.state_path) as state:
        state.faults.clear()


def test_units_stop_for_a_change_and_start_after_it(tmp_path: Path) -> None:
    host = Host(tmp_path / "host", "h100x1")
    host.want({"1g.10gb": 7})
    systemd = Systemd(host, tmp_path / "systemd", *ALL)
    planned = host.want({"3g.40gb": 2}, check=True)
    assert systemd.log == []
    done = host.want({"3g.40gb": 2})
    assert systemd.log == [f"stop {EXPORTER}", f"stop {DCGM}", f"start {DCGM}", f"start {EXPORTER}"]
    assert steps(done) == steps(planned)
    assert steps(done)[:2] == [f"stop_unit {EXPORTER}", f"stop_unit {DCGM}"]
    assert steps(done)[-2:] == [f"start_unit {DCGM}", f"start_unit {EXPORTER}"]


def test_what_only_hinders_resets_stops_only_for_a_reset(tmp_path: Path) -> None:
    host = Host(tmp_path / "host", "a100x1")
    systemd = Systemd(host, tmp_path / "systemd", *ALL)
    assert not host.want({"3g.20gb": 2}).get("failed")
    stopped = [line.removeprefix("stop ") for line in systemd.log if line.startswith("stop")]
    assert stopped == [EXPORTER, DCGM, FABRIC, PERSISTENCED]
    assert systemd.running == set(ALL)


def test_no_unit_stops_where_instances_are_only_added(tmp_path: Path) -> None:
    host = Host(tmp_path / "host", "a100x1")
    host.want({"3g.20gb": 1})
    systemd = Systemd(host, tmp_path / "systemd", *ALL)
    host.want({"3g.20gb": 2})
    assert systemd.log == []


@pytest.mark.parametrize("function", ["nvmlGpuInstanceDestroy", "nvmlDeviceCreateGpuInstance", "nvmlInit"])
def test_units_start_again_after_a_failure(tmp_path: Path, function: str) -> None:
    host = Host(tmp_path / "host", "h100x1")
    host.want({"1g.10gb": 7})
    systemd = Systemd(host, tmp_path / "systemd", *ALL)
    host.box.fault(function, UNKNOWN, skip=1)
    assert host.want({"3g.40gb": 2})["error_kind"] == "nvml_error"
    assert systemd.running == set(ALL)


def test_a_unit_that_does_not_stop_ends_the_run_before_any_change(tmp_path: Path) -> None:
    host = Host(tmp_path / "host", "h100x1")
    host.want({"1g.10gb": 7})
    systemd = Systemd(host, tmp_path / "systemd", *ALL)
    systemd.refuse("stop", DCGM)
    refused = host.want({"3g.40gb": 2})
    assert (refused["error_kind"], refused["writes"], refused["changed"]) == ("unit_failed", [], False)
    assert f"{DCGM} does not stop" in refused["msg"]
    assert systemd.running == set(ALL)


def test_a_unit_that_does_not_start_is_told_and_the_others_start(tmp_path: Path) -> None:
    host = Host(tmp_path / "host", "h100x1")
    host.want({"1g.10gb": 7})
    systemd = Systemd(host, tmp_path / "systemd", *ALL)
    systemd.refuse("start", DCGM)
    refused = host.want({"3g.40gb": 2})
    assert (refused["error_kind"], refused["gpus"][0]["devices"]) == ("unit_failed", {"3g.40gb": 2})
    assert f"{DCGM} does not start" in refused["msg"]
    assert systemd.running == set(ALL) - {DCGM}

    systemd.relent()
    planned = host.want({"3g.40gb": 2}, check=True)
    assert (planned["changed"], steps(planned)) == (True, [f"start_unit {DCGM}"])
    again = host.want({"3g.40gb": 2})
    assert (again["changed"], again["writes"], systemd.running) == (True, [], set(ALL))
    assert not host.want({"3g.40gb": 2})["changed"]


def test_both_errors_are_told(tmp_path: Path) -> None:
    host = Host(tmp_path / "host", "h100x1")
    host.want({"1g.10gb": 7})
    systemd = Systemd(host, tmp_path / "systemd", *ALL)
    systemd.refuse("start", EXPORTER)
    host.box.fault("nvmlDeviceCreateGpuInstance", UNKNOWN)
    refused = host.want({"3g.40gb": 2})
    assert refused["error_kind"] == "nvml_error"
    assert "nvmlDeviceCreateGpuInstance" in refused["msg"]
    assert f"{EXPORTER} does not start" in refused["msg"]


def test_a_wrong_name_of_a_unit_is_refused(tmp_path: Path) -> None:
    refused = Host(tmp_path, "h100x1").want({"1g.10gb": 7}, gpu_clients=["nvidia dcgm"])
    assert refused["error_kind"] == "invalid_config"
    assert "'nvidia dcgm'" in refused["msg"]


def broken_half_way(host: Host) -> dict[str, Any]:
    """Seven instances are to become two; the second creation fails."""
    host.want({"1g.10gb": 7})
    host.box.fault("nvmlDeviceCreateGpuInstance", UNKNOWN, skip=1)
    result = host.want({"3g.40gb": 2})
    heal(host)
    return result


def test_a_failure_tells_what_was_done_what_not_and_the_way_back(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    broken = broken_half_way(host)
    assert broken["changed"]
    assert [s["action"] for s in broken["done"]] == ["destroy_gpu_instance"] * 7 + ["create_gpu_instance"]
    assert [s["target"].split()[1] for s in broken["not_done"]] == ["3g.40gb@4"]
    assert "not done: create_gpu_instance" in broken["msg"]
    assert "state: restored" in broken["msg"]
    assert broken["gpus"][0]["devices"] == {"3g.40gb": 1}
    host.layout(checkpoint=broken["checkpoint"])
    assert host.module("mig_info")["checkpoint"] == broken["checkpoint"]


def test_a_failure_before_the_first_step_says_so(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    host.want({"1g.10gb": 7})
    host.box.fault("nvmlComputeInstanceDestroy", UNKNOWN)
    broken = host.want({"3g.40gb": 2})
    assert (broken["changed"], broken["done"]) == (False, [])
    assert "Nothing was changed" in broken["msg"]


def test_going_back_is_one_call_and_is_settled_after_it(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    broken_half_way(host)
    planned = host.layout(state="restored", check=True)
    back = host.layout(state="restored")
    assert steps(back) == steps(planned)
    assert back["gpus"][0]["devices"] == {"1g.10gb": 7}
    again = host.layout(state="restored")
    assert (again["changed"], again["writes"]) == (False, [])


def test_a_second_failure_does_not_forget_what_was_there_first(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    broken_half_way(host)
    host.box.fault("nvmlDeviceCreateGpuInstance", UNKNOWN)
    assert host.want({"3g.40gb": 2})["failed"]
    heal(host)
    assert host.layout(state="restored")["gpus"][0]["devices"] == {"1g.10gb": 7}


def test_after_a_change_that_ended_well_the_way_back_leads_to_its_beginning(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    broken_half_way(host)
    host.want({"3g.40gb": 2})
    host.want({"7g.80gb": 1})
    assert host.layout(state="restored")["gpus"][0]["devices"] == {"3g.40gb": 2}


def test_without_a_change_there_is_no_way_back(tmp_path: Path) -> None:
    refused = Host(tmp_path, "h100x1").layout(state="restored")
    assert (refused["error_kind"], refused["failed"]) == ("unknown_config", True)


def test_processes_are_named(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    row = host.want({"2g.10gb": 1})["gpus"][0]["instances"][0]
    host.box.process(gi=row["gpu_instance"], ci=0, pid=4242)
    (tmp_path / "proc/4242/fd").mkdir(parents=True)
    (tmp_path / "proc/4242/comm").write_text("python3\n")
    assert "4242 (python3)" in host.want({"1g.5gb": 7})["msg"]


def test_whoever_blocks_a_reset_is_named(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    host.set_gpu(client="1")
    (tmp_path / "proc/77/fd").mkdir(parents=True)
    (tmp_path / "proc/77/comm").write_text("Xorg\n")
    (tmp_path / "proc/77/fd/9").symlink_to("/dev/nvidia0")
    refused = host.want({"1g.5gb": 7})
    assert refused["error_kind"] == "mode_change_blocked"
    assert "77 (Xorg: /dev/nvidia0)" in refused["msg"]


def test_saved_files_hold_no_more_than_they_should(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    host.want({"1g.10gb": 7})
    folder = tmp_path / "var/lib/gpu-fleet/mig"
    assert [p.name for p in folder.iterdir()] == ["checkpoint.json"]
    assert json.loads((folder / "checkpoint.json").read_text())["finished"] is True
