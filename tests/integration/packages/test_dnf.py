# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's repository for Enterprise Linux as dnf sees it: streams, locks, faulty releases, changed keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from lab.asked import say
from lab.host import Host
from lab.packages import sources
from lab.packages.distributions import DISTRIBUTIONS
from lab.packages.keys import key
from lab.packages.variables import CUDA, CUDA_ROTATED
from lab.packages.versions import faulty, newest

from .conftest import READY, Maker

DNF = "LC_ALL=C dnf --assumeyes"
SET = (
    *("nvidia-driver-cuda", "nvidia-driver-cuda-libs", "kmod-nvidia-open-dkms", "nvidia-kmod-common", "libnvidia-ml"),
    *("libnvidia-cfg", "libnvidia-gpucomp", "nvidia-modprobe", "nvidia-persistenced"),
)
REPOSITORY = "etc/yum.repos.d/cuda-{}.repo"
INSTALL_SECONDS = 400


@pytest.fixture(scope="module")
def el9(make: Maker) -> Host:
    return make("rhel9")


@pytest.fixture
def with_streams(el9: Host) -> Iterator[Host]:
    """A host of EL 9, which goes back afterwards to what it was."""
    yield el9
    el9.restore(READY)


@pytest.fixture(scope="module")
def el10(make: Maker) -> Host:
    return make("rhel10")


@pytest.fixture
def plain(el10: Host) -> Iterator[Host]:
    """A host of EL 10, which goes back afterwards to what it was."""
    yield el10
    el10.restore(READY)


def dnf(host: Host, words: str) -> str:
    """What dnf says; it has to succeed."""
    status, text = say(host, f"{DNF} {words}", seconds=INSTALL_SECONDS)
    assert status == 0, text
    return text


def refused(host: Host, words: str) -> str:
    """What dnf says; it has to fail."""
    status, text = say(host, f"{DNF} {words}", seconds=INSTALL_SECONDS)
    assert status == 1, text
    return text


def versions(host: Host) -> dict[str, str]:
    """Name -> epoch:version of NVIDIA's packages that are installed."""
    form = "%{NAME} %{EPOCHNUM}:%{VERSION}\\n"
    return dict(line.split() for line in host.run(["rpm", "-qa", "--qf", form, "*nvidia*"]).splitlines())


def kernel(host: Host) -> str:
    return DISTRIBUTIONS[host.suite].kernel


def test_streams(el9: Host) -> None:
    table = dnf(el9, "module list nvidia-driver")
    found = re.findall(r"^nvidia-driver +(\S+)( \[d\])? +default \[d\], fm, ks", table, re.M)
    assert {name for name, _default in found} == {
        *("latest", "latest-dkms", "open-dkms", "570-dkms", "570-open", "580", "580-dkms", "580-open"),
        *("595", "595-dkms", "595-open", "620-open"),
    }
    assert [name for name, default in found if default] == ["open-dkms"]
    assert "Hint: [d]efault, [e]nabled, [x]disabled, [i]nstalled" in table


def test_a_stream_is_a_branch(with_streams: Host) -> None:
    dnf(with_streams, "module enable nvidia-driver:580-open")
    dnf(with_streams, "install nvidia-open")
    found = versions(with_streams)
    wanted = f"3:{newest(580).version}"
    assert found["nvidia-driver-cuda"] == found["kmod-nvidia-open-dkms"] == found["libnvidia-ml"] == wanted
    assert (
        with_streams.run(["dkms", "status"]).strip()
        == f"nvidia/{newest(580).version}, {kernel(with_streams)}, x86_64: installed"
    )
    where = with_streams.run(["modinfo", "--field=filename", "nvidia"]).strip()
    assert where == f"/lib/modules/{kernel(with_streams)}/extra/nvidia.ko"
    assert "Nothing to do." in dnf(with_streams, "update nvidia-driver")
    assert "580-open [e]" in dnf(with_streams, "module list --enabled")
    dnf(with_streams, "module switch-to nvidia-driver:595-open")
    assert set(versions(with_streams).values()) == {f"3:{newest(595).version}"}
    assert f"nvidia/{newest(595).version}," in with_streams.run(["dkms", "status"])
    assert newest(580).version not in with_streams.run(["dkms", "status"])


def test_what_is_in_no_stream_in_use_is_not_found(el9: Host) -> None:
    text = refused(el9, "install kmod-nvidia-latest-dkms")
    assert "All matches were filtered out by modular filtering for argument: kmod-nvidia-latest-dkms" in text


def test_fabric_packages_are_in_no_stream(with_streams: Host) -> None:
    dnf(with_streams, "module enable nvidia-driver:580-open")
    dnf(with_streams, "install nvidia-fabricmanager nvidia-imex")
    found = versions(with_streams)
    assert found["nvidia-fabricmanager"].endswith(newest(580).version)
    assert found["nvidia-imex"].endswith(newest(620).version)


def test_compiled_modules(with_streams: Host) -> None:
    dnf(with_streams, "module install nvidia-driver:580")
    number, rest = kernel(with_streams).split("-", 1)
    name = f"kmod-nvidia-{newest(580).version}-{number}-{rest.partition('.el')[0]}"
    assert versions(with_streams)[name] == f"3:{newest(580).version}"
    found = {what: with_streams.run(["modinfo", f"--field={what}", "nvidia"]).strip() for what in ("license", "signer")}
    assert found == {"license": "NVIDIA", "signer": "NVIDIA Corporation: Linux driver module key"}
    assert with_streams.run(["modinfo", "--field=vermagic", "nvidia"]).startswith(f"{kernel(with_streams)} ")
    assert not with_streams.succeeds("command -v dkms")
    with_streams.shell("modprobe nvidia-uvm")


