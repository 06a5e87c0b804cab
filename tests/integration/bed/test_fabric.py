# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVSwitch and NVLink 5 hosts, with the fabric manager of the lab's packages."""

from __future__ import annotations

import pytest

from lab.asked import say
from lab.driven import with_hardware
from lab.host import Host

UNIT = "nvidia-fabricmanager.service"
FABRIC = "nvidia-smi -q | sed -n '/^    Fabric$/,+1s/^ *State *: //p' | sort | uniq -c"
JOURNAL = f"journalctl --no-pager --unit={UNIT} --boot --output=cat"
NOTHING = "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do"


@pytest.fixture(scope="module")
def fabric(equipped: Host) -> Host:
    """The host with driver, fabric manager and nvlsm, as snapshot `fabric`."""
    equipped.restore("driver")
    equipped.shell("apt-get --quiet --yes install nvidia-fabricmanager nvlsm; systemctl disable nvidia-fabricmanager")
    equipped.snapshot("fabric")
    return equipped


def started(host: Host) -> tuple[int, str]:
    status, _text = say(host, f"systemctl start {UNIT}")
    return status, host.shell(JOURNAL)


def test_nothing_to_do_without_nvswitch(fabric: Host) -> None:
    with_hardware(fabric, "h100x2", "fabric")
    status, journal = started(fabric)
    assert status != 0
    assert "Detected Pre-NVL5 system" in journal
    assert f"{NOTHING} [NV_WARN_NOTHING_TO_DO]" in journal
    assert "failed! Exit code: 1" in journal


@pytest.mark.parametrize(("profile", "switches"), [("hgx-h100", 4), ("hgx-a100", 6)])
def test_nvswitches_are_configured(fabric: Host, profile: str, switches: int) -> None:
    with_hardware(fabric, profile, "fabric")
    assert len(fabric.run(["ls", "/proc/driver/nvidia-nvswitch/devices"]).split()) == switches
    status, journal = started(fabric)
    assert status == 0, journal
    assert fabric.run(["systemctl", "is-active", UNIT]).strip() == "active"
    log = fabric.run(["tail", "-1", "/var/log/fabricmanager.log"])
    assert "[INFO]" in log
    assert "Successfully configured all the available GPUs and NVSwitches to route NVLink traffic." in log


def test_gpus_wait_for_the_fabric_manager(fabric: Host) -> None:
    with_hardware(fabric, "hgx-h100", "fabric")
    assert fabric.shell(FABRIC).split() == ["8", "Not", "Started"]
    started(fabric)
    assert fabric.shell(FABRIC).split() == ["8", "Completed"]
    fabric.run(["systemctl", "stop", UNIT])
    assert say(fabric, "pgrep nv-fabricmanage")[0] == 1


def test_other_driver_than_the_fabric_managers(fabric: Host) -> None:
    with_hardware(fabric, "hgx-h100", "fabric")
    fabric.run(["sed", "-i", "s/^version=.*/version=580.65.06/", "/usr/bin/nv-fabricmanager"])
    status, journal = started(fabric)
    assert status != 0
    assert (
        "fabric manager NVIDIA GPU driver interface version 580.65.06 don't match with driver version 580." in journal
    )


def test_a_missing_nvswitch_is_no_known_topology(fabric: Host) -> None:
    with_hardware(fabric, "hgx-h100", "fabric")
    fabric.run(["sed", "-i", "0,/^switch/{/^switch/d}", "/var/lib/simhw/state"])
    status, journal = started(fabric)
    assert status != 0
    assert "detected number of NVSwitches don't match with any supported system topology" in journal


def test_nvlink5_wants_the_subnet_manager(fabric: Host) -> None:
    with_hardware(fabric, "hgx-b200", "fabric")
    bridges = "grep -l SW_MNG /sys/class/infiniband/*/device/vpd | cut -d/ -f5 | sort -V"
    assert fabric.shell(bridges).split() == ["mlx5_8", "mlx5_9", "mlx5_10", "mlx5_11"]
    assert fabric.run(["cat", "/sys/class/infiniband/mlx5_8/ports/1/state"]).strip() == "2: INIT"
    assert fabric.run(["cat", "/sys/class/infiniband/mlx5_0/ports/1/state"]).strip() == "4: ACTIVE"
    fabric.run(["chmod", "-x", "/opt/nvidia/nvlsm/sbin/nvlsm"])
    status, journal = started(fabric)
    assert status != 0
    assert "Detected NVL5+ system" in journal
    assert NOTHING in journal
    fabric.run(["chmod", "+x", "/opt/nvidia/nvlsm/sbin/nvlsm"])
    status, journal = started(fabric)
    assert status == 0, journal
    assert fabric.run(["cat", "/sys/class/infiniband/mlx5_8/ports/1/state"]).strip() == "4: ACTIVE"
    assert fabric.shell(FABRIC).split() == ["8", "Completed"]


def test_infiniband_is_on_the_bus_and_in_dev(fabric: Host) -> None:
    with_hardware(fabric, "hgx-b200", "fabric")
    assert len(fabric.run(["lspci", "-n", "-d", "15b3:"]).splitlines()) == 12
    assert fabric.run(["cat", "/sys/class/infiniband/mlx5_0/ports/1/rate"]).strip() == "400 Gb/sec (4X NDR)"
    assert fabric.succeeds("test -c /dev/infiniband/umad11 && test -c /dev/infiniband/issm11")
    assert fabric.succeeds("test -e /sys/class/net/host0")
