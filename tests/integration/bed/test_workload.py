# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container that holds a GPU is seen by podman, NVML and the kernel, and gone when it ends."""

from __future__ import annotations

from lab.asked import say
from lab.faults import catalog, fault
from lab.host import Host

APPS = "nvidia-smi --query-compute-apps=pid,name --format=csv,noheader"


def test_container_holds_a_gpu(equipped: Host) -> None:
    equipped.restore("driver")
    fault.cause(equipped, catalog.named("gpu-busy"), ["1"])
    pid = equipped.shell("podman inspect --format '{{.State.Pid}}' lab-workload-1").strip()
    assert equipped.shell(APPS).strip() == f"{pid}, python3"
    equipped.run(["systemctl", "stop", "nvidia-persistenced"])
    status, text = say(equipped, "modprobe -r nvidia-uvm nvidia")
    assert status != 0
    assert "Resource temporarily unavailable" in text or "is in use" in text
    equipped.run(["podman", "kill", "lab-workload-1"])
    equipped.shell("systemctl is-active --quiet lab-workload-1 && sleep 1 || true; systemctl reset-failed")
    assert say(equipped, APPS)[1].strip() in ("", "No running processes found")
    assert equipped.succeeds("modprobe -r nvidia-uvm nvidia")


def test_healing_ends_the_container(equipped: Host) -> None:
    equipped.restore("driver")
    fault.cause(equipped, catalog.named("gpu-busy"))
    assert catalog.heal_all(equipped) == ["gpu-busy"]
    assert equipped.run(["podman", "ps", "--quiet"]) == ""
    assert say(equipped, APPS)[1].strip() in ("", "No running processes found")
