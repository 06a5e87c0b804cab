# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every row of the package catalogs is walked; names of the CUDA repository are held against the lab's repository."""

from __future__ import annotations

import re
from datetime import date

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog import branches, components, distributions
from ansible_collections.gpu.fleet.plugins.module_utils._catalog import kernel_packages as kernels
from ansible_collections.gpu.fleet.plugins.module_utils._catalog import packages as catalog
from lab.packages.distributions import DISTRIBUTIONS as LAB
from lab.packages.packagings import packaging_of
from lab.packages.tables.archive import LINES, line_rows
from lab.packages.tables.component import OPEN_ONLY_FROM, of_branch
from lab.packages.tables.extras import EXTRAS, GDRCOPY_DEBS, GDRCOPY_RPMS
from lab.packages.versions import DRIVERS

SYSTEMS = {d.directory for d in distributions.DISTRIBUTIONS}
UBUNTU_KERNEL, EL_KERNEL = "6.8.0-149-generic", "5.14.0-687.51.1.el9_8.x86_64"
# The lab's folder -> a host of it, as os-release says, and a kernel.
HOSTS = {
    "debian12": ("debian", "12", "6.1.0-37-amd64"),
    "debian13": ("debian", "13", "6.12.118+deb13-amd64"),
    "ubuntu2404": ("ubuntu", "24.04", UBUNTU_KERNEL),
    "rhel9": ("rocky", "9.8", EL_KERNEL),
    "rhel10": ("rocky", "10.2", "6.12.0-211.61.1.el10_2.x86_64"),
}
FLAVOURS, SETS = (catalog.OPEN, catalog.PROPRIETARY), (catalog.COMPUTE, catalog.FULL)


def is_dated(row) -> bool:
    """Whether a row says who says so, and since when, not later than this release."""
    return len(row.source) > 5 and date(2019, 1, 1) < date.fromisoformat(row.as_of) <= date(2026, 12, 31)


@pytest.mark.parametrize("row", catalog.DRIVER_PACKAGES, ids=lambda r: f"{r.systems[0]} {r.repository} {r.kernel}")
def test_a_row_is_complete(row):
    assert is_dated(row)
    assert set(row.systems) <= SYSTEMS
    assert row.flavour in FLAVOURS
    assert row.package_set in SETS
    assert row.repository in (catalog.CUDA_REPO, catalog.DISTRO)
    assert row.kernel in (*row.names, *row.others), "the package of the kernel modules has to be asked for"
    assert not row.version_of or row.version_of in row.names
    assert row.flavour == catalog.OPEN or row.last_branch is not None, "the proprietary modules have ended"
    assert bool(row.stream) == (row.repository == catalog.CUDA_REPO and set(row.systems) <= set(catalog.STREAMS))
    words = {"branch": 595, **kernels.kernel_words(UBUNTU_KERNEL)}
    texts = (*row.names, *row.others, row.kernel, row.follow, row.stream, row.persistenced)
    assert not any(set("{} ") & set(text.format(**words)) for text in texts)


def test_no_two_rows_answer_one_question():
    seen = {}
    for row in catalog.DRIVER_PACKAGES:
        for branch in (b.number for b in branches.BRANCHES):
            if not catalog.has_branch(row.first_branch, row.last_branch, branch):
                continue
            for system in row.systems:
                for name in row.ids or ("",):
                    key = (system, name, row.repository, branch, row.flavour, row.package_set, row.precompiled)
                    assert key not in seen, f"{row} and {seen[key]}"
                    seen[key] = row


