# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles with state `absent` leave a host as it was before them."""

from __future__ import annotations

import json
import re

import pytest

from lab import file_tree, proving
from lab.lab import Lab
from lab.watched import Calm

# Last brought, first removed.
ROLES = ("validation", "toolkit", "mig", "driver", "prereq")
# What a removal without purge leaves on Debian, what the kernel keeps until the next boot, and the simulator's own.
REMAINS = (
    *(
        "/var/cache/",
        "/var/lib/apt/",
        "/var/lib/dpkg/",
        "/var/log/alternatives.log",
        "/var/log/apt",
        "/var/log/dpkg.log",
    ),
    *(
        "/etc/OpenCL/",
        "/etc/dkms/",
        "/etc/dpkg/",
        "/etc/kernel/",
        "/etc/modprobe.d/dkms.conf",
        "/etc/modprobe.d/nvidia.conf",
    ),
    *("/etc/nvidia-container-runtime/", "/etc/nvidia-container-toolkit/", "/var/lib/dkms/mok."),
    *("/etc/group", "/etc/gshadow", "/etc/passwd", "/etc/shadow", "/etc/ld.so.cache", "/usr/lib/modules/"),
    *("/etc/systemd/system/nvidia-", "/etc/systemd/system/multi-user.target.wants/nvidia-"),
    *("/dev/char/", "/dev/nvidia", "/run/adduser", "/run/agetty.reload", "/run/gpu-fleet.lock"),
    *("/run/simhw", "/var/lib/simhw"),
    # A link that the toolkit's package removes at a purge, and a library that came newer with a dependency.
    *("/usr/bin/nvidia-container-toolkit", "/usr/lib/x86_64-linux-gnu/liblzma.so.5", "/usr/share/doc/liblzma5/"),
)

STAYS = re.compile(r"where nothing of yours uses them: apt-get remove ([^\"\n]+)")
FOLDER = re.compile(r" came: (directory|d) ")  # also one of the image, copied up when a file came and went in it


@pytest.fixture(scope="module")
def removals(lab: Lab, calm: Calm) -> tuple[proving.Run, proving.Run]:
    """Every role of hosts absent, twice."""
    assert calm.run.status == 0, calm.run.end()
    playbook = lab.folder / "removal.yml"
    states = {f"{role}_state": "absent" for role in ROLES}
    roles = [{"role": f"gpu.fleet.{role}"} for role in ROLES]
    shown = {"ansible.builtin.debug": {"msg": "{{ driver_result.findings + toolkit_result.findings }}"}}
    play = {"hosts": calm.host.name, "gather_facts": False, "vars": states, "roles": roles, "post_tasks": [shown]}
    playbook.write_text(json.dumps([play]))
    return proving.play(lab, str(playbook)), proving.play(lab, str(playbook))


@pytest.fixture(scope="module")
def cleared(calm: Calm, removals: tuple[proving.Run, proving.Run]) -> list[str]:
    """The packages that stayed, after the command that the findings name has removed them."""
    names = [name for found in STAYS.findall(removals[0].text) for name in found.split()]
    calm.host.run(["apt-get", "remove", "--yes", *names])
    return names


def test_site_had_changed_the_host(calm: Calm) -> None:
    assert len(file_tree.differences(calm.bare, calm.ready)) > 100


def test_removal_succeeds(removals: tuple[proving.Run, proving.Run]) -> None:
    assert removals[0].status == 0, removals[0].end()
    assert removals[0].total("changed") > 0


def test_what_came_along_is_named(cleared: list[str]) -> None:
    assert {"dkms", "patch"} <= set(cleared)
    assert [name for name in cleared if "nvidia" in name] == []


def test_host_is_as_it_was_before(calm: Calm, cleared: list[str]) -> None:
    rows = file_tree.differences(calm.bare, file_tree.snapshot(calm.host))
    left = [row for row in rows if not row.startswith(REMAINS) and not FOLDER.search(row)]
    assert not left, "\n".join(left)


def test_no_package_of_nvidia_is_left(calm: Calm, cleared: list[str]) -> None:
    listed = calm.host.run(["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n"])
    installed = [row for row in listed.splitlines() if row.endswith(" installed")]
    assert [row for row in installed if "nvidia" in row or "cuda" in row or "dkms" in row] == []


def test_second_removal_changes_nothing(removals: tuple[proving.Run, proving.Run]) -> None:
    assert removals[1].status == 0, removals[1].end()
    assert removals[1].total("changed") == 0
