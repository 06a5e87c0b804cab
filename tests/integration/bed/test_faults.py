# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each fault of a lab host is really there, and gone when it is healed, for programs that know nothing of the lab."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from lab.asked import answers, say
from lab.cluster import node
from lab.cluster.controlplane import ControlPlane
from lab.driven import with_hardware
from lab.faults import catalog, fault
from lab.host import Host
from lab.lab import Lab

DD = "dd if=/dev/zero of=/var/tmp/written bs=1M count=4 conv=fsync"
INSTALL = "LC_ALL=C apt-get --yes install dkms"
Proof = Callable[[Host], None]


@contextmanager
def broken(host: Host, name: str, *words: str) -> Iterator[None]:
    fault.cause(host, catalog.named(name), words)
    assert list(fault.present(host)) == [name]
    try:
        yield
    finally:
        ended = catalog.heal_all(host)
    assert ended == [name]


def test_power_cut(fresh: Host) -> None:
    fresh.shell("echo kept > /root/kept; sync /root/kept")
    with broken(fresh, "power-cut"):
        assert fresh.state() == "off"
        assert not answers(fresh)
    assert answers(fresh)
    assert fresh.run(["cat", "/root/kept"]).strip() == "kept"


def test_network_cut(fresh: Host) -> None:
    with broken(fresh, "network-cut"):
        assert "NO-CARRIER" in fresh.run(["ip", "link", "show", "host0"])
        assert not answers(fresh)
        assert fresh.state() == "running"
    assert answers(fresh)


def test_disk_full(fresh: Host) -> None:
    with broken(fresh, "disk-full"):
        assert fresh.run(["df", "--output=avail", "/"]).split()[-1] == "0"
        status, text = say(fresh, DD)
        assert status != 0
        assert "No space left on device" in text
    assert say(fresh, DD)[0] == 0


def test_slow_disk(fresh: Host) -> None:
    with broken(fresh, "slow-disk", "2"):
        assert rate(say(fresh, DD)[1]) < 3
    assert rate(say(fresh, DD)[1]) > 3


def rate(said: str) -> float:
    """MB/s out of what dd says."""
    match = re.search(r"copied, ([0-9.e-]+) s", said)
    assert match, said
    return 4.2 / float(match[1])


def test_clock_jump(fresh: Host) -> None:
    with broken(fresh, "clock-jump", "-86400"):
        for program in ("date +%s", "python3 -c 'import time; print(int(time.time()))'"):
            assert time.time() - int(fresh.shell(program)) == pytest.approx(86400, abs=60)
        assert "is not valid yet" in say(fresh, "LC_ALL=C apt-get update")[1]
    assert int(fresh.shell("date +%s")) == pytest.approx(time.time(), abs=60)
    assert "is not valid yet" not in say(fresh, "LC_ALL=C apt-get update")[1]


def test_the_machine_keeps_its_clock_when_a_host_sets_its_own(fresh: Host) -> None:
    before = time.time()
    fresh.run(["date", "--set", "2031-01-01 00:00"])
    assert fresh.run(["date", "+%Y"]).strip() == "2031"
    assert time.time() == pytest.approx(before, abs=60)
    fresh.restore()
    assert int(fresh.shell("date +%s")) == pytest.approx(time.time(), abs=60)


def test_broken_packages(fresh: Host) -> None:
    with broken(fresh, "broken-packages"):
        status, text = say(fresh, "LC_ALL=C apt-get check")
        assert status == 100
        assert "lab-unmet : Depends: lab-does-not-exist (>= 2.0) but it is not installable" in text
    assert say(fresh, "apt-get check")[0] == 0


def test_half_configured(fresh: Host) -> None:
    fresh.shell("apt-get --quiet update")
    with broken(fresh, "half-configured"):
        assert "only half configured" in fresh.run(["dpkg", "--audit"])
        status, text = say(fresh, INSTALL)
        assert status == 100
        assert "dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem" in text
    assert fresh.run(["dpkg", "--audit"]) == ""
    assert say(fresh, f"{INSTALL} --simulate")[0] == 0


