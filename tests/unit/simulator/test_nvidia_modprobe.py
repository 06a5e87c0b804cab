# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated nvidia-modprobe: which files each command line makes. Rules: sources of nvidia-modprobe, 535 to 610."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from simulator.build import artifact_dir
from simulator.sandbox import Sandbox

PROGRAM = "nvidia-modprobe"
CONFIG = "/proc/driver/nvidia/capabilities/mig/config"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="device files are root's to make")


def _bare(folder: Path, machine: str = "a100x2", driver: str = "570.172.08") -> Sandbox:
    """A machine without device files."""
    box = Sandbox(folder, machine, driver=driver)
    for path in (folder / "dev").iterdir():
        path.unlink()
    return box


def _run(box: Sandbox, arguments: str) -> subprocess.CompletedProcess[str]:
    return box.run(str(artifact_dir() / "bin" / PROGRAM), *arguments.split())


def _files(box: Sandbox) -> dict[str, tuple[int, int]]:
    """Name below /dev -> numbers, of all device files."""
    dev = box.folder / "dev"
    found = {}
    for path in sorted(dev.rglob("*")):
        status = path.lstat()
        if stat.S_ISCHR(status.st_mode):
            found[str(path.relative_to(dev))] = (os.major(status.st_rdev), os.minor(status.st_rdev))
    return found


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ("", {}),
        ("-c 0", {"nvidia0": ("nvidia", 0)}),
        ("-c0 -c 1 -c=255", {"nvidia0": ("nvidia", 0), "nvidia1": ("nvidia", 1), "nvidiactl": ("nvidia", 255)}),
        ("--create-nvidia-device-file=255", {"nvidiactl": ("nvidia", 255)}),
        ("-c0 -u", {"nvidia-uvm": ("nvidia-uvm", 0), "nvidia-uvm-tools": ("nvidia-uvm", 1)}),
        ("-u", {}),
        ("-l", {"nvidia-nvlink": ("nvidia-nvlink", 0)}),
        (f"-f {CONFIG}", {"nvidia-caps/nvidia-cap1": ("nvidia-caps", 1)}),
    ],
)
def test_files(tmp_path: Path, arguments: str, files: dict[str, tuple[str, int]]) -> None:
    box = _bare(tmp_path)
    done = _run(box, arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    majors = _majors(box)
    assert _files(box) == {name: (majors[device], minor) for name, (device, minor) in files.items()}


def _majors(box: Sandbox) -> dict[str, int]:
    lines = (box.folder / "proc/devices").read_text().partition("Block")[0].splitlines()
    return {name: int(major) for major, name in (line.split() for line in lines if line[:3].strip().isdigit())}


def test_each_file_has_a_link_by_number(tmp_path: Path) -> None:
    box = _bare(tmp_path)
    assert _run(box, f"-c 1 -f {CONFIG}").returncode == 0
    dev = box.folder / "dev"
    links = {os.readlink(path): path.stat().st_rdev for path in (dev / "char").iterdir()}
    assert links == {
        "../nvidia1": (dev / "nvidia1").stat().st_rdev,
        "../nvidia-caps/nvidia-cap1": (dev / "nvidia-caps/nvidia-cap1").stat().st_rdev,
    }


def test_the_drivers_parameters_decide_about_owner_and_mode(tmp_path: Path) -> None:
    box = _bare(tmp_path)
    params = box.folder / "proc/driver/nvidia/params"
    params.write_text("DeviceFileUID: 0\nDeviceFileGID: 44\nDeviceFileMode: 432\nModifyDeviceFiles: 1\n")
    assert _run(box, "-c 0").returncode == 0
    status = (box.folder / "dev/nvidia0").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_gid) == (0o660, 44)


def test_files_that_may_not_be_modified_are_left_to_others(tmp_path: Path) -> None:
    box = _bare(tmp_path)
    (box.folder / "proc/driver/nvidia/params").write_text("ModifyDeviceFiles: 0\n")
    assert _run(box, "-c 0").returncode == 1
    assert _files(box) == {}


def test_what_is_in_the_way_is_replaced(tmp_path: Path) -> None:
    box = _bare(tmp_path)
    (box.folder / "dev/nvidia0").write_text("not a device")
    assert _run(box, "-c 0").returncode == 0
    assert _files(box) == {"nvidia0": (195, 0)}


@pytest.mark.parametrize(
    ("machine", "driver", "arguments"),
    [
        ("a100x1", "", "-c 0"),
        ("none", "", "-c 0"),
        ("a100x1", "570.172.08", "-s -c 0"),
        ("a100x1", "570.172.08", "-m"),
        ("a100x1", "570.172.08", "-f /proc/driver/nvidia/capabilities/gpu0/mig/gi1/access"),
        ("a100x1", "570.172.08", "-f /etc/passwd"),
    ],
)
def test_failures_have_no_words(tmp_path: Path, machine: str, driver: str, arguments: str) -> None:
    done = _run(_bare(tmp_path, machine, driver), arguments)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_a_module_that_is_missing_is_loaded_by_the_kernels_modprobe(tmp_path: Path) -> None:
    box = _bare(tmp_path)
    module = box.folder / "sys/module/nvidia_modeset"
    program = box.folder / "sbin/modprobe"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$1"\nmkdir {module}\necho live > {module}/initstate\nexit 1\n')
    program.chmod(0o755)
    done = _run(box, "-m")
    assert (done.returncode, done.stdout) == (0, "")
    assert _files(box) == {"nvidia-modeset": (195, 254)}


@pytest.mark.parametrize("arguments", ["-i 0", "--colour", "-c", "-c x", "0"])
def test_wrong_command_lines(tmp_path: Path, arguments: str) -> None:
    done = _run(_bare(tmp_path), arguments)
    program = artifact_dir() / "bin" / PROGRAM
    assert done.returncode == 1
    assert done.stderr.strip() == (f"ERROR: Invalid commandline, please run `{program} --help` for usage information.")


@pytest.mark.parametrize("option", ["-h", "--help", "-v", "--version"])
def test_help_and_version(tmp_path: Path, option: str) -> None:
    done = _run(_bare(tmp_path), option)
    assert (done.returncode, "nvidia-modprobe" in done.stdout) == (0, True)
