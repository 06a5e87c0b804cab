# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of the lab's driver packages fit together, and have the names that NVIDIA's repositories have."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from lab.packages import package
from lab.packages.distributions import of_family
from lab.packages.driver import Packaging, fill, library_links, trees
from lab.packages.packagings import packaging_of
from lab.packages.tables.component import Component, of_branch
from lab.packages.tables.extras import EXTRAS
from lab.packages.tables.libraries import LIB64, LIBRARIES, MULTIARCH
from lab.packages.versions import BRANCHES, DRIVERS, FAULTS, Driver, faulty, newest

FAMILIES = ("debian", "ubuntu", "el")
# Names of the distributions' own packages.
FOREIGN = {"dkms", "adduser", "libibumad3", "infiniband-diags", "linux-firmware", "ocl-icd", "opencl-filesystem"}
FOREIGN |= {"libvdpau", "libglvnd", "libglvnd-egl", "vulkan-loader", "xorg-x11-server-Xorg", "nvidia-kmod"}
# As listed by `dpkg -l` or an install command on hosts with NVIDIA's repository (README.md).
SEEN = {
    ("debian", 570): "nvidia-open-570 nvidia-open-570.211.01 cuda-drivers-570 nvidia-fabricmanager-570 libnvsdm-570",
    ("debian", 580): "nvidia-open cuda-drivers-580 nvidia-driver-pinning-580 nvidia-fabricmanager nvidia-imex libnvsdm",
    ("debian", 595): "nvidia-open cuda-drivers nvidia-driver-pinning-595 nvidia-driver-pinning-595.71.05 nvlink5",
    ("debian", 620): "nvidia-open nvidia-kernel-open-dkms nvidia-driver-pinning-620",
    ("ubuntu", 570): "nvidia-driver-570-open nvidia-open-570 libnvidia-compute-570 nvidia-firmware-570-570.211.01",
    ("ubuntu", 580): "nvidia-driver-580 nvidia-headless-580-open nvidia-firmware-580 libnvidia-gpucomp-580 nvidia-imex",
    ("ubuntu", 595): "nvidia-driver-open nvidia-headless-no-dkms-open nvidia-firmware libnvidia-gpucomp nvidia-dkms",
    ("ubuntu", 620): "nvidia-open nvidia-driver-open nvidia-dkms-open nvidia-driver-pinning-620.57.04",
    ("el", 570): "nvidia-driver-cuda-libs kmod-nvidia-latest-dkms nvidia-fabric-manager libnvidia-nscq-570",
    (
        "el",
        580,
    ): "nvidia-open cuda-drivers libnvidia-gpucomp nvidia-fabricmanager nvidia-fabric-manager-devel nvlink5-580",
    ("el", 595): "nvidia-open cuda-drivers nvidia-imex libnvsdm-devel xorg-x11-nvidia nvlink5",
    ("el", 620): "nvidia-open kmod-nvidia-open-dkms",
}
NOT_THERE = {
    ("debian", 570): "nvidia-driver-pinning-570 nvidia-fabricmanager libnvidia-tileiras libnvidia-nvvm704",
    ("debian", 580): "nvidia-fabricmanager-580 nvidia-imex-580 libnvidia-tileiras",
    ("debian", 595): "nvidia-open-595 cuda-drivers-595 nvidia-fabricmanager-595",
    ("debian", 620): "cuda-drivers nvidia-kernel-dkms",
    ("ubuntu", 570): "nvidia-persistenced nvidia-firmware-570 libnvidia-gpucomp-570 nvidia-driver-pinning-570",
    ("ubuntu", 580): "nvidia-firmware-580-580.178.04 nvidia-fabricmanager-580",
    ("ubuntu", 595): "nvidia-open-595 cuda-drivers-595 libnvidia-compute-595 nvidia-utils nvidia-compute-utils",
    ("ubuntu", 620): "cuda-drivers nvidia-dkms nvidia-driver nvidia-headless nvidia-kernel-source",
    ("el", 570): "libnvidia-gpucomp nvidia-fabricmanager nvidia-imex",
    ("el", 580): "nvidia-fabric-manager libnvidia-nscq-580",
    ("el", 595): "nvlink5-595 nvidia-fabric-manager",
    ("el", 620): "cuda-drivers kmod-nvidia-latest-dkms nvidia-kmod-headers",
}
EVERYWHERE = {
    "debian": "nvidia-driver nvidia-driver-cuda nvidia-kernel-open-dkms libnvidia-ml1 libcuda1 firmware-nvidia-gsp",
    "ubuntu": "nvidia-open nvidia-modprobe nvidia-settings libxnvctrl0",
    "el": "nvidia-driver nvidia-driver-cuda kmod-nvidia-open-dkms nvidia-kmod-common libnvidia-ml nvidia-persistenced",
}


def packaged(family: str, driver: Driver) -> Packaging:
    return packaging_of(of_family(family)[0], driver)


def rows(family: str, driver: Driver) -> list[tuple[Component, Packaging]]:
    packaging = packaged(family, driver)
    return [(row, packaging) for row in of_branch(packaging.rows, driver.branch)]


def names(family: str, driver: Driver) -> list[str]:
    return [fill(row.name, driver, packaging) for row, packaging in rows(family, driver)]


def wanted(row: Component, driver: Driver, packaging: Packaging) -> Iterator[list[str]]:
    """Names of the alternatives of each dependency."""
    for item in (*row.depends, *row.recommends):
        yield [re.split(r"[ (]", alternative.strip())[0] for alternative in fill(item, driver, packaging).split("|")]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.version)
