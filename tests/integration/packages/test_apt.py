# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's repository for Debian as apt sees it: versions, pins, faulty releases, changed keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from lab.asked import say
from lab.host import Host
from lab.packages import sources
from lab.packages.keys import key
from lab.packages.variables import CUDA_EXPIRED, CUDA_ROTATED
from lab.packages.versions import faulty, newest
from lab.suites import SUITES

from .conftest import READY, Maker

APT = "DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get --yes"
SIMULATE = f"{APT} --simulate install"
COMPUTE = "nvidia-driver-cuda nvidia-kernel-open-dkms"
INSTALL_SECONDS = 400


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def host(make: Maker, request: pytest.FixtureRequest) -> Host:
    return make(request.param)


@pytest.fixture
def changed(host: Host) -> Iterator[Host]:
    """The host, which goes back afterwards to what it was."""
    yield host
    host.restore(READY)


def planned(host: Host, wanted: str) -> dict[str, str]:
    """Name -> version of what apt would install."""
    status, text = say(host, f"{SIMULATE} {wanted}")
    assert status == 0, text
    return dict(re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", text, re.M))


def candidate(host: Host, package: str) -> str:
    return re.findall(r"Candidate: (\S+)", say(host, f"LC_ALL=C apt-cache policy {package}")[1])[0]


def installed(host: Host, package: str) -> str:
    """State and version as dpkg has them, such as `ii  595.71.05-1`; empty when it knows nothing of it."""
    form = "${db:Status-Abbrev} ${Version}"
    return say(host, f"dpkg-query --show --showformat='{form}' {package} 2>/dev/null")[1]


def test_several_releases_of_each_branch_are_there(host: Host) -> None:
    table = say(host, "apt-cache madison nvidia-kernel-open-dkms")[1]
    found = re.findall(r"\| +(\d+)\.\S+ \|", table)
    assert {branch: found.count(branch) >= 2 for branch in ("570", "580", "595", "620")} == dict.fromkeys(found, True)


def test_binary_modules_end_before_620(host: Host) -> None:
    assert candidate(host, "nvidia-kernel-open-dkms") == f"{newest(620).version}-1"
    assert candidate(host, "nvidia-kernel-dkms") == candidate(host, "cuda-drivers") == f"{newest(595).version}-1"


def test_version_of_a_whole_set_brings_the_newest_modules(host: Host) -> None:
    found = planned(host, "nvidia-open=595.71.05-1")
    assert found["nvidia-open"] == "595.71.05-1"
    assert found["nvidia-kernel-open-dkms"] == f"{newest(620).version}-1"


def test_version_of_an_old_set_fails(host: Host) -> None:
    status, text = say(host, f"{SIMULATE} nvidia-open=570.172.08-1")
    assert status == 100
    assert "unmet dependencies" in text
    assert "nvidia-open : Depends: nvidia-open-570 (= 570.172.08-1)" in text


def test_a_pin_counts_from_the_next_run_on(changed: Host) -> None:
    both = planned(changed, "nvidia-driver-pinning-580 nvidia-open")
    assert both["nvidia-kernel-open-dkms"] == f"{newest(620).version}-1"
    changed.shell(f"{APT} install nvidia-driver-pinning-580")
    assert set(planned(changed, f"nvidia-open {COMPUTE}").values()) >= {f"{newest(580).version}-1"}
    assert candidate(changed, "nvidia-open") == candidate(changed, "libnvidia-ml1") == f"{newest(580).version}-1"
    # One pin at a time: all of them are the same file.
    changed.shell(f"{APT} install nvidia-driver-pinning-595.58.03")
    assert installed(changed, "nvidia-driver-pinning-580") == ""
    assert candidate(changed, "nvidia-open") == "595.58.03-1"
    changed.shell(f"{APT} remove nvidia-driver-pinning-595.58.03")
    assert candidate(changed, "nvidia-open") == f"{newest(620).version}-1"


def test_names_with_the_branch_are_virtual_since_580(changed: Host) -> None:
    status, text = say(changed, f"{SIMULATE} nvidia-imex-580")
    assert status == 100
    assert "Package nvidia-imex-580 is a virtual package provided by:" in text
    status, text = say(changed, f"{SIMULATE} nvidia-imex-580=580.178.04-1")
    assert status == 100
    assert "Version '580.178.04-1' for 'nvidia-imex-580' was not found" in text
    changed.shell(f"{APT} install nvidia-driver-pinning-580 && {APT} install nvidia-imex-580")
    assert installed(changed, "nvidia-imex") == "ii  580.178.04-1"
    assert planned(changed, "nvidia-fabricmanager-570")["nvidia-fabricmanager-570"] == f"{newest(570).version}-1"


def test_software_for_nvlink_comes_from_the_newest_branch(host: Host) -> None:
    found = planned(host, "nvlink5-580")
    assert found["nvlink5-580"] == f"{newest(580).version}-1"
    assert found["nvidia-fabricmanager"] == f"{newest(620).version}-1"
    assert found["nvlsm"] == "2025.10.14-1"


def test_driver_and_storage_modules_are_built(changed: Host) -> None:
    """nvidia-fs compiles against the driver, and only where that is."""
    version = newest(595).version
    changed.shell(f"{APT} install linux-headers-$(uname -r) nvidia-driver-pinning-{version}")
    status, text = say(changed, f"{APT} install nvidia-fs-dkms", seconds=INSTALL_SECONDS)
    assert status == 100, text
    changed.shell(f"{APT} remove nvidia-fs-dkms && {APT} install {COMPUTE}", timeout=INSTALL_SECONDS)
    changed.shell(f"{APT} install nvidia-fs", timeout=INSTALL_SECONDS)
    states = changed.run(["dkms", "status"])
    assert f"nvidia/{version}, {changed.run(['uname', '--kernel-release']).strip()}, x86_64: installed" in states
    assert re.search(r"nvidia-fs/2\.28\.4, .*: installed", states)
    assert changed.run(["modinfo", "--field=version", "nvidia"]).strip() == version
    assert changed.run(["modinfo", "--field=depends", "nvidia-fs"]).strip() == "nvidia"
    changed.shell("modprobe nvidia-fs && grep --quiet ^nvidia_fs /proc/modules")


def test_modules_that_do_not_compile(changed: Host) -> None:
    version = faulty("dkms").version
    changed.shell(f"{APT} install linux-headers-$(uname -r) nvidia-driver-pinning-{version}")
    status, text = say(changed, f"{APT} install {COMPUTE}", seconds=INSTALL_SECONDS)
    assert status == 100
    assert re.search(r"Consult .*/var/lib/dkms/nvidia/580\.90\.01/build/make\.log", text), text
    assert "subprocess returned error exit status 10" in text
    assert installed(changed, "nvidia-kernel-open-dkms") == f"iF  {version}-1"
    assert installed(changed, "nvidia-driver-cuda") == f"iU  {version}-1"
    log = f"/var/lib/dkms/nvidia/{version}/build/make.log"
    assert "too few arguments to function" in changed.run(["cat", log])
    # Until it goes, apt tries again whatever it is asked for.
    assert say(changed, f"{APT} remove nvidia-driver-pinning-{version}", seconds=INSTALL_SECONDS)[0] == 100
    changed.shell(f"{APT} remove {COMPUTE}")
    changed.shell(f"{APT} install nvidia-driver-pinning-580.178.04")
    changed.shell(f"{APT} install {COMPUTE}", timeout=INSTALL_SECONDS)
    assert changed.run(["dpkg", "--audit"]) == ""


def test_a_script_that_fails(changed: Host) -> None:
    version = faulty("postinst").version
    changed.shell(f"{APT} install nvidia-driver-pinning-{version}")
    status, text = say(changed, f"{APT} install {COMPUTE}", seconds=INSTALL_SECONDS)
    assert status == 100
    assert "error processing package nvidia-kernel-support (--configure)" in text
    assert "subprocess returned error exit status 1" in text
    assert installed(changed, "nvidia-kernel-support") == f"iF  {version}-1"
    assert installed(changed, "nvidia-kernel-open-dkms") == f"iU  {version}-1"


def test_a_withdrawn_release_is_listed_and_cannot_be_fetched(changed: Host) -> None:
    version = faulty("withdrawn").version
    assert version in say(changed, "apt-cache madison nvidia-kernel-open-dkms")[1]
    pin = f"Package: *nvidia* libcuda* libnv*\nPin: version {version}-*\nPin-Priority: 1001\n"
    (changed.root / "etc/apt/preferences.d/test").write_text(pin)
    status, text = say(changed, f"{APT} install {COMPUTE}")
    assert status == 100
    assert re.search(r"404 +File not found|404 +Not Found", text), text
    assert "Unable to fetch some archives" in text


@pytest.mark.parametrize("base", [CUDA_ROTATED, CUDA_EXPIRED])
def test_signatures_of_other_keys(changed: Host, base: str) -> None:
    folder, old = SUITES[changed.suite].folder, changed.suite == "bookworm"
    signer = key({CUDA_ROTATED: "cuda-next", CUDA_EXPIRED: "cuda-retired"}[base])
    sources.give_cuda(changed.root, folder, base, trusted="cuda")
    status, text = say(changed, "LC_ALL=C apt-get update")
    assert status == 100
    assert (f"NO_PUBKEY {signer.long_id}" if old else f"Missing key {signer.fingerprint}") in text
    sources.give_cuda(changed.root, folder, base, trusted=signer.kind)
    status, text = say(changed, "LC_ALL=C apt-get update")
    if base == CUDA_ROTATED:
        assert status == 0
        return
    assert status == 100
    assert (f"EXPKEYSIG {signer.long_id}" if old else "Expired on 2022-04-27") in text
