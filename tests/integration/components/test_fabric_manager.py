# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role driver on a host with NVSwitches: driver and fabric manager in one version, proved by the fabric's state."""

from __future__ import annotations

from typing import Any

import pytest

from lab.host import Host

from .conftest import Play, Played

UNIT, CONFIG = "nvidia-fabricmanager.service", "/usr/share/nvidia/nvswitch/fabricmanager.cfg"
STATES = "nvidia-smi -q | sed -n '/^    Fabric$/,+1s/^ *State *: //p' | sort | uniq -c"
VERSION = "dpkg-query --show --showformat '${Version}\\n' nvidia-fabricmanager nvidia-kernel-open-dkms | sort -u"
SNAPSHOT = "fabric-ready"


@pytest.fixture(scope="module")
def checked(fabric: Host, play: Play) -> Played:
    return play(fabric, check=True)


@pytest.fixture(scope="module")
def brought(fabric: Host, play: Play, checked: Played) -> Played:
    found = play(fabric)
    fabric.snapshot(SNAPSHOT)
    return found


def test_check_mode_plans_what_the_run_does(checked: Played, brought: Played) -> None:
    assert checked.run.status == 0, checked.run.end()
    assert brought.run.status == 0, brought.run.end()
    assert checked.steps() == brought.steps()
    assert ("start", UNIT) in brought.steps()


def test_the_fabric_is_configured_by_a_manager_of_the_drivers_version(fabric: Host, brought: Played) -> None:
    assert fabric.shell(STATES).split() == ["8", "Completed"]
    assert len(fabric.shell(VERSION).split()) == 1
    assert fabric.run(["apt-mark", "showhold"]).split().count("nvidia-fabricmanager") == 1
    assert brought.ids() == []


def test_a_second_run_finds_nothing_to_do(fabric: Host, play: Play, brought: Played) -> None:
    again = play(fabric)
    assert (again.run.status, again.steps(), again.ids()) == (0, {}, [])
    assert again.module_runs <= 2


def test_the_fabric_comes_back_with_the_next_boot(fabric: Host, play: Play, brought: Played) -> None:
    fabric.reboot_and_wait()
    again = play(fabric)
    assert (again.run.status, again.steps(), again.ids()) == (0, {}, []), again.run.end()
    assert fabric.shell(STATES).split() == ["8", "Completed"]


def key(host: Host, name: str) -> str:
    return host.shell(f"sed -n 's/^{name}=//p' {CONFIG}").strip()


def test_a_setting_is_taken_by_a_restart_and_given_back(fabric: Host, play: Play, brought: Played) -> None:
    before = key(fabric, "LOG_LEVEL")
    changed = play(fabric, driver_fabric_manager_config={"LOG_LEVEL": 3, "OWN_KEY": "x"})
    assert changed.steps() == {
        ("set_key", f"{CONFIG}:LOG_LEVEL"): 1,
        ("set_key", f"{CONFIG}:OWN_KEY"): 1,
        ("restart", UNIT): 1,
    }
    assert (key(fabric, "LOG_LEVEL"), key(fabric, "OWN_KEY")) == ("3", "x")
    assert play(fabric, driver_fabric_manager_config={"LOG_LEVEL": 3, "OWN_KEY": "x"}).steps() == {}
    back = play(fabric)
    assert back.run.status == 0, back.run.end()
    assert (key(fabric, "LOG_LEVEL"), fabric.shell(f"grep -c OWN_KEY {CONFIG} || true").strip()) == (before, "0")


def test_killed_between_the_edit_and_the_restart(fabric: Host, play: Play, brought: Played) -> None:
    fabric.run(["sed", "-i", "s/^LOG_LEVEL=.*/LOG_LEVEL=2/", CONFIG])
    assert play(fabric).steps() == {("restart", UNIT): 1}


def test_a_fabric_that_is_not_configured_is_an_error_after_the_wait(fabric: Host, play: Play, brought: Played) -> None:
    fabric.run(["/usr/lib/simhw/simhw", "fabric", "all", "in_progress"])
    failed = play(fabric, driver_service_timeout=3)
    assert failed.run.status != 0
    assert "GPU-FAB-031" in failed.run.text
    assert "in_progress" in failed.run.text
    fabric.run(["/usr/lib/simhw/simhw", "fabric", "all", "completed"])
    assert play(fabric).run.status == 0


def test_a_lost_gpu_is_named_with_the_kernels_last_message(fabric: Host, play: Play, brought: Played) -> None:
    fabric.run(["/usr/lib/simhw/simhw", "lost", "3"])
    address = fabric.shell("sed -n 's/^gpu minor=3 .* bus=\\([^ ]*\\).*/\\1/p' /var/lib/simhw/state").strip()
    failed = play(fabric)
    assert failed.run.status != 0
    assert "GPU-HW-102" in failed.run.text
    assert address in failed.run.text
    assert "fallen off the bus" in failed.run.text
    fabric.restore(SNAPSHOT)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "imex": ({"driver_components": {"imex": True}}, "GPU-FAB-101"),
    "peermem": ({"driver_components": {"peermem": True}}, "GPU-KRN-028"),
    "gridd": ({"driver_components": {"gridd": True}}, "GPU-FAB-103"),
    "gdrcopy": ({"driver_components": {"gdrcopy": True}}, "GPU-PKG-132"),
    "word": ({"driver_components": {"gds": "perhaps"}}, "components.gds is 'perhaps'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_before_the_first_change(
    fabric: Host, play: Play, brought: Played, name: str
) -> None:
    variables, words = REFUSED[name]
    failed = play(fabric, **variables)
    assert failed.run.status != 0
    assert words in failed.run.text
    assert failed.run.total("changed") == 0


def test_storage_comes_with_its_module_and_goes_with_the_role(fabric: Host, play: Play, brought: Played) -> None:
    stored = play(fabric, driver_components={"gds": True})
    assert stored.run.status == 0, stored.run.end()
    assert fabric.succeeds("grep -q ^nvidia_fs /proc/modules")
    assert play(fabric, driver_components={"gds": True}).steps() == {}
    gone = play(fabric, driver_state="absent")
    assert gone.run.status == 0, gone.run.end()
    assert not fabric.succeeds(f"systemctl is-active {UNIT}")
    assert fabric.shell("ls /etc/modprobe.d /etc/modules-load.d | grep -c gpu-fleet || true").strip() == "0"
    assert play(fabric, driver_state="absent").steps() == {}
    fabric.restore(SNAPSHOT)
