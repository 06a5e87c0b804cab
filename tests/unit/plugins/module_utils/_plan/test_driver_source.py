# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a driver came from, by the names and versions of its packages."""

from __future__ import annotations

import re
from datetime import date

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.package_origins import DRIVER_KINDS
from ansible_collections.gpu.fleet.plugins.module_utils._plan.driver_source import (
    DriverSource,
    driver_packages,
    driver_parts,
    driver_source,
    driver_sources,
    driver_version,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import Package


def packages(*names: str) -> dict[str, Package]:
    """``name=version`` each."""
    pairs = (name.partition("=") for name in names)
    return {name: Package(name, version, "amd64", "installed", False) for name, _equals, version in pairs}


# One example for each row, in their order: packages -> source and packager.
EXAMPLES = (
    (["linux-modules-nvidia-580-server-6.8.0-149-generic=6.8.0-149.149"], ("distro", "ubuntu")),
    (["nvidia-dkms-580-server-open=580.178.04-0ubuntu0.24.04.1"], ("distro", "ubuntu")),
    (["nvidia-dkms-580-open=580.65.06-0ubuntu1"], ("cuda_repo", "nvidia")),
    (["nvidia-dkms-580=580.178.04-0ubuntu0.24.04.1"], ("distro", "ubuntu")),
    (["nvidia-dkms-470=470.63.01-1pop0~1631000000~20.04~abc"], ("distro", "pop_os")),
    (["nvidia-dkms-570=570.133.20-0lambda0.22.04.1"], ("distro", "lambda_stack")),
    (["nvidia-dkms-open=595.71.05-1ubuntu1"], ("cuda_repo", "nvidia")),
    (["nvidia-open-kernel-dkms=550.163.01-2"], ("distro", "debian")),
    (["nvidia-tesla-470-kernel-dkms=470.256.02-3"], ("distro", "debian")),
    (["nvidia-kernel-dkms=535.261.03-1", "nvidia-alternative=535.261.03-1"], ("distro", "debian")),
    (["nvidia-kernel-dkms=595.71.05-1"], ("cuda_repo", "nvidia")),
    (["kmod-nvidia-latest-dkms=3:580.178.04-1.el9"], ("cuda_repo", "nvidia")),
    (["kmod-nvidia-580.178.04-5.14.0-687.51.1=3:580.178.04-3.el9_8"], ("cuda_repo", "nvidia")),
    (["nvidia-open-kmod=3:615.71.09-1.el10"], ("distro", "almalinux")),
    (["kmod-nvidia-open-595.71.05-6.12.0-124.20.1=595.71.05-3.el10_1"], ("distro", "redhat")),
    (["kmod-nvidia-dc-open-latest=580.105.08-1.el10_1_ciq"], ("distro", "ciq")),
    (["cuda-open-hwe=580.105.08-1_6.12.57.1.1.azl3"], ("distro", "azurelinux")),
    (["akmod-nvidia=3:595.80-1.fc44"], ("distro", "rpmfusion")),
    (["dkms-nvidia=3:565.77-1.fc41"], ("distro", "negativo17")),
)


def test_every_kind_has_an_example():
    assert len(EXAMPLES) == len(DRIVER_KINDS)


@pytest.mark.parametrize(("row", "example"), list(zip(DRIVER_KINDS, EXAMPLES)), ids=lambda x: getattr(x, "names", ""))
def test_kind(row, example):
    names, found = example
    rows = driver_sources(packages(*names))
    assert [(r.source, r.packager) for r in rows] == [found]
    assert (row.repository, row.packager, row.modules) == (*found, rows[0].modules)
    assert re.fullmatch(row.names, names[0].partition("=")[0])
    assert row.source
    assert date.fromisoformat(row.as_of)


RUN = DriverSource("runfile", "", None, None, ("/usr/bin/nvidia-uninstall",))
BOX = DriverSource("container", "", None, None, ("/run/nvidia/driver",))
ARCHIVE, CUDA = "nvidia-open-kernel-dkms=550.163.01-2", "nvidia-kernel-open-dkms=595.71.05-1"
# packages, .run installer, driver container, whether a driver is there -> source
SOURCES = {
    "nothing": ([], None, None, False, "none"),
    "one": ([CUDA, "libcuda1=595.71.05-1"], None, None, True, "cuda_repo"),
    "two packagers": ([CUDA, ARCHIVE], None, None, True, "mixed"),
    "packages and an installer": ([CUDA], RUN, None, True, "mixed"),
    "installer": ([], RUN, None, True, "runfile"),
    "container": ([], None, BOX, True, "container"),
    "container and an installer": ([], RUN, BOX, True, "mixed"),
    "loaded, nobody knows from where": ([], None, None, True, None),
    "libraries alone are no driver": (["libcuda1=595.71.05-1"], None, None, False, "none"),
}


@pytest.mark.parametrize(("names", "runfile", "container", "there", "source"), SOURCES.values(), ids=SOURCES)
def test_source(names, runfile, container, there, source):
    rows = driver_sources(packages(*names), runfile=runfile, container=container)
    assert driver_source(rows, there=there) == source


def test_modules_of_two_kernels_are_one_way():
    names = [f"linux-modules-nvidia-580-server-6.8.0-{n}-generic=6.8.0-{n}.{n}" for n in (149, 160)]
    rows = driver_sources(packages(*names))
    assert [len(r.evidence) for r in rows] == [2]
    assert rows[0].version is None, "their version is the kernel's"


def test_packages_of_the_driver_leave_the_toolkit_out():
    names = ["bash", "nvidia-container-toolkit", "libnvidia-container1", "libcuda1", "nvidia-kernel-open-dkms"]
    names += ["kmod-nvidia-open-dkms", "nvidia-gds", "linux-modules-nvidia-580-generic", "nvlsm", "cuda-toolkit-13-2"]
    assert driver_packages(names) == [
        "kmod-nvidia-open-dkms", "libcuda1", "linux-modules-nvidia-580-generic", "nvidia-kernel-open-dkms", "nvlsm",
    ]  # fmt: skip


def test_parts_of_a_driver_by_version():
    found = driver_parts(
        packages(
            "libcuda1=570.211.01-1", CUDA, "nvidia-driver-cuda=595.71.05-1", "linux-modules-nvidia-580-6.8.0-1=6.8.0"
        )
    )
    assert found == {"570.211.01": ["libcuda1"], "595.71.05": ["nvidia-driver-cuda", "nvidia-kernel-open-dkms"]}


VERSIONS = {
    "595.71.05-1": "595.71.05",
    "3:580.142-1.el9": "580.142",
    "595.84-0ubuntu0.24.04.1": "595.84",
    "6.8.0-149.149": None,
    "2025.06.11-1": None,
    "510.47.03-0ubuntu4": "510.47.03",
}


@pytest.mark.parametrize(("version", "driver"), VERSIONS.items())
def test_driver_version(version, driver):
    assert driver_version(version) == driver
