# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles with state `absent` leave a host as it was before them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from lab import access, file_tree, fleet, proving
from lab.file_tree import Tree
from lab.fleet import HostSpec
from lab.host import Host
from lab.lab import Lab

NAME, SPEC = "away", "trixie:a100x1"
OPTIONS = ("--limit", NAME, "--extra-vars", "gpu_fleet_cluster=false mig_selected_config=all-balanced")
# Last brought, first removed.
ROLES = ("validation", "toolkit", "mig", "driver", "prereq")
# apt's own memory, and what packages that stay in the distribution's ways leave behind.
APT = (
    "/var/cache/",
    "/var/lib/apt/",
    "/var/lib/dpkg/",
    "/var/log/apt",
    "/var/log/dpkg.log",
    "/var/log/alternatives.log",
)


@dataclass(frozen=True)
class Removal:
    host: Host
    bare: Tree
    ready: Tree
    removed: Tree
    runs: tuple[proving.Run, proving.Run, proving.Run]


@pytest.fixture(scope="module")
def removal(lab: Lab) -> Iterator[Removal]:
    """A host of its own: bare, brought to ready, and with every role absent, twice."""
    host = fleet.add(lab, HostSpec.parse(f"{NAME}={SPEC}"))
    host.wait()
    try:
        yield _there_and_back(lab, host)
    finally:
        host.down()
        access.write_inventory(lab)


def _there_and_back(lab: Lab, host: Host) -> Removal:
    playbook = lab.folder / "removal.yml"
    states = {f"{role}_state": "absent" for role in ROLES}
    roles = [{"role": f"gpu.fleet.{role}"} for role in ROLES]
    playbook.write_text(json.dumps([{"hosts": NAME, "gather_facts": False, "vars": states, "roles": roles}]))
    bare = file_tree.snapshot(host)
    there = proving.play(lab, "gpu.fleet.site", *OPTIONS)
    ready = file_tree.snapshot(host)
    back = proving.play(lab, str(playbook))
    removed = file_tree.snapshot(host)
    return Removal(host, bare, ready, removed, (there, back, proving.play(lab, str(playbook))))


def test_host_was_ready(removal: Removal) -> None:
    assert removal.runs[0].status == 0, removal.runs[0].end()
    assert len(file_tree.differences(removal.bare, removal.ready)) > 100


def test_removal_succeeds(removal: Removal) -> None:
    assert removal.runs[1].status == 0, removal.runs[1].end()
    assert removal.runs[1].total("changed") > 0


def test_host_is_as_it_was_before(removal: Removal) -> None:
    rows = file_tree.differences(removal.bare, removal.removed)
    assert [row for row in rows if not row.startswith(APT)] == []


def test_no_package_of_nvidia_is_left(removal: Removal) -> None:
    listed = removal.host.run(["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n"])
    assert [row for row in listed.splitlines() if "nvidia" in row or "cuda" in row or "dkms" in row] == []


def test_second_removal_changes_nothing(removal: Removal) -> None:
    assert removal.runs[2].status == 0, removal.runs[2].end()
    assert removal.runs[2].total("changed") == 0
