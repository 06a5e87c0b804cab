# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One driver from bare host and back: a real Debian, and an Enterprise Linux with module streams."""

from __future__ import annotations

import pytest

from lab.driver_task import bring
from lab.host import Host
from lab.lab import Lab
from lab.packages.versions import newest
from lab.suites import EL, SUITES

from .conftest import Maker, brought, flavour, installed, loaded, unchanged

# Packages that came with 590, so that 580 has no version of them: after a downgrade apt keeps them, unused.
LATER = ("libnvidia-tileiras",)


@pytest.fixture(scope="module", params=["bookworm", "rhel9"])
def host(request: pytest.FixtureRequest, make: Maker) -> Host:
    return make(request.param)


def holds(host: Host, branch: int) -> None:
    """All of the driver is of the newest release of the branch: packages, module on disk, module that runs."""
    wanted = newest(branch).version
    there = {name: version for name, version in installed(host).items() if name not in LATER}
    assert set(there.values()) == {wanted}, there
    assert host.run(["modinfo", "--field=version", "nvidia"]).strip() == wanted
    assert loaded(host) == wanted


def test_install(lab: Lab, host: Host) -> None:
    assert installed(host) == {}
    brought(lab, host, branch="580")
    holds(host, 580)
    unchanged(lab, host, branch="580")


def test_an_upgrade_of_everything_leaves_the_driver(lab: Lab, host: Host) -> None:
    is_el = SUITES[host.suite].family == EL
    host.shell("dnf --assumeyes update" if is_el else "apt-get --quiet update && apt-get --yes full-upgrade")
    holds(host, 580)


def test_upgrade(lab: Lab, host: Host) -> None:
    brought(lab, host, branch="595")
    holds(host, 595)
    unchanged(lab, host, branch="595")


def test_without_options_it_stays(lab: Lab, host: Host) -> None:
    unchanged(lab, host)


def test_downgrade_and_another_flavour_in_one_run(lab: Lab, host: Host) -> None:
    done = brought(lab, host, branch="580", flavour="proprietary")
    assert "remove" in {action for action, _target in done.steps}
    holds(host, 580)
    assert flavour(host) == "proprietary"
    unchanged(lab, host, branch="580", flavour="proprietary")


def test_remove(lab: Lab, host: Host) -> None:
    brought(lab, host, state="absent")
    assert installed(host) == {}
    assert loaded(host) is None
    assert not host.succeeds("modinfo nvidia")
    left = host.shell(
        "find /etc/apt /etc/yum.repos.d /etc/pki/rpm-gpg /etc/dnf -name '*gpu-fleet*' 2> /dev/null || true"
    )
    assert left == ""
    assert not host.succeeds("ls /etc/dnf/modules.d/nvidia-driver.module")
    assert not host.succeeds("ls /var/lib/gpu-fleet/owned/driver.json")
    unchanged(lab, host, state="absent")


def test_a_release_that_is_not_there_changes_nothing(lab: Lab, host: Host) -> None:
    refused = bring(lab, host, version="595.99.01")
    assert refused.run.status != 0
    assert refused.findings == ["GPU-PKG-104"]
    assert newest(595).version in refused.result["msg"]
    assert installed(host) == {}
