# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host goes back to what it was, and keeps what was kept."""

from __future__ import annotations

import pytest

from dev import machine
from lab.host import Host


def test_what_was_written_after_a_snapshot_is_gone(fresh: Host) -> None:
    fresh.shell("echo one > /root/file; rm /etc/motd; podman volume create one")
    assert fresh.snapshot("one") == "running"
    fresh.shell("echo two > /root/file; echo > /etc/motd; podman volume create two; dpkg --purge ethtool")
    assert fresh.restore("one") == "running"
    assert fresh.run(["cat", "/root/file"]).strip() == "one"
    assert not fresh.succeeds("test -e /etc/motd")
    assert fresh.run(["podman", "volume", "ls", "--quiet"]).split() == ["one"]
    assert fresh.succeeds("ethtool --version")


def test_fresh_is_before_the_first_boot(fresh: Host) -> None:
    before = fresh.run(["cat", "/etc/machine-id"])
    fresh.shell("echo > /root/file")
    assert fresh.restore() == "running"
    assert not fresh.succeeds("test -e /root/file")
    assert fresh.run(["cat", "/etc/machine-id"]) != before


def test_an_unknown_snapshot_is_refused_and_the_host_runs_on(fresh: Host) -> None:
    leader = fresh.leader
    with pytest.raises(machine.Unfit, match="no snapshot 'never'; it has fresh"):
        fresh.restore("never")
    assert fresh.leader == leader
