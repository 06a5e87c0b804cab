# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel modules of a simulated host: what a load or a removal answers, and what it shows."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from simulator import driver
from simulator.kernel_modules import Information, Module, Refused, insert, loaded, remove
from simulator.place import Place
from simulator.state import edit, read
from simulator.tree import KERNEL, make_tree

VERSION = "570.172.08"


def _information(name: str, *depends: str, terms: str = "NVIDIA", release: str = KERNEL) -> Information:
    return Information(name, VERSION, terms, release, depends, "ABC")


def _bare(folder: Path) -> Place:
    make_tree(folder, "a100x2", "", nodes=False)
    return Place(folder)


def test_modinfo_section_is_read() -> None:
    section = b"version=570.172.08\0license=Dual MIT/GPL\0depends=nvidia,nvidia-modeset\0"
    section += b"name=nvidia_drm\0vermagic=6.1.0-x SMP \0"
    information = Information.parse(section)
    assert (information.name, information.version, information.release) == ("nvidia_drm", VERSION, "6.1.0-x")
    assert (information.depends, information.taints) == (("nvidia", "nvidia_modeset"), "(OE)")


def test_section_without_name_is_no_module() -> None:
    with pytest.raises(Refused) as refusal:
        Information.parse(b"license=GPL\0")
    assert refusal.value.number == errno.ENOEXEC


def test_line_of_proc_modules_survives_a_round_trip() -> None:
    line = "nvidia 111489024 2 nvidia_uvm,nvidia_drm, Live 0x0000000000000000 (PO)"
    assert Module.parse(line).line == line


def test_insert_shows_module_and_holder(tmp_path: Path) -> None:
    place = _bare(tmp_path)
    insert(place, _information("nvidia"), flags=0)
    insert(place, _information("nvidia_uvm", "nvidia"), flags=0)
    assert place.modules.read_text().splitlines() == [
        "nvidia_uvm 2232320 0 - Live 0x0000000000000000 (POE)",
        "nvidia 111489024 1 nvidia_uvm, Live 0x0000000000000000 (POE)",
    ]
    module = place.sys / "module/nvidia"
    texts = [(module / name).read_text().strip() for name in ("version", "refcnt", "initstate")]
    assert texts == [VERSION, "1", "live"]
    assert (module / "holders/nvidia_uvm/version").read_text().strip() == VERSION


@pytest.mark.parametrize(
    ("information", "flags", "number"),
    [
        (_information("nvidia", release="5.10.0-other"), 0, errno.ENOEXEC),
        (_information("nvidia_uvm", "nvidia"), 0, errno.ENOENT),
        (_information("present"), 0, errno.EEXIST),
        (_information("nvidia", release="5.10.0-other"), 2, None),
    ],
)
def test_kernel_answers(tmp_path: Path, information: Information, flags: int, number: int | None) -> None:
    place = _bare(tmp_path)
    insert(place, _information("present"), flags=0)
    if number is None:
        insert(place, information, flags)
        assert information.name in loaded(place)
        return
    with pytest.raises(Refused) as refusal:
        insert(place, information, flags)
    assert refusal.value.number == number


def test_used_module_stays(tmp_path: Path) -> None:
    place = _bare(tmp_path)
    insert(place, _information("nvidia"), flags=0)
    insert(place, _information("nvidia_uvm", "nvidia"), flags=0)
    with pytest.raises(Refused) as refusal:
        remove(place, "nvidia")
    assert refusal.value.number == errno.EAGAIN
    remove(place, "nvidia-uvm")
    remove(place, "nvidia")
    assert (place.modules.read_text(), list((place.sys / "module").iterdir())) == ("", [])


@pytest.mark.parametrize(
    ("terms", "flavour", "words"),
    [
        ("Dual MIT/GPL", "open", "Open Kernel Module for x86_64  570.172.08  Release Build"),
        ("NVIDIA", "proprietary", "x86_64 Kernel Module  570.172.08"),
    ],
)
def test_driver_starts_and_stops(tmp_path: Path, terms: str, flavour: str, words: str) -> None:
    place = _bare(tmp_path)
    before = place.devices.read_text()
    driver.add_devices(place, "nvidia")
    driver.start(place, _information("nvidia", terms=terms), "NVreg_DeviceFileMode=384 NVreg_RegistryDwords=a=1;b=2")
    assert read(place.state).driver == (VERSION, flavour)
    assert words in (place.driver / "nvidia/version").read_text()
    parameters = (place.driver / "nvidia/params").read_text()
    assert 'RegistryDwords: "a=1;b=2"' in parameters
    assert (place.sys / "bus/pci/devices/0000:41:00.0/driver").resolve().name == "nvidia"
    assert "195 nvidiactl" in place.devices.read_text()
    driver.stop(place)
    driver.remove_devices(place, "nvidia")
    assert (list(place.driver.iterdir()), place.devices.read_text()) == ([], before)


def test_driver_does_not_start_without_gpu(tmp_path: Path) -> None:
    make_tree(tmp_path, "none", "", nodes=False)
    with pytest.raises(Refused) as refusal:
        driver.check_start(Place(tmp_path), Information("nvidia", "580.65.06", "NVIDIA", "6.1.0", (), ""))
    assert refusal.value.number == errno.ENODEV


def test_driver_stays_while_a_process_has_a_gpu(tmp_path: Path) -> None:
    place = _bare(tmp_path)
    driver.check_stop(place)
    with edit(place.state) as state:
        state.processes.append({"gpu": "0", "pid": "1"})
    with pytest.raises(Refused) as refusal:
        driver.check_stop(place)
    assert refusal.value.number == errno.EAGAIN
