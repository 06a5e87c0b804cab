# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's life cycle where test_life_cycle does not look: further systems, sources and kinds of modules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import driven
from lab.driver_task import bring
from lab.host import Host
from lab.lab import Lab
from lab.packages.distributions import DISTRIBUTIONS
from lab.packages.versions import newest

from .conftest import Maker, brought, flavour, installed, loaded, unchanged

BARE = "bare"
MODULE = r"[nvidia-driver]\nname=nvidia-driver\nstream={stream}\nstate=enabled\nprofiles=\n"
Bare = Callable[[], Host]


def bare(host: Host) -> Host:
    """The host as before all drivers; it boots from the same snapshot each time."""
    host.restore(BARE)
    return host


@pytest.fixture(scope="module", params=["trixie", "rhel10", "ubuntu2404"])
def system(request: pytest.FixtureRequest, make: Maker) -> Host:
    return make(request.param)


@pytest.mark.parametrize("branch", [580, 595, 620])
def test_from_branch_to_branch(lab: Lab, system: Host, branch: int) -> None:
    brought(lab, system, branch=str(branch))
    assert set(installed(system).values()) == {newest(branch).version}
    assert loaded(system) == newest(branch).version
    unchanged(lab, system, branch=str(branch))


def test_flavour_and_back(lab: Lab, system: Host) -> None:
    for wanted in ("proprietary", "open"):
        brought(lab, system, branch="595", flavour=wanted)
        assert flavour(system) == wanted
        unchanged(lab, system, branch="595", flavour=wanted)


def test_remove(lab: Lab, system: Host) -> None:
    brought(lab, system, state="absent")
    assert (installed(system), loaded(system)) == ({}, None)


@pytest.fixture(scope="module")
def ubuntu(make: Maker) -> Host:
    host = make("ubuntu2404")
    host.snapshot(BARE)
    return host


def test_modules_that_the_distribution_signed(lab: Lab, ubuntu: Host) -> None:
    done = brought(lab, bare(ubuntu), source="distro", branch="580")
    kernel = DISTRIBUTIONS["ubuntu2404"].kernel
    assert ("install", f"linux-modules-nvidia-580-server-open-{kernel}") in done.steps
    assert ubuntu.run(["modinfo", "--field=signer", "nvidia"]).strip() == "Canonical Ltd. Kernel Module Signing"
    assert not ubuntu.succeeds("command -v dkms")
    assert loaded(ubuntu) == newest(580).version
    unchanged(lab, ubuntu, source="distro", branch="580")


def test_from_the_archive_to_the_cuda_repository_and_back(lab: Lab, ubuntu: Host) -> None:
    refused = bring(lab, ubuntu, branch="595")
    assert refused.findings == ["GPU-PKG-006"]
    brought(lab, ubuntu, source="cuda_repo", branch="595")
    assert set(installed(ubuntu).values()) == {newest(595).version}
    assert loaded(ubuntu) == newest(595).version
    brought(lab, ubuntu, source="distro", branch="580")
    assert loaded(ubuntu) == newest(580).version
    assert not ubuntu.succeeds("ls /etc/apt/sources.list.d/gpu-fleet-cuda.sources")
    brought(lab, ubuntu, state="absent")
    assert installed(ubuntu) == {}


def test_compiled_modules_that_do_not_fit_the_driver_leave_room_for_dkms(lab: Lab, ubuntu: Host) -> None:
    done = brought(lab, bare(ubuntu), source="distro", branch="595")
    assert "GPU-PKG-016" in done.findings
    assert ubuntu.succeeds("dkms status | grep --quiet installed")
    refused = bring(lab, bare(ubuntu), source="distro", branch="595", precompiled="true")
    assert refused.run.status != 0
    assert refused.findings == ["GPU-PKG-128"]
    brought(lab, ubuntu, source="distro", version="595.71.05", precompiled="true")
    assert loaded(ubuntu) == "595.71.05"


@pytest.fixture(scope="module")
def el9(make: Maker) -> Host:
    host = make("rhel9")
    host.snapshot(BARE)
    return host


def test_compiled_modules_of_a_stream(lab: Lab, el9: Host) -> None:
    wish = {"branch": "580", "flavour": "proprietary", "precompiled": "true"}
    brought(lab, bare(el9), **wish)
    assert "580 [e]" in el9.shell("dnf --quiet module list --enabled")
    assert el9.run(["modinfo", "--field=signer", "nvidia"]).strip().startswith("NVIDIA Corporation")
    assert not el9.succeeds("command -v dkms")
    unchanged(lab, el9, **wish)
    brought(lab, el9, branch="580")
    assert flavour(el9) == "open"
    assert "580-open [e]" in el9.shell("dnf --quiet module list --enabled")


def test_another_stream_was_enabled_by_hand(lab: Lab, el9: Host) -> None:
    bare(el9).shell(f"printf '{MODULE.format(stream='570-dkms')}' > /etc/dnf/modules.d/nvidia-driver.module")
    done = brought(lab, el9, branch="595")
    assert ("switch_stream", "nvidia-driver:595-open") in done.steps
    assert loaded(el9) == newest(595).version


def test_a_driver_of_others_is_proved(lab: Lab, make: Maker) -> None:
    host = make("bookworm")
    refused = bring(lab, host, source="preinstalled")
    assert refused.findings == ["GPU-PKG-118"]
    driven.install(host)
    found = bring(lab, host, source="preinstalled")
    assert found.run.status == 0, found.run.end()
    assert (found.result["version"], found.result["flavour"]) == (newest(580).version, "open")
    assert not {action for action, _target in found.steps} & {"install", "add_repository", "pin", "hold"}
    other = bring(lab, host, source="preinstalled", branch="595")
    assert other.findings == ["GPU-PKG-119"]
