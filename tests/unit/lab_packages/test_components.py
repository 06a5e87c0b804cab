# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of the lab's driver packages fit together, and have the names that NVIDIA's repository has."""

from __future__ import annotations

import re

import pytest

from lab.packages import deb
from lab.packages.components import COMPONENTS, of_branch
from lab.packages.driver import fill, library_links
from lab.packages.libraries import LIBRARIES
from lab.packages.versions import BRANCHES, DRIVERS, Driver, newest

FROM_DEBIAN = {"dkms", "adduser"}
# As listed by `dpkg -l` or an install command on hosts with NVIDIA's repository for Debian (README.md).
SEEN = {
    570: "nvidia-open-570 nvidia-open-570.172.08 cuda-drivers-570 nvidia-fabricmanager-570 nvidia-kernel-open-dkms",
    595: "nvidia-open cuda-drivers nvidia-driver-pinning-595 nvidia-driver-pinning-595.71.05 nvidia-fabricmanager",
}
NOT_THERE = {
    570: "nvidia-driver-pinning-570 nvidia-fabricmanager libnvidia-tileiras libnvidia-nvvm704",
    595: "nvidia-open-595 cuda-drivers-595 nvidia-fabricmanager-595",
}
EVERYWHERE = [
    "nvidia-driver",
    "nvidia-driver-cuda",
    "nvidia-kernel-dkms",
    "libnvidia-ml1",
    "libcuda1",
    "firmware-nvidia-gsp",
]


def names(driver: Driver) -> list[str]:
    return [fill(component.name, driver) for component in of_branch(driver.branch)]


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.version)
def test_every_dependency_is_a_package_of_the_same_release(driver: Driver) -> None:
    known = {*names(driver), *FROM_DEBIAN}
    for component in of_branch(driver.branch):
        for item in (*component.depends, *component.recommends):
            for alternative in fill(item, driver).split("|"):
                assert alternative.split()[0] in known, f"{component.name} depends on {alternative}"


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.version)
def test_a_release_has_each_name_once(driver: Driver) -> None:
    assert sorted(names(driver)) == sorted(set(names(driver)))


@pytest.mark.parametrize("branch", BRANCHES)
def test_names_are_those_of_the_branch(branch: int) -> None:
    found = set(names(newest(branch)))
    assert {*SEEN[branch].split(), *EVERYWHERE} <= found
    assert not found & set(NOT_THERE[branch].split())


def test_library_rows_belong_to_packages() -> None:
    assert set(LIBRARIES) <= {component.tree or component.name for component in COMPONENTS}


@pytest.mark.parametrize("branch", BRANCHES)
def test_packages_are_not_empty(branch: int) -> None:
    """A package has files, libraries or programs, or is there for its dependencies; the firmware is made by code."""
    for component in of_branch(branch):
        source = component.tree or component.name
        laid = any((deb.FILES / tree).exists() for tree in (source, f"{source}@{branch}"))
        content = laid or component.programs or component.depends or LIBRARIES.get(source)
        assert content or source == "firmware-nvidia-gsp", component.name


def test_flavours_exclude_each_other_and_differ_in_license() -> None:
    rows = {row.name: row for row in COMPONENTS if row.tree == "nvidia-dkms"}
    assert {name: row.license for name, row in rows.items()} == {
        "nvidia-kernel-open-dkms": "Dual MIT/GPL",
        "nvidia-kernel-dkms": "NVIDIA",
    }
    for name, row in rows.items():
        assert set(row.conflicts) == set(rows) - {name}


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        (
            "libnvidia-ml1",
            {
                "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "libnvidia-ml.so.595.71.05",
                "usr/lib/x86_64-linux-gnu/libnvidia-ml.so": "libnvidia-ml.so.1",
            },
        ),
        ("libnvidia-glvkspirv", {}),
        (
            "nvidia-vdpau-driver",
            {"usr/lib/x86_64-linux-gnu/vdpau/libvdpau_nvidia.so.1": "libvdpau_nvidia.so.595.71.05"},
        ),
    ],
)
def test_links_of_libraries(package: str, expected: dict[str, str]) -> None:
    assert library_links(LIBRARIES[package], Driver("595.71.05")) == expected


@pytest.mark.parametrize("branch", BRANCHES)
def test_every_branch_has_its_module_options(branch: int) -> None:
    text = (deb.FILES / f"nvidia-kernel-support@{branch}/etc/modprobe.d/nvidia.conf").read_text()
    assert "blacklist nouveau" in text
    assert re.search(r"^softdep nvidia post: nvidia-uvm nvidia-drm$", text, re.MULTILINE)


def test_unknown_branch_names_those_there_are() -> None:
    with pytest.raises(LookupError, match="no driver branch 580, only 570, 595"):
        newest(580)
