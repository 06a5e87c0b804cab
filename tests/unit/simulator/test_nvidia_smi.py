# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated nvidia-smi: texts and exit codes as recorded from the real one."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from simulator.sandbox import DRIVER, Sandbox


def _with_instances(folder: Path) -> Sandbox:
    box = Sandbox(folder, "h100x2")
    assert box.smi("-pm", "1").returncode == 0
    assert box.smi("-i", "0", "-mig", "1").stdout == "Enabled MIG Mode for GPU 00000000:41:00.0\nAll done.\n"
    assert box.smi("mig", "-i", "0", "-cgi", "9,2g.20gb:0,19:2", "-C").returncode == 0
    return box


def test_list_with_mig_devices(tmp_path: Path) -> None:
    box = _with_instances(tmp_path)
    lines = [line.split("(UUID")[0] for line in box.smi("-L").stdout.splitlines()]
    assert lines == [
        "GPU 0: NVIDIA H100 80GB HBM3 ",
        "  MIG 3g.40gb     Device  0: ",
        "  MIG 2g.20gb     Device  1: ",
        "  MIG 1g.10gb     Device  2: ",
        "GPU 1: NVIDIA H100 80GB HBM3 ",
    ]


def test_list_of_instances_is_as_recorded(tmp_path: Path) -> None:
    lines = _with_instances(tmp_path).smi("mig", "-lgi").stdout.splitlines()
    assert lines[5::2] == [
        "|   0  MIG 1g.10gb         19        9          2:1     |",
        "|   0  MIG 2g.20gb         14        3          0:2     |",
        "|   0  MIG 3g.40gb          9        2          4:4     |",
    ]


def test_xml(tmp_path: Path) -> None:
    root = xml.fromstring(_with_instances(tmp_path).smi("-q", "-x").stdout)
    assert root.findtext("driver_version") == DRIVER
    assert [gpu.findtext("mig_mode/current_mig") for gpu in root.iter("gpu")] == ["Enabled", "Disabled"]
    assert [mig.findtext("gpu_instance_id") for mig in root.iter("mig_device")] == ["2", "3", "9"]


def test_query(tmp_path: Path) -> None:
    done = Sandbox(tmp_path, "t4x1").smi("--query-gpu=index,name,memory.total,mig.mode.current", "--format=csv")
    assert done.stdout == "index, name, memory.total [MiB], mig.mode.current\n0, Tesla T4, 15360 MiB, [N/A]\n"


@pytest.mark.parametrize("busy", ["process", "client"])
def test_reset_is_refused_while_a_gpu_is_in_use(tmp_path: Path, busy: str) -> None:
    box = Sandbox(tmp_path, "a100x2")
    if busy == "process":
        box.process(gpu=1)
        done = box.smi("-r", "-i", "1")
    else:
        with box.start("") as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "ready\n"
            done = box.smi("-r", "-i", "1")
    assert done.returncode == 255
    assert "The following GPUs could not be reset:\n  GPU 00000000:51:00.0: In use by another client\n" in done.stdout
    assert "1 device is currently being used by one or more other processes" in done.stdout


@pytest.mark.parametrize(
    ("driver", "arguments", "code", "text"),
    [
        ("", [], 9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
        (DRIVER, ["--unknown"], 2, "ERROR: Option --unknown is not recognized. Please run 'nvidia-smi -h' for help."),
        (DRIVER, ["-L", "-q"], 2, "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help."),
        (DRIVER, ["-i", "7"], 6, "No devices were found"),
        (DRIVER, ["mig", "-lgi"], 6, "No MIG-enabled devices found."),
    ],
)
def test_failures(tmp_path: Path, driver: str, arguments: list[str], code: int, text: str) -> None:
    done = Sandbox(tmp_path, "a100x1", driver=driver).smi(*arguments)
    assert (done.returncode, text in done.stdout) == (code, True)


def test_missing_library(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, "a100x1")
    box.environment["LD_LIBRARY_PATH"] = ""
    done = box.smi()
    assert (done.returncode, "couldn't find libnvidia-ml.so library" in done.stdout) == (12, True)
