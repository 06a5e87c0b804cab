# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readers of role driver, against recorded texts and trees of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe import driver_version
from ansible_collections.gpu.fleet.plugins.module_utils._observe.apt import AptState, apt_state, parse_simulation
from ansible_collections.gpu.fleet.plugins.module_utils._observe.apt_sources import parse_sources, read_sources
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._observe.kernel import read_kernel
from ansible_collections.gpu.fleet.plugins.module_utils._observe.module_host import read_module_host
from ansible_collections.gpu.fleet.plugins.module_utils._observe.modules import parse_modules, read_holders
from ansible_collections.gpu.fleet.plugins.module_utils._observe.os_release import read_os_release
from ansible_collections.gpu.fleet.plugins.module_utils._observe.packages import parse_status
from ansible_collections.gpu.fleet.plugins.module_utils._observe.pci import read_pci
from ansible_collections.gpu.fleet.plugins.module_utils._observe.services import parse_show, read_services
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.modinfo import read_modinfo
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import DriverVersion, OsRelease

FIXTURES = Path(__file__).parents[3] / "fixtures" / "driver"


def write(root: Path, path: str, text: str) -> None:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("line", "version", "flavour"),
    [
        ("NVIDIA UNIX Open Kernel Module for x86_64  595.71.05  Release Build  (a@b)  Tue Jul", "595.71.05", "open"),
        ("NVIDIA UNIX x86_64 Kernel Module  384.98  Thu Oct 26 15:16:01 PDT 2017", "384.98", "proprietary"),
        ("NVIDIA UNIX Open Kernel Module for aarch64  580.173.02  Release Build  (x@y)", "580.173.02", "open"),
        ("NVIDIA UNIX Open Kernel Module for x86_64  515.43.04  Release Build  (roo", "515.43.04", "open"),
        ("NVIDIA UNIX Open Kernel Module for x86_64  525.60.11  Release Build  (b@localhost)  ", "525.60.11", "open"),
    ],
)
def test_banner(line, version, flavour):
    text = f"NVRM version: {line}\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)\n"
    assert driver_version.parse_banner(text) == DriverVersion(version, flavour)


@pytest.mark.parametrize("text", ["", "GCC version:  gcc version 12.2.0\n", "NVRM version: something else\n"])
def test_no_banner_no_driver(text):
    assert driver_version.parse_banner(text) is None


def test_modinfo():
    text = (FIXTURES / "modinfo-open-595.txt").read_text()
    assert driver_version.module_version(read_modinfo(text)) == DriverVersion("595.80", "open", None)
    signed = "version:        595.71.05\nlicense:        NVIDIA\nsigner:         DKMS module signing key\n"
    assert driver_version.module_version(read_modinfo(signed)) == DriverVersion(
        "595.71.05", "proprietary", "DKMS module signing key"
    )
    assert driver_version.module_version(read_modinfo("")) is None


def test_module_on_disk_is_asked_for_below_the_root_and_for_the_kernel(tmp_path):
    asked = []

    def run(args):
        asked.append(list(args))
        return 1, "", "modinfo: ERROR: Module nvidia not found.\n"

    assert driver_version.read_module_on_disk(HostRoot(str(tmp_path)), run, release="6.1.0") is None
    assert asked == [["modinfo", "-b", str(tmp_path), "-k", "6.1.0", "nvidia"]]


def test_modules():
    found = parse_modules((FIXTURES / "proc-modules.txt").read_text())
    assert found["nvidia"].users == ("nvidia_uvm", "nvidia_drm", "nvidia_modeset")
    assert found["nvidia"].references == 8
    assert found["nvidia_uvm"].users == ()


def test_holders(tmp_path):
    write(tmp_path, "/proc/4211/comm", "python3\n")
    write(tmp_path, "/proc/self-is-no-number/comm", "x\n")
    fds = tmp_path / "proc/4211/fd"
    fds.mkdir()
    for number, target in enumerate(["/dev/null", "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia0", "/tmp/nvidia.log"]):
        os.symlink(target, fds / str(number))
    write(tmp_path, "/proc/1/comm", "systemd\n")
    holders = read_holders(HostRoot(str(tmp_path)))
    assert [str(h) for h in holders] == ["python3 (pid 4211: /dev/nvidia0, /dev/nvidiactl)"]