def test_held_lock(fresh: Host) -> None:
    with broken(fresh, "held-lock"):
        status, text = say(fresh, INSTALL)
        assert status == 100
        assert re.search(
            r"Could not get lock /var/lib/dpkg/lock-frontend. It is held by process \d+ \(unattended-u", text
        )
    assert say(fresh, "apt-get --yes autoremove")[0] == 0


def test_engine_stopped(lab: Lab) -> None:
    one = lab.host("gpu1")
    with broken(one, "engine-stopped"):
        assert say(one, "systemctl is-active containerd")[1].strip() == "inactive"
        assert say(one, "crictl --timeout 2s version")[0] != 0
    assert say(one, "crictl --timeout 20s version")[0] == 0


def test_kubelet_stopped(lab: Lab, plane: ControlPlane) -> None:
    one = lab.host("gpu1")
    ask = ("get", "lease", one.name, "--namespace", "kube-node-lease", "--output", "jsonpath={.spec.renewTime}")
    with broken(one, "kubelet-stopped"):
        assert say(one, "systemctl is-active kubelet")[1].strip() == "inactive"
        renewed = plane.kubectl(*ask)
        time.sleep(12)  # a kubelet renews its lease every 10 s
        assert plane.kubectl(*ask) == renewed
    node.wait_ready(plane, one)


def test_nvml(loaded: Host) -> None:
    with broken(loaded, "nvml"):
        status, text = say(loaded, "nvidia-smi")
        assert status == 255
        assert "Failed to initialize NVML: Unknown Error" in text
    assert say(loaded, "nvidia-smi")[0] == 0


def test_nvml_function_with_code(loaded: Host) -> None:
    ask = "nvidia-smi --query-gpu=temperature.gpu --format=csv,noheader"
    with broken(loaded, "nvml", "15", "nvmlDeviceGetTemperature"):
        assert "GPU is lost" in say(loaded, ask)[1]
    assert say(loaded, ask)[1].split()[0].isdigit()


def test_driver_mismatch(loaded: Host) -> None:
    with broken(loaded, "driver-mismatch"):
        status, text = say(loaded, "nvidia-smi")
        assert status == 18
        assert "Failed to initialize NVML: Driver/library version mismatch" in text
    assert say(loaded, "nvidia-smi")[0] == 0


def test_gpu_lost(loaded: Host) -> None:
    with broken(loaded, "gpu-lost", "1"):
        status, text = say(loaded, "nvidia-smi -i 1")
        assert status == 15
        assert "GPU is lost" in text
        assert "GPU has fallen off the bus" in loaded.run(["dmesg"])
    assert say(loaded, "nvidia-smi -i 1")[0] == 0


def test_xid(loaded: Host) -> None:
    with broken(loaded, "xid", "94", "1"):
        for log in ("dmesg", "journalctl --dmesg --boot --no-pager"):
            assert re.search(r"NVRM: Xid \(PCI:0000:51:00\): 94, pid=", loaded.shell(log)), log


def test_ecc(loaded: Host) -> None:
    ask = "nvidia-smi -i 1 --query-gpu=ecc.errors.uncorrected.volatile.total --format=csv,noheader"
    with broken(loaded, "ecc", "3", "1"):
        assert say(loaded, ask)[1].strip() == "3"
    assert say(loaded, ask)[1].strip() == "0"


def test_throttle(loaded: Host) -> None:
    ask = "nvidia-smi -i 1 --query-gpu=clocks_event_reasons.hw_thermal_slowdown --format=csv,noheader"
    with broken(loaded, "throttle", "hw_thermal_slowdown", "1"):
        assert say(loaded, ask)[1].strip() == "Active"
    assert say(loaded, ask)[1].strip() == "Not Active"


def test_nvlink_down_and_sxid(loaded: Host) -> None:
    with_hardware(loaded, "hgx-h100")
    with broken(loaded, "nvlink-down", "3", "1"):
        assert re.search(r"Link 3: <inactive>", say(loaded, "nvidia-smi nvlink --status -i 1")[1])
    with broken(loaded, "sxid", "20034", "2"):
        assert "nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 20034, Fatal, Link 30 LTSSM Fault Up" in loaded.run(
            ["dmesg"]
        )
    assert re.search(r"Link 3: [0-9.]+ GB/s", say(loaded, "nvidia-smi nvlink --status -i 1")[1])