# All that is installed -> os-release, kernel, what is asked: repository, branch, flavour, set, precompiled.
ASKED = {
    "nvidia-driver-cuda nvidia-kernel-open-dkms": ("debian", "12", "", "cuda_repo", 595, "open", "compute", False),
    "nvidia-open-570 nvidia-kernel-open-dkms": ("debian", "13", "", "cuda_repo", 570, "open", "full", False),
    "cuda-drivers nvidia-kernel-dkms": ("debian", "13", "", "cuda_repo", 580, "proprietary", "full", False),
    "nvidia-open-kernel-dkms libcuda1 libnvidia-ml1 nvidia-smi firmware-nvidia-gsp nvidia-modprobe "
    "nvidia-persistenced": (
        *("debian", "13", "", "distro", 550, "open", "compute", False),
    ),
    "nvidia-headless-no-dkms-580-open nvidia-dkms-580-open nvidia-utils-580": (
        *("ubuntu", "24.04", "", "cuda_repo", 580, "open", "compute", False),
    ),
    "nvidia-headless-no-dkms-open libnvidia-compute nvidia-dkms-open": (
        *("ubuntu", "26.04", "", "cuda_repo", 595, "open", "compute", False),
    ),
    "cuda-drivers nvidia-driver nvidia-dkms": ("ubuntu", "22.04", "", "cuda_repo", 595, "proprietary", "full", False),
    "nvidia-headless-no-dkms-580-server-open nvidia-utils-580-server libnvidia-compute-580-server "
    "linux-modules-nvidia-580-server-open-6.8.0-149-generic linux-modules-nvidia-580-server-open-generic": (
        *("ubuntu", "24.04", UBUNTU_KERNEL, "distro", 580, "open", "compute", True),
    ),
    "nvidia-headless-no-dkms-580-server nvidia-utils-580-server libnvidia-compute-580-server nvidia-dkms-580-server": (
        *("ubuntu", "24.04", UBUNTU_KERNEL, "distro", 580, "proprietary", "compute", False),
    ),
    "nvidia-driver-cuda kmod-nvidia-open-dkms": ("almalinux", "10.2", "", "cuda_repo", 620, "open", "compute", False),
    "nvidia-driver-cuda kmod-nvidia-latest-dkms": (
        *("rhel", "9.6", "", "cuda_repo", 580, "proprietary", "compute", False),
    ),
    "nvidia-driver-cuda kmod-nvidia-580.*-5.14.0-687.51.1": (
        *("rocky", "9.8", EL_KERNEL, "cuda_repo", 580, "proprietary", "compute", True),
    ),
    "nvidia-driver-cuda kmod-nvidia-open-595.*-5.14.0-687.51.1": (
        *("rhel", "9.8", EL_KERNEL, "distro", 595, "open", "compute", True),
    ),
    "nvidia-driver-cuda nvidia-open-kmod": ("almalinux", "9.8", EL_KERNEL, "distro", 595, "open", "compute", True),
    "nvidia-open nvidia-driver nvidia-driver-cuda kmod-nvidia-open-dkms": (
        *("amzn", "2023", "", "cuda_repo", 595, "open", "full", False),
    ),
}  # fmt: skip


def ask(distribution, version, kernel, source, branch, flavour, package_set, precompiled):
    return catalog.driver_packages(
        distribution, version, branch=branch, flavour=flavour, package_set=package_set, source=source,
        precompiled=precompiled, kernel_release=kernel,
    )  # fmt: skip


@pytest.mark.parametrize(("names", "asked"), ASKED.items(), ids=ASKED)
def test_names(names, asked):
    row = ask(*asked)
    assert " ".join((*row.names, *row.others)) == names


# What nobody has -> the question.
NONE = {
    "proprietary modules of 620": ("debian", "12", "", "cuda_repo", 620, "proprietary", "compute", False),
    "modules compiled for Debian": ("debian", "12", "", "cuda_repo", 580, "open", "compute", True),
    "open modules compiled by NVIDIA": ("rocky", "9.8", EL_KERNEL, "cuda_repo", 580, "open", "compute", True),
    "580 in Debian's archive": ("debian", "13", "", "distro", 580, "open", "compute", False),
    "570 for EL 10": ("rocky", "10.2", "", "cuda_repo", 570, "open", "compute", False),
    "Rocky's own modules": ("rocky", "9.8", EL_KERNEL, "distro", 595, "open", "compute", True),
    "a system that is none of ours": ("fedora", "44", "", "cuda_repo", 595, "open", "compute", False),
    "a release that is none of ours": ("ubuntu", "20.04", "", "cuda_repo", 595, "open", "compute", False),
}


@pytest.mark.parametrize("asked", NONE.values(), ids=NONE)
def test_what_nobody_has(asked):
    assert ask(*asked) is None


