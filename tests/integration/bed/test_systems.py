# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated systems are what they say to Ansible and to their own package manager, and say that they are simulated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from lab import access, fleet
from lab.asked import say
from lab.faults import catalog, fault
from lab.fleet import HostSpec
from lab.host import Host
from lab.lab import Lab

SPEC = """\
Name: lab-sample
Version: 1
Release: 1
Summary: sample
License: none
BuildArch: noarch
Requires: {wanted}
%description
Sample.
%files
"""
BUILD = "rpmbuild -bb --quiet --define '_topdir /root/rpm' /root/sample.spec"


@dataclass(frozen=True)
class System:
    """What facts say of a suite, and its kernel."""

    distribution: str
    version: str
    family: str
    manager: str
    kernel: str


SYSTEMS = {
    "ubuntu2404": System("Ubuntu", "24.04", "Debian", "apt", "-generic"),
    "rhel9": System("Rocky", "9.8", "RedHat", "dnf", ".el9_8.x86_64"),
    "rhel10": System("Rocky", "10.2", "RedHat", "dnf", ".el10_2.x86_64"),
}


@pytest.fixture(scope="module", params=SYSTEMS)
def system(lab: Lab, request: pytest.FixtureRequest) -> Iterator[Host]:
    host = fleet.add(lab, HostSpec.parse(f"other={request.param}:h100x1"))
    host.wait()
    yield host
    host.down()
    access.write_inventory(lab)


def facts(host: Host) -> dict[str, str]:
    command = ["ansible", host.name, "--one-line", "--module-name=setup", "--args=gather_subset=!all,min,pkg_mgr"]
    said = host.lab.output(command, env=host.lab.ansible_env(), timeout=300)
    found: dict[str, str] = json.loads(said.partition("=> ")[2])["ansible_facts"]
    return found


def test_facts(system: Host) -> None:
    wanted, found = SYSTEMS[system.suite], facts(system)
    assert found["ansible_distribution"] == wanted.distribution
    assert found["ansible_distribution_version"] == wanted.version
    assert found["ansible_os_family"] == wanted.family
    assert found["ansible_pkg_mgr"] == wanted.manager
    assert found["ansible_kernel"].endswith(wanted.kernel)


def test_it_says_that_it_is_simulated(system: Host) -> None:
    assert 'VARIANT="simulated"' in system.run(["cat", "/etc/os-release"])
    assert "simulated" in system.run(["cat", "/etc/issue"])


def test_gpu_is_there(system: Host) -> None:
    assert "[10de:2330]" in system.run(["lspci", "-nn"])


def test_package_manager(system: Host) -> None:
    if SYSTEMS[system.suite].manager == "apt":
        assert system.succeeds("apt-get update && apt-get check")
        return
    assert not system.succeeds("command -v apt-get || command -v dpkg || test -e /var/lib/dpkg")
    assert system.run(["rpm", "--query", "--whatprovides", "system-release"]).startswith("rocky-release-")
    (system.root / "root/sample.spec").write_text(SPEC.format(wanted="kernel-core bash"))
    assert system.succeeds(f"{BUILD} && dnf --assumeyes install /root/rpm/RPMS/noarch/lab-sample-1-1.noarch.rpm")
    assert system.run(["rpm", "--query", "lab-sample"]).strip() == "lab-sample-1-1.noarch"
    (system.root / "root/sample.spec").write_text(SPEC.format(wanted="lab-nowhere").replace("Version: 1", "Version: 2"))
    status, text = say(system, f"{BUILD} && dnf --assumeyes install /root/rpm/RPMS/noarch/lab-sample-2-1.noarch.rpm")
    assert status != 0
    assert "nothing provides lab-nowhere" in text
    fault.cause(system, catalog.named("held-lock"))
    status, text = say(system, "rpm --erase lab-sample")
    assert status != 0
    assert "can't create transaction lock on /var/lib/rpm/.rpm.lock (Resource temporarily unavailable)" in text
    assert catalog.heal_all(system) == ["held-lock"]
    assert system.succeeds("rpm --erase lab-sample")
