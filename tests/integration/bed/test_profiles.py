# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each GPU profile is really there for lspci and nvidia-smi."""

from __future__ import annotations

from collections import Counter

import pytest

from lab.asked import say
from lab.driven import with_hardware
from lab.host import Host
from simulator.layout import SWITCH_CHIPS
from simulator.models import MODELS
from simulator.profiles import PROFILES, Profile

NVSWITCHES = Counter({f"10de:{chip.device_id:04x}": 0 for chip in SWITCH_CHIPS.values()})
TURING = 6  # the first architecture that the open modules drive


@pytest.mark.parametrize("name", PROFILES)
def test_profile(equipped: Host, name: str) -> None:
    profile = PROFILES[name]
    with_hardware(equipped, name)
    found = Counter(line.split()[2] for line in equipped.run(["lspci", "-n", "-d", "10de:"]).splitlines())
    assert found - NVSWITCHES == pci_ids(profile) + switches(profile)
    status, text = say(equipped, "nvidia-smi --query-gpu=name --format=csv,noheader")
    if profile.faults:
        assert "Failed to initialize NVML: Unknown Error" in text
    elif any(MODELS[key].architecture >= TURING for key in profile.models):
        assert text.splitlines() == [MODELS[key].name for key in profile.models]
        assert status == 0
    elif profile.models:
        assert status == 9
        assert "is not supported by open" in equipped.run(["dmesg"])
    else:
        assert status == 9


def pci_ids(profile: Profile) -> Counter[str]:
    return Counter(f"10de:{MODELS[key].device_id:04x}" for key in profile.models)


def switches(profile: Profile) -> Counter[str]:
    chip = SWITCH_CHIPS.get(MODELS[profile.models[0]].nvlink[1]) if profile.nvlink == "switch" else None
    return Counter({f"10de:{chip.device_id:04x}": chip.count} if chip else {})
