# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated machine as files: trees, state file, hardware in a root file system."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from simulator import build, hardware, state
from simulator.kernel_modules import Information
from simulator.models import MODELS
from simulator.pci import modalias
from simulator.profiles import PROFILES, profile_state
from simulator.tree import make_tree

TEXT = """\
driver 570.172.08 open
gpu minor=0 model=T4 uuid=GPU-1 serial=1 bus=0000:41:00.0 mig=0 pending=0 persistence=0 client=0 passthrough=0 lost=0
gi gpu=0 id=7 profile=19 start=0
ci gpu=0 gi=7 id=0 profile=0 start=0
process gpu=0 pid=5 gi=7 ci=- memory=10 name=python3
fault nvmlInit 999 skip=0 count=-1 gpu=-1
"""


def test_state_survives_a_round_trip() -> None:
    assert state.render(state.parse(TEXT)) == TEXT


@pytest.mark.parametrize("line", ["gpus minor=0", "gi gpu", "driver 570"])
def test_bad_line_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 2 of the state file"):
        state.parse(f"# first\n{line}\n")


def test_failed_edit_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text(TEXT)
    with pytest.raises(RuntimeError):
        _clear_and_fail(path)
    assert path.read_text() == TEXT


def _clear_and_fail(path: Path) -> None:
    with state.edit(path) as edited:
        edited.gpus.clear()
        raise RuntimeError


def test_uuids_differ_between_hosts_and_stay_the_same() -> None:
    uuids = [gpu["uuid"] for host in ("one", "two", "one") for gpu in profile_state("a100x2", host).gpus]
    assert (len(set(uuids)), uuids[:2]) == (4, uuids[4:])


def test_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'a200x1' is not known: choose one of a100x1"):
        profile_state("a200x1", "host")


def test_bare_tree_has_hardware_and_no_driver(tmp_path: Path) -> None:
    make_tree(tmp_path, "t4x1", "", nodes=False)
    device = tmp_path / "sys/bus/pci/devices/0000:41:00.0"
    texts = [(device / name).read_text() for name in ("vendor", "device", "class")]
    assert texts == ["0x10de\n", "0x1eb8\n", "0x030200\n"]
    assert (device / "modalias").read_text().strip() == modalias(MODELS["T4"])
    assert (device / "config").read_bytes()[:4] == b"\xde\x10\xb8\x1e"
    assert (list((tmp_path / "proc/driver").iterdir()), (tmp_path / "proc/modules").read_text()) == ([], "")
    assert list((tmp_path / "dev").iterdir()) == []


def test_tree_with_driver(tmp_path: Path) -> None:
    make_tree(tmp_path, "h100x2", "595.71.05", nodes=False)
    assert sorted(path.name for path in (tmp_path / "dev").glob("nvidia?")) == ["nvidia0", "nvidia1"]
    minors = (tmp_path / "proc/driver/nvidia-caps/mig-minors").read_text().splitlines()
    assert (len(minors), minors[2], minors[-1]) == (4322, "gpu0/gi0/access 3", "gpu31/gi14/ci7/access 4322")
    information = (tmp_path / "proc/driver/nvidia/gpus/0000:51:00.0/information").read_text()
    assert "Device Minor: \t 1\n" in information
    assert "Model: \t\t NVIDIA H100 80GB HBM3\n" in information


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_plug_in(tmp_path: Path, profile: str) -> None:
    for folder in ("etc", "usr/lib/systemd/system", "usr/sbin", "usr/bin", "var/lib/dpkg"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/hostname").write_text("gpu1\n")
    hardware.plug_in(tmp_path, profile, kernel="6.1.0-x")
    assert (tmp_path / "etc/ld.so.preload").read_text() == "/usr/lib/simhw/libsimhw.so\n"
    assert (tmp_path / "usr/lib/simhw/libsimhw.so").exists()
    assert (tmp_path / "usr/lib/systemd/system/sysinit.target.wants/simhw.service").exists()
    plugged = state.read(tmp_path / "var/lib/simhw/state")
    assert [gpu["model"] for gpu in plugged.gpus] == list(PROFILES[profile].models)
    assert plugged.driver is None


def test_kernel_has_a_module_that_depmod_reads(tmp_path: Path) -> None:
    folder = tmp_path / "lib/modules/6.1.0-x"
    module = folder / hardware.KERNEL_MODULE
    module.parent.mkdir(parents=True)
    build.kernel_module(module, "6.1.0-x")
    section = tmp_path / "section"
    subprocess.run(["objcopy", "--dump-section", f".modinfo={section}", module, tmp_path / "copy"], check=True)
    information = Information.parse(section.read_bytes())
    assert (information.name, information.release, information.taints) == ("dummy", "6.1.0-x", "")
