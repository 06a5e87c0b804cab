# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host goes back to what it was, and keeps what was kept."""

from __future__ import annotations

import pytest

from dev import machine
from lab.host import Host


def test_what_was_written_after_a_snapshot_is_gone(host: Host) -> None:
    host.shell("echo one > /root/file; rm /etc/motd; podman volume create one")
    assert host.snapshot("one") == "running"
    host.shell("echo two > /root/file; echo > /etc/motd; podman volume create two; dpkg --purge ethtool")
    assert host.restore("one") == "running"
    assert host.run(["cat", "/root/file"]).strip() == "one"
    assert not host.succeeds("test -e /etc/motd")
    assert host.run(["podman", "volume", "ls", "--quiet"]).split() == ["one"]
    assert host.succeeds("ethtool --version")


def test_fresh_is_before_the_first_boot(host: Host) -> None:
    before = host.run(["cat", "/etc/machine-id"])
    host.shell("echo > /root/file")
    assert host.restore() == "running"
    assert not host.succeeds("test -e /root/file")
    assert host.run(["cat", "/etc/machine-id"]) != before


def test_an_unknown_snapshot_is_refused_and_the_host_runs_on(host: Host) -> None:
    leader = host.leader
    with pytest.raises(machine.Unfit, match="no snapshot 'never'; it has fresh"):
        host.restore("never")
    assert host.leader == leader
