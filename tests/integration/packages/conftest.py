# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that the lab's package repositories are looked at from, with the programs that any host has for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lab import access, fleet
from lab.fleet import HostSpec
from lab.host import Host
from lab.lab import Lab
from lab.packages import sources
from lab.suites import SUITES

# The snapshot with NVIDIA's repository configured and the indexes read.
READY = "ready"
REFRESH = {"debian": "apt-get --quiet update", "ubuntu": "apt-get --quiet update", "el": "dnf --quiet makecache"}
Maker = Callable[[str], Host]


@pytest.fixture(scope="module")
def make(lab: Lab) -> Iterator[Maker]:
    """Makes the one host of a suite, with NVIDIA's repository; the one before it goes."""
    made: list[Host] = []

    def of_suite(name: str) -> Host:
        while made:
            made.pop().down()
        host = fleet.add(lab, HostSpec.parse(f"packages={name}:h100x1"))
        made.append(host)
        host.wait()
        sources.give_cuda(host.root, SUITES[name].folder)
        host.shell(REFRESH[SUITES[name].family])
        host.snapshot(READY)
        return host

    yield of_suite
    while made:
        made.pop().down()
    access.write_inventory(lab)
