# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host that the tests of the test bed itself look at: one of their own, which goes back to snapshots."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import access, driven, fleet
from lab.fleet import HostSpec
from lab.host import Host
from lab.lab import Lab

DRIVER = "driver"  # the snapshot with NVIDIA's driver installed and loaded


@pytest.fixture(scope="session")
def host(lab: Lab) -> Iterator[Host]:
    """A host with two H100, and nothing of NVIDIA's on it."""
    made = fleet.add(lab, HostSpec.parse("bed=bookworm:h100x2"))
    made.wait()
    yield made
    made.down()
    access.write_inventory(lab)


@pytest.fixture(scope="session")
def equipped(host: Host) -> Host:
    """The same host, with the snapshot `driver`."""
    driven.install(host)
    host.snapshot(DRIVER)
    return host


@pytest.fixture(scope="module")
def fresh(host: Host) -> Host:
    """The host as before its first boot, once a module."""
    host.restore()
    return host


@pytest.fixture(scope="module")
def loaded(equipped: Host) -> Host:
    """The host with its driver, once a module: after the tests that use `fresh`."""
    equipped.restore(DRIVER)
    return equipped
