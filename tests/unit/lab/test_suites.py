# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from lab import rpm_base
from lab.packages.distributions import DISTRIBUTIONS
from lab.suites import EL, SUITES, disguise, os_release

SIMULATED = [name for name, suite in SUITES.items() if suite.is_simulated]


@pytest.mark.parametrize("name", SUITES)
def test_each_suite_is_a_distribution_of_the_repositories(name):
    suite, row = SUITES[name], DISTRIBUTIONS[SUITES[name].folder]
    assert (row.family, row.suite) == (suite.family, suite.base)


@pytest.mark.parametrize("name", SIMULATED)
def test_what_is_simulated_says_so_everywhere(tmp_path, name):
    for folder in ("usr/lib", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    disguise(tmp_path, SUITES[name])
    assert "simulated" in SUITES[name].title
    assert 'VARIANT="simulated"' in (tmp_path / "usr/lib/os-release").read_text()
    assert "simulated" in (tmp_path / "etc/issue").read_text()


def test_a_real_suite_is_left_alone(tmp_path):
    disguise(tmp_path, SUITES["bookworm"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("ubuntu2404", {"ID=ubuntu", 'VERSION_ID="24.04"', "VERSION_CODENAME=noble"}),
        ("rhel9", {'ID="rocky"', 'PLATFORM_ID="platform:el9"', 'VERSION_ID="9.8"'}),
        ("rhel10", {'ID="rocky"', 'PLATFORM_ID="platform:el10"', 'VERSION_ID="10.2"'}),
    ],
)
def test_os_release_is_quoted_as_the_distribution_does(name, lines):
    assert lines <= set(os_release(SUITES[name]).splitlines())


@pytest.mark.parametrize("name", [name for name in SIMULATED if SUITES[name].family == EL])
def test_rpm_knows_release_and_running_kernel(name):
    kernel = DISTRIBUTIONS[name].kernel
    text = rpm_base.spec(SUITES[name], kernel)
    assert f"Provides: kernel-core-uname-r = {kernel}" in text
    assert f"Provides: system-release(releasever) = {name.removeprefix('rhel')}\n" in text
