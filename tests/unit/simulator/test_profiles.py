# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from simulator.models import MODELS
from simulator.profiles import PROFILES, profile, profile_state

SUMMARIES = {
    "h100x2": "2 x NVIDIA H100 80GB HBM3",
    "t4-a100": "1 x Tesla T4, 1 x NVIDIA A100-SXM4-40GB; two models in one host",
    "l4x3": "3 x NVIDIA L4",
    "B200x64": "64 x NVIDIA B200",
}


@pytest.mark.parametrize("name", PROFILES)
def test_each_profile_makes_a_machine(name):
    assert [gpu["model"] for gpu in profile_state(name, "host").gpus] == list(PROFILES[name].models)


@pytest.mark.parametrize("key", MODELS)
def test_each_model_can_be_asked_for_by_number(key):
    assert profile(f"{key.lower()}x2").models == (key, key)


@pytest.mark.parametrize(("name", "summary"), SUMMARIES.items())
def test_a_profile_says_what_it_is(name, summary):
    assert profile(name).summary == summary


@pytest.mark.parametrize("name", ["h100x0", "h100x65", "voodoo2x1", "", "x2"])
def test_what_is_not_known_is_refused_with_the_known_ones(name):
    with pytest.raises(ValueError, match="choose one of a100x1, .*, or MODELxCOUNT"):
        profile(name)
