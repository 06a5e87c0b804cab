# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from simulator.layout import machine_state
from simulator.models import MODELS
from simulator.probe import failed, objection, refused


@pytest.mark.parametrize(
    ("key", "version", "flavour", "word"),
    [
        ("H100-80", "580.65.06", "open", ""),
        ("H100-80", "580.65.06", "proprietary", ""),
        ("T4", "580.65.06", "open", ""),
        ("V100-32", "580.65.06", "proprietary", ""),
        ("V100-32", "580.65.06", "open", "does not include the required GPU"),
        ("P100", "595.58.03", "proprietary", "NVIDIA 595.58.03 driver release"),
        ("B200", "580.65.06", "open", ""),
        ("B200", "580.65.06", "proprietary", "requires use of the NVIDIA open kernel modules"),
        ("B200", "550.163.01", "open", "NVIDIA 550.163.01 driver release"),
    ],
)
def test_a_driver_says_why_it_does_not_drive_a_board(key, version, flavour, word):
    said = objection(MODELS[key], version, flavour)
    assert bool(said) == bool(word)
    assert word in said


def test_each_refused_gpu_is_named():
    found = refused(machine_state(["V100-32", "T4"], "host"), "580.65.06", "open")
    assert list(found) == ["0000:41:00.0"]
    assert found["0000:41:00.0"].startswith("NVRM: The NVIDIA GPU 0000:41:00.0 (PCI ID: 10de:1db5)\nNVRM: installed in")


@pytest.mark.parametrize(("count", "total", "lines"), [(0, 2, 0), (1, 2, 1), (2, 2, 2)])
def test_the_module_says_how_many_failed(count, total, lines):
    assert len(failed(count, total).splitlines()) == lines