STATUS = """\
Package: libcuda1
Status: hold ok installed
Architecture: amd64
Multi-Arch: same
Version: 595.71.05-1
Description: CUDA driver library
 Package: not this one

Package: libcuda1
Status: install ok installed
Architecture: i386
Version: 470.256.02-1

Package: nvidia-old
Status: deinstall ok config-files
Architecture: amd64
Version: 470.1-1

Package: nvidia-kernel-open-dkms
Status: install ok half-configured
Architecture: amd64
Version: 595.71.05-1
"""


def test_dpkg_status():
    found = parse_status(STATUS)
    assert sorted(found) == ["libcuda1", "nvidia-kernel-open-dkms"]
    assert (found["libcuda1"].version, found["libcuda1"].held) == ("595.71.05-1", True)
    assert not found["nvidia-kernel-open-dkms"].installed


def test_pci(tmp_path):
    folder = "/sys/bus/pci/devices/0000:41:00.0"
    for name, text in {
        "vendor": "0x10de",
        "device": "0x2330",
        "class": "0x030200",
        "subsystem_vendor": "0x10de",
    }.items():
        write(tmp_path, f"{folder}/{name}", f"{text}\n")
    os.symlink("../../../bus/pci/drivers/nvidia", tmp_path / folder.lstrip("/") / "driver")
    write(tmp_path, "/sys/bus/pci/devices/0000:00:00.0/vendor", "0x8086\n")
    write(tmp_path, "/sys/bus/pci/devices/0000:00:00.0/device", "0x29c0\n")
    (gpu,) = read_pci(HostRoot(str(tmp_path)), vendor="10de")
    assert (gpu.address, gpu.id, gpu.pci_class, gpu.driver) == ("0000:41:00.0", "10de:2330", "0302", "nvidia")
    assert len(read_pci(HostRoot(str(tmp_path)))) == 2


def test_os_release(tmp_path):
    assert read_os_release(HostRoot(str(tmp_path))) == OsRelease("", "", "")
    write(
        tmp_path,
        "/usr/lib/os-release",
        'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n# x\n',
    )
    assert read_os_release(HostRoot(str(tmp_path))) == OsRelease("debian", "12", "Debian GNU/Linux 12 (bookworm)")


@pytest.mark.parametrize(("value", "secure"), [(b"\x06\0\0\0\x01", True), (b"\x06\0\0\0\x00", False), (None, None)])
def test_kernel(tmp_path, value, secure):
    write(tmp_path, "/proc/sys/kernel/osrelease", "6.1.0-57-amd64\n")
    write(tmp_path, "/proc/sys/kernel/arch", "aarch64\n")
    if value is not None:
        variable = tmp_path / "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
        variable.parent.mkdir(parents=True)
        variable.write_bytes(value)
    host = HostRoot(str(tmp_path))
    assert (read_kernel(host).release, read_kernel(host).machine) == ("6.1.0-57-amd64", "aarch64")
    assert (read_kernel(host).headers, read_kernel(host).secure_boot) == (False, secure)
    (tmp_path / "lib/modules/6.1.0-57-amd64/build").mkdir(parents=True)
    assert read_kernel(host).headers


def test_services():
    text = "Id=a.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n\n"
    text += "Id=b.service\nLoadState=not-found\n"
    found = parse_show(text)
    assert (found["a.service"].active, found["a.service"].enabled) == ("active", "enabled")
    assert found["b.service"].loaded == "not-found"
    nothing = read_services(lambda args: (127, "", "systemctl: not found"), ["a.service"])
    assert nothing["a.service"].loaded == "not-found"


DEB822 = """\
# comment
Types: deb deb-src
URIs: http://deb.debian.org/debian/
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 /usr/share/keyrings/a.gpg

Types: deb
URIs: http://x.example/cuda/
Suites: /
Enabled: no
"""
ONE_LINE = """\
deb [arch=amd64 signed-by=/usr/share/keyrings/cuda.gpg] https://x.example/cuda/ /
# deb https://off.example/ /
deb-src https://src.example/ stable main
"""


@pytest.mark.parametrize(
    ("path", "text", "entries"),
    [
        (
            "/etc/apt/sources.list.d/debian.sources",
            DEB822,
            [
                ("http://deb.debian.org/debian", "bookworm", "/usr/share/keyrings/a.gpg"),
                ("http://deb.debian.org/debian", "bookworm-updates", "/usr/share/keyrings/a.gpg"),
            ],
        ),
        (
            "/etc/apt/sources.list.d/cuda.list",
            ONE_LINE,
            [("https://x.example/cuda", "/", "/usr/share/keyrings/cuda.gpg")],
        ),
        ("/etc/apt/sources.list.d/cuda.list.save", ONE_LINE, []),
    ],
)
def test_sources(path, text, entries):
    assert [(s.uri, s.suite, s.signed_by.strip()) for s in parse_sources(path, text)] == entries


