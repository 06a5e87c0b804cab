# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._observe.mig import (
    profile_name,
    read_mig_offline,
)
from ansible_collections.gpu.fleet.plugins.module_utils._observe.mig_users import holders_text, pids_by_unit
from ansible_collections.gpu.fleet.plugins.module_utils._observe.nvml import sysfs_address
from ansible_collections.gpu.fleet.plugins.module_utils._observe.vgpu import is_vgpu

# slices, MiB, MiB of the GPU, NVML's number -> the name that NVIDIA publishes
NAMES = [
    (1, 4864, 40537, 0, "1g.5gb"),
    (1, 9856, 40537, 9, "1g.10gb"),
    (7, 40192, 40537, 4, "7g.40gb"),
    (1, 9728, 81251, 7, "1g.10gb+me"),
    (3, 47488, 95830, 2, "3g.47gb"),
    (3, 71168, 143771, 2, "3g.71gb"),
    (1, 24192, 97887, 13, "1g.24gb-me"),
    (1, 24192, 97887, 10, "1g.24gb+gfx"),
]


@pytest.mark.parametrize(("slices", "memory", "total", "number", "name"), NAMES)
def test_names_for_drivers_that_give_none(slices, memory, total, number, name):
    assert profile_name(slices, memory, total, number) == name


@pytest.mark.parametrize(
    ("bus", "address"),
    [
        ("00000000:41:00.0", "0000:41:00.0"),
        (b"00000000:C1:00.0", "0000:c1:00.0"),
        ("00010000:00:00.0", "10000:00:00.0"),
    ],
)
def test_addresses_as_in_sysfs(bus, address):
    assert sysfs_address(bus) == address


def pci(root, address, device, pci_class="0x030200"):
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    values = {"vendor": "0x10de", "device": device, "class": pci_class}
    values.update(subsystem_vendor="0x10de", subsystem_device="0x134f")
    for name, value in values.items():
        (folder / name).write_text(f"{value}\n")


def test_host_without_driver_is_described_by_the_catalog(tmp_path):
    pci(tmp_path, "0000:41:00.0", "0x20b0")
    pci(tmp_path, "0000:51:00.0", "0x1eb8")
    pci(tmp_path, "0000:61:00.0", "0x2fff")
    pci(tmp_path, "0000:05:00.0", "0x22a3", "0x068000")
    a100, t4, new = read_mig_offline(HostRoot(str(tmp_path)))
    assert (a100.index, a100.pci_id, a100.subsystem_id, a100.source) == (0, "20B010DE", "134F10DE", "catalog")
    assert [g.capable for g in (a100, t4, new)] == [True, False, None]
    assert a100.profile("3g.20gb").starts == (0, 4)


def test_processes_of_units(tmp_path):
    groups = {
        "100": "0::/system.slice/nvidia-dcgm.service\n",
        "101": "0::/system.slice/nvidia-dcgm.service/worker\n",
        "102": "0::/system.slice/other-nvidia-dcgm.service\n",
        "103": "12:devices:/system.slice/nvsm.service\n1:name=systemd:/system.slice/nvsm.service\n",
    }
    for pid, text in groups.items():
        (tmp_path / "proc" / pid).mkdir(parents=True)
        (tmp_path / "proc" / pid / "cgroup").write_text(text)
    host = HostRoot(str(tmp_path))
    units = ["nvidia-dcgm.service", "nvsm.service", "absent.service"]
    assert pids_by_unit(host, units) == {"nvidia-dcgm.service": {100, 101}, "nvsm.service": {103}}
    assert pids_by_unit(host, []) == {}


def test_whoever_has_gpu_files_open_is_named(tmp_path):
    for pid, name, file in ((70, "Xorg", "/dev/nvidia0"), (71, "bash", "/dev/null")):
        (tmp_path / f"proc/{pid}/fd").mkdir(parents=True)
        (tmp_path / f"proc/{pid}/comm").write_text(f"{name}\n")
        (tmp_path / f"proc/{pid}/fd/3").symlink_to(file)
    assert holders_text(HostRoot(str(tmp_path))) == "70 (Xorg: /dev/nvidia0)"


@pytest.mark.parametrize(
    ("capabilities", "vgpu"),
    [
        ({}, False),
        ({0x60: (0x09, 0x00, b"VF")}, True),
        ({0x60: (0x10, 0x78, b"  "), 0x78: (0x09, 0x00, b"VF")}, True),
        ({0x60: (0x09, 0x00, b"XX")}, False),
        ({0x60: (0x10, 0x60, b"  ")}, False),
    ],
)
def test_vgpu_capability(capabilities, vgpu):
    space = bytearray(256)
    space[0x34] = next(iter(capabilities), 0)
    for offset, (kind, following, text) in capabilities.items():
        space[offset : offset + 5] = bytes([kind, following, 8]) + text
    assert is_vgpu(bytes(space)) is vgpu
