# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readers of components, boot files and module parameters, on trees of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.boot_files import read_boot_files
from ansible_collections.gpu.fleet.plugins.module_utils._observe.command import Run
from ansible_collections.gpu.fleet.plugins.module_utils._observe.component_host import (
    read_component_host,
    read_settings,
    read_starts,
)
from ansible_collections.gpu.fleet.plugins.module_utils._observe.dkms_trust import read_dkms_trust
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import DeviceNode, HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._observe.module_host import read_module_host
from ansible_collections.gpu.fleet.plugins.module_utils._observe.module_parameters import (
    read_effective,
    read_stale_parameters,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.kernel_files import BLACKLIST_PATH
from ansible_collections.gpu.fleet.plugins.module_utils._plan.module_parameters import OPTIONS_PATH

CONFIG = "/usr/share/nvidia/nvswitch/fabricmanager.cfg"


def write(root: Path, path: str, text: str | bytes) -> None:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def silent(*texts: str) -> Run:
    """A system whose programs say these texts, one after the other, then nothing."""
    left = list(texts)
    return lambda args: (0, left.pop(0) if left else "", "")


def test_bridges_are_the_devices_whose_vital_product_data_say_so(tmp_path):
    write(tmp_path, "/sys/class/infiniband/mlx5_0/device/vpd", b"\x82ConnectX-7")
    write(tmp_path, "/sys/class/infiniband/mlx5_8/device/vpd", b"\x82NVLink\x90V3\x06SW_MNG")
    write(tmp_path, "/proc/modules", "mlx_compat 1 2 ib_core, Live 0x0\n")
    (tmp_path / "sys/module/ib_umad").mkdir(parents=True)
    seen = read_component_host(HostRoot(str(tmp_path)), silent(), before={"setting:x": "0"})
    assert (seen.bridges, seen.ofed, seen.kernel_modules) == (("mlx5_8",), True, ("ib_umad", "mlx5_ib"))
    assert seen.before == {"setting:x": "0"}
    assert seen.settings[CONFIG] is None


def test_modules_that_are_built_into_the_kernel_are_there_by_what_they_do(tmp_path):
    write(tmp_path, "/sys/class/infiniband/mlx5_8/device/vpd", b"SW_MNG")
    write(tmp_path, "/dev/infiniband/umad0", "")
    seen = read_component_host(HostRoot(str(tmp_path)), silent(), before={})
    assert seen.kernel_modules == ("ib_umad", "mlx5_ib")


def test_settings_without_comments_and_with_the_last_word(tmp_path):
    write(tmp_path, CONFIG, "# FABRIC_MODE=9\nFABRIC_MODE=0\n LOG_LEVEL = 4 \nUNIX_SOCKET_PATH=\nFABRIC_MODE=1\n")
    assert read_settings(HostRoot(str(tmp_path)), CONFIG) == {
        "FABRIC_MODE": "1",
        "LOG_LEVEL": "4",
        "UNIX_SOCKET_PATH": "",
    }


def test_starts_of_running_units_only():
    text = (
        "Id=nvidia-fabricmanager.service\nActiveState=active\nActiveEnterTimestampMonotonic=5000000\n\n"
        "Id=nvidia-imex.service\nActiveState=inactive\nActiveEnterTimestampMonotonic=7000000\n\n"
        "Id=nvidia-gridd.service\nActiveState=active\nActiveEnterTimestampMonotonic=0\n"
    )
    assert list(read_starts(silent(text))) == ["nvidia-fabricmanager.service"]


@pytest.mark.parametrize(
    ("modules", "drivers"),
    [
        ("kernel/drivers/gpu/drm/nouveau/nouveau.ko.xz: kernel/x.ko\n", ("nouveau",)),
        (
            "kernel/drivers/gpu/nova-core/nova-core.ko: \nkernel/drivers/gpu/drm/nouveau/nouveau.ko:\n",
            ("nouveau", "nova_core"),
        ),
        ("kernel/net/foo.ko:\n", ()),
    ],
)
def test_drivers_of_the_kernel_and_every_initramfs(tmp_path, modules, drivers):
    write(tmp_path, "/lib/modules/6.1.0-57-amd64/modules.dep", modules)
    write(tmp_path, "/lib/modules/gone/build/x", "")
    write(tmp_path, "/boot/initrd.img-6.1.0-57-amd64", b"image")
    write(tmp_path, "/boot/initrd.img-gone", b"image")
    write(tmp_path, BLACKLIST_PATH, "blacklist nouveau\n")
    os.utime(tmp_path / "boot/initrd.img-6.1.0-57-amd64", (5, 5))
    write(tmp_path, "/usr/sbin/update-initramfs", "")
    found = read_boot_files(HostRoot(str(tmp_path)))
    assert (found.drivers, found.tool, found.blacklist) == (drivers, "update-initramfs", "blacklist nouveau\n")
    assert [(i.release, i.changed) for i in found.images] == [("6.1.0-57-amd64", 5.0)]
    assert found.written is not None


def test_dracut_and_its_images(tmp_path):
    release = "5.14.0-503.el9.x86_64"
    write(tmp_path, f"/lib/modules/{release}/modules.dep", "")
    write(tmp_path, f"/boot/initramfs-{release}.img", b"")
    write(tmp_path, "/usr/bin/dracut", "")
    found = read_boot_files(HostRoot(str(tmp_path)))
    assert (found.tool, [i.release for i in found.images], found.written) == ("dracut", [release], None)


def test_effective_parameters_of_each_module(tmp_path):
    write(
        tmp_path,
        "/proc/driver/nvidia/params",
        'EnableStreamMemOPs: 0\nRmProfilingAdminOnly: 1\nRegistryDwords: "a=1"\n',
    )
    write(tmp_path, "/sys/module/nvidia_drm/parameters/modeset", "Y\n")
    wanted = {
        "nvidia": {
            "NVreg_EnableStreamMemOPs": "1",
            "NVreg_RestrictProfilingToAdminUsers": "0",
            "NVreg_RegistryDwords": "a=1",
            "NVreg_OfAnotherBranch": "1",
        },
        "nvidia_drm": {"modeset": "1"},
    }
    host = HostRoot(str(tmp_path))
    assert read_effective(host, wanted) == {
        "nvidia": {
            "NVreg_EnableStreamMemOPs": "0",
            "NVreg_RestrictProfilingToAdminUsers": "1",
            "NVreg_RegistryDwords": '"a=1"',
        },
        "nvidia_drm": {"modeset": "Y"},
    }
    assert [s.split()[0] for s in read_stale_parameters(host, wanted)] == [
        "NVreg_EnableStreamMemOPs",
        "NVreg_RestrictProfilingToAdminUsers",
    ]


def test_our_file_says_what_modules_would_get(tmp_path):
    write(tmp_path, "/proc/driver/nvidia/params", "EnableStreamMemOPs: 0\n")
    write(tmp_path, "/proc/modules", "nvidia 1 0 - Live 0x0\n")
    write(tmp_path, OPTIONS_PATH, "options nvidia NVreg_EnableStreamMemOPs=1\n")
    host = HostRoot(str(tmp_path))
    found = read_module_host(host, silent(), state="loaded")
    assert found.parameters == ("NVreg_EnableStreamMemOPs of nvidia is 0, wanted 1",)
    assert read_module_host(host, silent(), state="loaded", parameters={}).parameters == ()


def test_parameters_of_modules_that_are_not_loaded_are_no_matter(tmp_path):
    write(tmp_path, "/proc/modules", "")
    write(tmp_path, OPTIONS_PATH, "options nvidia_drm modeset=1\n")
    write(tmp_path, "/sys/module/nvidia_drm/parameters/modeset", "N\n")
    assert read_module_host(HostRoot(str(tmp_path)), silent(), state="loaded").parameters == ()


class Numbered(HostRoot):
    """A tree whose files in /dev are device nodes of these numbers."""

    nodes = {"/dev/nvidia0": (195, 0), "/dev/nvidia-uvm": (507, 0)}

    def device(self, path: str) -> DeviceNode | None:
        numbers = self.nodes.get(path)
        return DeviceNode(path, *numbers, 0o666, 0, 0) if numbers else None


@pytest.mark.parametrize(
    ("devices", "lacking"),
    [
        ("Character devices:\n195 nvidia\n507 nvidia-uvm\n", []),
        ("Character devices:\n195 nvidia\n511 nvidia-uvm\n", ["/dev/nvidia-uvm"]),
        ("Character devices:\n195 nvidia\n", []),
    ],
)
def test_a_node_with_the_number_of_an_earlier_load_is_none(tmp_path, devices, lacking):
    write(tmp_path, "/proc/devices", devices)
    for name in ("nvidia0", "nvidia-uvm"):
        write(tmp_path, f"/dev/{name}", "")
    found = read_module_host(Numbered(str(tmp_path)), silent(), state="loaded")
    assert [path for path, numbers in found.nodes.items() if numbers is None] == lacking


@pytest.mark.parametrize(
    ("framework", "answers", "wanted"),
    [
        ("# mok_signing_key=/x\n", ["SecureBoot enabled", "/var/lib/dkms/mok.pub is already enrolled"], (True, False)),
        (
            "mok_signing_key=/root/x.key\n",
            ["SecureBoot enabled", "/var/lib/dkms/mok.pub is not enrolled"],
            (False, True),
        ),
    ],
)
def test_keys_of_dkms_and_whether_they_are_enrolled(tmp_path, framework, answers, wanted):
    write(tmp_path, "/etc/dkms/framework.conf", framework)
    write(tmp_path, "/var/lib/dkms/mok.pub", b"key")
    trust = read_dkms_trust(HostRoot(str(tmp_path)), silent(*answers))
    assert (trust.keys, trust.own_key) == ({"/var/lib/dkms/mok.pub": wanted[0]}, wanted[1])
    assert trust.asked


def test_without_mokutil_nobody_knows(tmp_path):
    write(tmp_path, "/var/lib/dkms/mok.pub", b"key")
    trust = read_dkms_trust(HostRoot(str(tmp_path)), lambda args: (127, "", "mokutil: not found"))
    assert (trust.asked, trust.keys) == (False, {"/var/lib/dkms/mok.pub": None})