def test_a_row_tells_stream_daemon_and_whose_version_is_the_drivers():
    stream = ask("rocky", "9.8", "", "cuda_repo", 580, "open", "compute", False)
    assert (stream.stream, stream.version_of, stream.persistenced) == ("580-open", stream.kernel, "nvidia-persistenced")
    assert ask("rocky", "9.8", EL_KERNEL, "cuda_repo", 580, "proprietary", "compute", True).stream == "580"
    assert ask("rocky", "10.2", "", "cuda_repo", 580, "open", "compute", False).stream == ""
    compiled = ask("ubuntu", "24.04", UBUNTU_KERNEL, "distro", 580, "open", "compute", True)
    assert compiled.version_of == "libnvidia-compute-580-server"
    assert compiled.follow == "linux-modules-nvidia-580-server-open-generic"
    assert compiled.persistenced == "nvidia-compute-utils-580-server"
    alma = ask("almalinux", "10.1", EL_KERNEL, "distro", 595, "open", "full", True)
    assert alma.repository_package == "almalinux-release-nvidia-driver"


def lab_names(folder: str, branch: int) -> set[str]:
    """The names that the lab's CUDA repository has of a branch; its tables were made from other sources than rows."""
    releases = [d for d in LAB[folder].releases if d.branch == branch]
    found = set()
    for driver in releases:
        for part in of_branch(packaging_of(LAB[folder], driver).rows, branch):
            found.add(part.name.format(b=branch, v=driver.version))
    extras = {extra.component.name for extra in (*EXTRAS, *GDRCOPY_DEBS)}
    return found | extras | set(GDRCOPY_RPMS)


@pytest.mark.parametrize("folder", HOSTS)
@pytest.mark.parametrize("branch", sorted({d.branch for d in DRIVERS}))
def test_the_labs_cuda_repository_has_these_names(folder, branch):
    distribution, version, kernel = HOSTS[folder]
    there = lab_names(folder, branch)
    if branch < LAB[folder].first_branch:
        assert ask(distribution, version, kernel, "cuda_repo", branch, "open", "compute", False) is None
        return
    for flavour in FLAVOURS[: 1 if branch >= OPEN_ONLY_FROM else 2]:
        for package_set in SETS:
            row = ask(distribution, version, kernel, "cuda_repo", branch, flavour, package_set, False)
            assert {*row.names, *row.others, row.persistenced} <= there
    for component in components.COMPONENTS:
        found = components.component_packages(component, distribution, version, branch=branch)
        assert found.repository == components.PORTAL or set(found.names) <= there


@pytest.mark.parametrize("line", [x for x in LINES if x.server], ids=lambda x: x.driver.version)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_labs_ubuntu_archive_has_these_names(line, flavour):
    there = {r.name.format(b=line.driver.branch, v=line.driver.version) for r in line_rows(line)}
    mark = "-open" if flavour == "open" else ""
    there |= {
        f"linux-modules-nvidia-{line.name}{mark}-{UBUNTU_KERNEL}",
        f"linux-modules-nvidia-{line.name}{mark}-generic",
    }
    for precompiled in (True, False):
        for package_set in SETS:
            row = ask("ubuntu", "24.04", UBUNTU_KERNEL, "distro", line.driver.branch, flavour, package_set, precompiled)
            assert {*row.names, *row.others, row.persistenced} <= there


@pytest.mark.parametrize("row", components.COMPONENT_PACKAGES, ids=lambda r: f"{r.component} {r.systems[0]}")
def test_a_component_is_complete(row):
    assert is_dated(row)
    assert row.component in components.COMPONENTS
    assert set(row.systems) <= SYSTEMS
    assert set(row.machines) <= {m.machine for m in distributions.MACHINES}
    assert row.names or row.repository == components.DRIVER
    assert not row.unit or row.unit.endswith(".service")
    assert not any(set("{} ") & set(n.format(branch=595)) for n in row.names)