def test_without_epel_there_is_no_dkms(el9: Host) -> None:
    assert "nothing provides dkms needed by kmod-nvidia-open-dkms-3:" in refused(
        el9, "--disablerepo=epel install nvidia-open"
    )


def test_excluded_packages(with_streams: Host) -> None:
    path = with_streams.root / REPOSITORY.format("rhel9")
    path.write_text(path.read_text() + "excludepkgs=*nvidia*620*\n")
    assert "filtered out by exclude filtering" in refused(with_streams, "install nvidia-driver-cuda-3:620.57.04")


def test_modules_that_do_not_compile(with_streams: Host) -> None:
    """The scripts of the package ignore it: dnf is content, and there is no module."""
    version = faulty("dkms").version
    dnf(with_streams, "module enable nvidia-driver:580-open")
    assert "Complete!" in dnf(with_streams, f"install {closure(version)}")
    assert versions(with_streams)["kmod-nvidia-open-dkms"] == f"3:{version}"
    assert with_streams.run(["dkms", "status"]).strip() == f"nvidia/{version}: added"
    assert not with_streams.succeeds("modinfo nvidia")
    log = f"/var/lib/dkms/nvidia/{version}/build/make.log"
    assert "too few arguments to function" in with_streams.run(["cat", log])


def closure(version: str) -> str:
    """The packages of a release that compute needs, with its version."""
    return " ".join(f"{name}-3:{version}" for name in SET)


def test_a_script_that_fails(with_streams: Host) -> None:
    """To rpm a failing %post is a warning."""
    version = faulty("postinst").version
    dnf(with_streams, "module enable nvidia-driver:580-open")
    text = dnf(with_streams, f"install {closure(version)}")
    assert "Error in POSTIN scriptlet in rpm package nvidia-kmod-common" in text
    assert "Complete!" in text
    assert versions(with_streams)["nvidia-kmod-common"] == f"3:{version}"


def test_a_withdrawn_release_is_listed_and_cannot_be_fetched(el9: Host) -> None:
    version = faulty("withdrawn").version
    dnf(el9, "module enable nvidia-driver:580-open")
    assert version in dnf(el9, "list --showduplicates nvidia-kmod-common")
    text = refused(el9, f"install {closure(version)}")
    dnf(el9, "module reset nvidia-driver")
    assert "Status code: 404 for http://" in text
    assert "Error downloading packages:" in text
    assert versions(el9) == {}


def test_packages_of_another_key(with_streams: Host) -> None:
    old, new = key("cuda-rpm"), key("cuda-next")
    sources.give_cuda(with_streams.root, "rhel9", CUDA_ROTATED)
    text = refused(with_streams, "--refresh install nvidia-driver-cuda")
    assert f"{old.short_id}.pub" in text
    assert "Public key for" in text
    assert "is not installed" in text
    path = with_streams.root / REPOSITORY.format("rhel9")
    path.write_text(
        path.read_text().replace(f"{CUDA}/rhel9/x86_64/{old.short_id}", f"{CUDA_ROTATED}/rhel9/x86_64/{new.short_id}")
    )
    dnf(with_streams, "--refresh install nvidia-driver-cuda")
    assert versions(with_streams)["nvidia-driver-cuda"] == f"3:{newest(595).version}"


def test_no_streams_since_el_10(el10: Host) -> None:
    assert "No matching Modules to list" in refused(el10, "module list nvidia-driver")
    found = re.findall(r"3:(\d+)\.", dnf(el10, "list --showduplicates nvidia-open"))
    assert sorted(set(found)) == ["580", "595", "620"]


def test_el_10_brings_the_open_modules_by_itself(plain: Host) -> None:
    dnf(plain, "install nvidia-driver-cuda")
    assert versions(plain)["kmod-nvidia-open-dkms"] == f"3:{newest(620).version}"
    assert f"nvidia/{newest(620).version}, {kernel(plain)}, x86_64: installed" in plain.run(["dkms", "status"])
    assert plain.run(["modinfo", "--field=filename", "nvidia"]).startswith(
        f"/lib/modules/{kernel(plain)}/extra/nvidia.ko"
    )


def test_a_version_lock_holds_the_branch(plain: Host) -> None:
    dnf(plain, r"versionlock '*nvidia*580.178.04*'")
    dnf(plain, "install nvidia-open")
    assert set(versions(plain).values()) == {f"3:{newest(580).version}"}
    assert "Nothing to do." in dnf(plain, "update")
    dnf(plain, "versionlock clear")
    dnf(plain, "update nvidia-open nvidia-driver nvidia-driver-cuda")
    assert versions(plain)["nvidia-driver-cuda"] == f"3:{newest(620).version}"


def test_an_exact_version_needs_all_of_its_set(plain: Host) -> None:
    version = newest(595).version
    found = say(plain, f"{DNF} install nvidia-open-3:{version}", seconds=INSTALL_SECONDS)
    assert found[0] == 0, found[1]
    assert versions(plain)["nvidia-open"] == f"3:{version}"
    assert versions(plain)["nvidia-driver-cuda"] == f"3:{newest(620).version}"