def test_every_dependency_can_be_had(family: str, driver: Driver) -> None:
    extras = {row.component.name for row in EXTRAS}
    known = {*names(family, driver), *extras, *FOREIGN}
    for row, packaging in rows(family, driver):
        for alternatives in wanted(row, driver, packaging):
            assert known & set(alternatives), f"{row.name} depends on {alternatives}"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.version)
def test_a_release_has_each_name_once(family: str, driver: Driver) -> None:
    assert sorted(names(family, driver)) == sorted(set(names(family, driver)))


@pytest.mark.parametrize(("family", "branch"), SEEN)
def test_names_are_those_of_the_branch(family: str, branch: int) -> None:
    found = set(names(family, newest(branch)))
    assert {*SEEN[family, branch].split(), *EVERYWHERE[family].split()} <= found
    assert not found & set(NOT_THERE[family, branch].split())


def test_library_rows_belong_to_packages() -> None:
    found = [row for family in FAMILIES for row in packaged(family, newest(595)).rows]
    used = {name for row in found for name in (row.tree or row.name, *row.libraries)}
    assert set(LIBRARIES) <= used


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("branch", BRANCHES)
def test_packages_are_not_empty(family: str, branch: int) -> None:
    """A package has files, libraries, programs or firmware, is there for its dependencies, or for developers."""
    for row, packaging in rows(family, newest(branch)):
        laid = any((package.FILES / tree).exists() for tree in trees(row.tree or row.name, newest(branch), packaging))
        content = laid or row.programs or row.depends or row.firmware or row.libraries
        content = content or LIBRARIES.get(row.tree or row.name) or re.search("-dev(el)?(-|$)", row.name)
        assert content, row.name


def test_flavours_exclude_each_other_and_differ_in_license() -> None:
    found = {row.name: row for row in packaged("debian", newest(595)).rows if row.tree == "nvidia-dkms"}
    assert {name: row.license for name, row in found.items()} == {
        "nvidia-kernel-open-dkms": "Dual MIT/GPL",
        "nvidia-kernel-dkms": "NVIDIA",
    }
    for name, row in found.items():
        assert set(row.conflicts) == set(found) - {name}


@pytest.mark.parametrize(
    ("group", "folder", "expected"),
    [
        (
            "libnvidia-ml1",
            MULTIARCH,
            {
                "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "libnvidia-ml.so.595.71.05",
                "usr/lib/x86_64-linux-gnu/libnvidia-ml.so": "libnvidia-ml.so.1",
            },
        ),
        ("libnvidia-glvkspirv", MULTIARCH, {}),
        ("libnvidia-cfg1", LIB64, {"usr/lib64/libnvidia-cfg.so.1": "libnvidia-cfg.so.595.71.05"}),
        (
            "nvidia-vdpau-driver",
            MULTIARCH,
            {"usr/lib/x86_64-linux-gnu/vdpau/libvdpau_nvidia.so.1": "libvdpau_nvidia.so.595.71.05"},
        ),
        (
            "xserver-xorg-video-nvidia",
            LIB64,
            {"usr/lib64/xorg/modules/extensions/libglxserver_nvidia.so": "libglxserver_nvidia.so.595.71.05"},
        ),
    ],
)
def test_links_of_libraries(group: str, folder: str, expected: dict[str, str]) -> None:
    assert library_links(LIBRARIES[group], Driver("595.71.05"), folder) == expected


@pytest.mark.parametrize(
    ("source", "version", "expected"),
    [
        ("nvidia-kernel-support", "570.172.08", ("nvidia-kernel-support", "nvidia-kernel-support@570")),
        ("nvidia-kernel-support", "580.142", ("nvidia-kernel-support", "nvidia-kernel-support@570")),
        ("nvidia-kernel-support", "620.43.02", ("nvidia-kernel-support", "nvidia-kernel-support@595")),
        ("nvidia-imex", "595.71.05", ("nvidia-imex",)),
    ],
)
def test_files_are_those_of_the_branch_or_the_last_before_it(source: str, version: str, expected: tuple) -> None:
    assert trees(source, Driver(version), packaged("debian", Driver(version))) == expected


def test_a_faulty_release_has_its_fault_in_a_tree() -> None:
    found = trees("nvidia-kernel-source", faulty("dkms"), packaged("debian", faulty("dkms")))
    assert found == ("nvidia-kernel-source", "nvidia-kernel-source@dkms")
    for tree in ("nvidia-kernel-support@postinst/DEBIAN/postinst", "nvidia-kernel-common@postinst/DEBIAN/postinst"):
        assert (package.FILES / tree).exists()
    assert (package.FILES / "nvidia-kmod-common@postinst/RPM/post").exists()


def test_every_fault_has_one_release_and_no_branch_ends_in_one() -> None:
    assert sorted(driver.fault for driver in DRIVERS if driver.fault) == sorted(FAULTS)
    assert [newest(branch).fault for branch in BRANCHES] == ["", "", "", ""]


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_branch_has_several_good_releases(branch: int) -> None:
    assert len([driver for driver in DRIVERS if driver.branch == branch and not driver.fault]) >= 2


@pytest.mark.parametrize("tree", ["nvidia-kernel-support@570", "nvidia-kernel-support@595"])
def test_module_options(tree: str) -> None:
    text = (package.FILES / tree / "etc/modprobe.d/nvidia.conf").read_text()
    assert "blacklist nouveau" in text
    assert re.search(r"^softdep nvidia post: nvidia-uvm nvidia-drm$", text, re.MULTILINE)


def test_newest_compares_numbers() -> None:
    assert newest(580, [Driver("580.95.05"), Driver("580.142")]).version == "580.142"


def test_unknown_branch_names_those_there_are() -> None:
    with pytest.raises(LookupError, match="no driver branch 590, only 570, 580, 595, 620"):
        newest(590)