# component, os-release, branch, source -> where the packages are and their names.
BESIDE = {
    ("fabric_manager", "debian", "12", 570, "cuda_repo"): ("cuda_repo", "nvidia-fabricmanager-570"),
    ("fabric_manager", "rocky", "9.8", 570, "cuda_repo"): ("cuda_repo", "nvidia-fabric-manager"),
    ("fabric_manager", "rocky", "10.1", 580, "cuda_repo"): ("cuda_repo", "nvidia-fabricmanager"),
    ("fabric_manager", "ubuntu", "24.04", 595, "distro"): ("distro", "nvidia-fabricmanager-595"),
    ("nvlsm", "ubuntu", "24.04", 580, "cuda_repo"): ("cuda_repo", "nvlsm"),
    ("imex", "debian", "13", 580, "cuda_repo"): ("cuda_repo", "nvidia-imex"),
    ("gds", "debian", "13", 550, "distro"): ("distro", "nvidia-fs-dkms"),
    ("gdrcopy", "amzn", "2023", 580, "cuda_repo"): ("redist", "gdrcopy-kmod gdrcopy"),
    ("peermem", "ubuntu", "22.04", 580, "distro"): ("driver", ""),
    ("gridd", "rhel", "9.6", 580, "distro"): ("portal", "nvidia-linux-grid-580"),
}


@pytest.mark.parametrize(("asked", "found"), BESIDE.items(), ids=lambda x: " ".join(map(str, x)))
def test_component_packages(asked, found):
    component, distribution, version, branch, source = asked
    row = components.component_packages(component, distribution, version, branch=branch, source=source)
    assert (row.repository, " ".join(row.names)) == found


def test_components_that_nobody_has():
    assert components.component_packages("fabric_manager", "debian", "13", branch=550, source="distro") is None
    assert components.component_packages("imex", "debian", "12", branch=535) is None
    assert components.component_packages("nvsdm", "debian", "12", branch=580, machine="aarch64") is None
    assert components.component_packages("gds", "fedora", "44", branch=580) is None


@pytest.mark.parametrize("row", components.BUILD_LIMITS, ids=lambda r: r.component)
def test_a_limit_of_a_build_is_complete(row):
    assert is_dated(row)
    assert any(r.component == row.component and r.module for r in components.COMPONENT_PACKAGES)
    assert all(re.fullmatch(r"\d+(\.\d+)+", v) for v in (row.below, row.kernel))


@pytest.mark.parametrize("row", catalog.TRANSITIONS, ids=lambda r: str(r.former))
def test_a_transition_is_complete(row):
    assert is_dated(row)
    assert set(row.systems) <= SYSTEMS
    assert branches.branch_of(row.former)
    assert branches.branch_of(row.present)


def test_the_branch_that_packages_really_bring():
    assert catalog.transition_of("ubuntu", "24.04", branch=570, source="distro").present == 580
    assert catalog.transition_of("ubuntu", "24.04", branch=570, source="cuda_repo") is None
    assert catalog.transition_of("ubuntu", "24.04", branch=580, source="distro") is None
    assert catalog.transition_of("debian", "12", branch=570, source="distro") is None


# os-release and kernel -> package, its version where the name lacks it, what follows later kernels.
HEADERS = {
    ("debian", "12", "6.1.0-37-amd64"): ("linux-headers-6.1.0-37-amd64", "", "linux-headers-amd64"),
    ("debian", "13", "6.12.118+deb13-cloud-amd64"): (
        *("linux-headers-6.12.118+deb13-cloud-amd64", "", "linux-headers-cloud-amd64"),
    ),
    ("ubuntu", "24.04", "6.8.0-1020-azure-fde"): (
        *("linux-headers-6.8.0-1020-azure-fde", "", "linux-headers-azure-fde"),
    ),
    ("ubuntu", "24.04", "6.8.0-1013-nvidia-64k"): (
        *("linux-headers-6.8.0-1013-nvidia-64k", "", "linux-headers-nvidia-64k"),
    ),
    ("rocky", "9.8", EL_KERNEL): ("kernel-devel", "5.14.0-687.51.1.el9_8", "kernel-devel-matched"),
    ("rhel", "9.5", "5.14.0-503.14.1.el9_5.aarch64+64k"): (
        *("kernel-64k-devel", "5.14.0-503.14.1.el9_5", "kernel-64k-devel-matched"),
    ),
    ("amzn", "2023", "6.1.150-174.273.amzn2023.x86_64"): ("kernel-devel", "6.1.150-174.273.amzn2023", ""),
    ("amzn", "2023", "6.12.40-63.114.amzn2023.aarch64"): ("kernel6.12-devel", "6.12.40-63.114.amzn2023", ""),
}


