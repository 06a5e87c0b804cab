# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from dev import machine
from lab.faults.catalog import FAULTS, named


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("power-cut", [], []),
        ("slow-disk", [], ["1"]),
        ("slow-disk", ["20"], ["20"]),
        ("nvml", [], ["999", "nvmlInit"]),
        ("nvml", ["15"], ["15", "nvmlInit"]),
        ("nvml", ["15", "nvmlDeviceGetTemperature"], ["15", "nvmlDeviceGetTemperature"]),
    ],
)
def test_words_are_filled_up_from_the_defaults(name, given, words):
    assert FAULTS[name].words(given) == words


@pytest.mark.parametrize(("name", "given"), [("power-cut", ["now"]), ("slow-disk", ["1", "2"])])
def test_too_many_words_are_refused_with_what_is_wanted(name, given):
    with pytest.raises(machine.Unfit, match=f"Fault {name} takes .*, found {' '.join(given)}"):
        FAULTS[name].words(given)


def test_an_unknown_fault_is_refused_with_the_known_ones():
    with pytest.raises(machine.Unfit, match="no fault 'rain'; there are power-cut, "):
        named("rain")


@pytest.mark.parametrize(
    ("name", "usage"), [("power-cut", "power-cut"), ("nvml", "nvml [CODE=999] [FUNCTION=nvmlInit]")]
)
def test_usage_names_the_defaults(name, usage):
    assert FAULTS[name].usage == usage


def test_each_fault_says_what_it_is_in_one_line():
    assert not [f.name for f in FAULTS.values() if "\n" in f.summary or len(f.summary) > 80 or not f.look]