def test_sources_of_all_files(tmp_path):
    write(tmp_path, "/etc/apt/sources.list", "deb http://a.example stable main\n")
    write(tmp_path, "/etc/apt/sources.list.d/b.list", ONE_LINE)
    assert [s.path for s in read_sources(HostRoot(str(tmp_path)))] == [
        "/etc/apt/sources.list",
        "/etc/apt/sources.list.d/b.list",
    ]


def test_simulated_installation():
    text = (
        "Inst dkms (3.0.10-8+deb12u1 Debian:12.13/oldstable [all])\n"
        "Inst libcuda1 (595.71.05-1 NVIDIA CUDA:x [amd64])\n"
        "Conf dkms (3.0.10-8+deb12u1 Debian:12.13/oldstable [all])\n"
    )
    assert parse_simulation(text).install == {"dkms": "3.0.10-8+deb12u1", "libcuda1": "595.71.05-1"}
    assert parse_simulation(text).remove == ()


def test_simulated_change_of_flavour():
    found = parse_simulation((FIXTURES / "apt-simulate-switch.txt").read_text())
    assert found.install == {"nvidia-kernel-dkms": "595.71.05-1"}
    assert found.remove == ("nvidia-kernel-open-dkms",)


def test_simulated_upgrade_counts_the_new_version():
    text = "Inst libcuda1 [595.58.03-1] (595.71.05-1 NVIDIA CUDA:x [amd64]) [nvidia-driver-cuda:amd64 ]\n"
    assert parse_simulation(text).install == {"libcuda1": "595.71.05-1"}


def test_apt_is_asked_in_a_directory_of_its_own_that_goes(tmp_path):
    asked = []

    def run(args):
        asked.append(list(args))
        return 100, "", "E: Unable to locate package nothing\n"

    with apt_state(run, HostRoot(str(tmp_path))) as state:
        path = state.add("sources", "gpu-fleet-cuda.sources", "Types: deb\n")
        folder = os.path.dirname(os.path.dirname(path))
        answer = state.install(["nothing"])
    assert answer.error == "E: Unable to locate package nothing"
    assert f"Dir::State::lists={folder}/lists" in asked[0]
    assert f"Dir::State::status={tmp_path}/var/lib/dpkg/status" in asked[0]
    assert "--simulate" in asked[0]
    assert not os.path.exists(folder)


def test_apt_says_why_in_its_own_words():
    said = "Not possible.\nThe following packages have unmet dependencies:\n a1 : Depends: b1 (= 1)\n"
    state = AptState(
        lambda args: (100, said, "E: Unable to correct problems, you have held broken packages.\n"), "/x", HostRoot()
    )
    found = state.install(["a1"])
    assert found.error.splitlines() == [
        "a1 : Depends: b1 (= 1)",
        "E: Unable to correct problems, you have held broken packages.",
    ]
    assert found.failure["error"] == "unmet_dependencies"


def test_versions_on_offer():
    said = " nvidia-open | 595.71.05-1 | http://x /  Packages\n nvidia-open | 595.58.03-1 | http://x /  Packages\n"
    assert AptState(lambda args: (0, said, ""), "/x", HostRoot()).versions("nvidia-open") == (
        "595.71.05-1",
        "595.58.03-1",
    )


def test_module_host_of_a_tree(tmp_path):
    write(tmp_path, "/proc/modules", "nvidia 1 0 - Live 0x0\nnvidia_uvm 1 0 - Live 0x0\n")
    write(tmp_path, "/proc/sys/kernel/osrelease", "6.1.0\n")
    write(tmp_path, "/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  x\n")
    write(tmp_path, "/sys/module/nvidia/version", "580.95.05\n")
    write(tmp_path, "/proc/driver/nvidia/gpus/0000:41:00.0/information", "Model: \t x\nDevice Minor: \t 3\n")
    write(tmp_path, "/dev/nvidia-caps/nvidia-cap1", "")
    host = HostRoot(str(tmp_path))
    found = read_module_host(host, lambda args: (1, "", ""), state="loaded")
    assert found.loaded == DriverVersion("580.95.05", "proprietary")
    assert found.nodes == {"/dev/nvidiactl": None, "/dev/nvidia-uvm": None, "/dev/nvidia3": None}
    assert (
        "/dev/nvidia-caps/nvidia-cap1"
        in read_module_host(host, lambda args: (1, "", ""), state="loaded", on_demand=True).nodes
    )