@pytest.mark.parametrize(("asked", "found"), HEADERS.items(), ids=lambda x: x[2])
def test_headers(asked, found):
    distribution, version, release = asked
    row = kernels.headers_packages(distribution, version, kernel_release=release)
    assert (row.name, row.version, row.follow) == found


# Release -> version of its rpm, the same without the distribution, flavour.
WORDS = {
    "6.8.0-149-generic": ("6.8.0-149-generic", "6.8.0-149-generic", "generic"),
    "6.12.118+deb13-amd64": ("6.12.118+deb13-amd64", "6.12.118+deb13-amd64", "amd64"),
    "6.1.0-37-cloud-amd64": ("6.1.0-37-cloud-amd64", "6.1.0-37-cloud-amd64", "cloud-amd64"),
    EL_KERNEL: ("5.14.0-687.51.1.el9_8", "5.14.0-687.51.1", ""),
    "5.14.0-503.14.1.el9_5.aarch64+64k": ("5.14.0-503.14.1.el9_5", "5.14.0-503.14.1", "64k"),
    "6.12.40-63.114.amzn2023.aarch64": ("6.12.40-63.114.amzn2023", "6.12.40-63.114", ""),
    "7.0.1": ("7.0.1", "7.0.1", ""),
    "": ("", "", ""),
}


@pytest.mark.parametrize(("release", "words"), WORDS.items())
def test_words_of_a_kernel(release, words):
    found = kernels.kernel_words(release)
    assert (found["kernel_version"], found["kernel_build"], found["kernel_flavour"]) == words
    assert found["kernel"] == release


def test_headers_that_the_catalog_does_not_know():
    assert kernels.headers_packages("fedora", "44", kernel_release="6.19.0-200.fc44.x86_64") is None
    assert kernels.headers_packages("amzn", "2023", kernel_release="7.1.2-1.amzn2023.x86_64") is None


@pytest.mark.parametrize("row", kernels.HEADERS, ids=lambda r: f"{r.systems[0]} {r.name}")
def test_a_row_of_headers_is_complete(row):
    assert is_dated(row)
    assert set(row.systems) <= SYSTEMS
    assert re.compile(row.pattern)
    assert bool(row.version) != ("{kernel}" in row.name)


@pytest.mark.parametrize("row", distributions.DISTRIBUTIONS, ids=lambda d: d.name)
def test_a_distribution_is_complete(row):
    assert is_dated(row)
    assert row.manager in (distributions.APT, distributions.DNF)
    assert re.fullmatch(r"[0-9A-F]{40}|", row.key_fingerprint)
    assert not row.key_fingerprint or row.key_fingerprint.lower().endswith(row.key_file.removesuffix(".pub").lower())
    assert distributions.distribution_of(row.id, row.version) is row
    driver = ask(row.id, row.version, "", "cuda_repo", 595, "open", "compute", False)
    assert row.directory in driver.systems


# os-release -> folder of the CUDA repository, and what installs packages.
RELEASES = {
    ("rocky", "9.8"): ("rhel9", "dnf"),
    ("almalinux", "10.2"): ("rhel10", "dnf"),
    ("ubuntu", "24.04"): ("ubuntu2404", "apt"),
    ("amzn", "2023"): ("amzn2023", "dnf"),
    ("debian", "12"): ("debian12", "apt"),
}


@pytest.mark.parametrize(("release", "found"), RELEASES.items(), ids=lambda x: " ".join(map(str, x)))
def test_distribution_of(release, found):
    row = distributions.distribution_of(*release)
    assert (row.directory, row.manager) == found


def test_distributions_that_are_none_of_ours():
    assert distributions.distribution_of("ubuntu", "24.10") is None
    assert distributions.distribution_of("rocky", "8.10") is None
    assert distributions.distribution_of("debian", "") is None
