# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both sources of the driver on a simulated Ubuntu, as apt sees them: Canonical's archive and NVIDIA's repository."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.asked import say
from lab.host import Host
from lab.packages.distributions import DISTRIBUTIONS
from lab.packages.module_keys import module_key
from lab.packages.versions import newest

from .conftest import READY, Maker

APT = "DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get --yes"
KERNEL = DISTRIBUTIONS["ubuntu2404"].kernel
ARCHIVE = "-0ubuntu0.24.04.1"
INSTALL_SECONDS = 400


@pytest.fixture(scope="module")
def host(make: Maker) -> Host:
    return make("ubuntu2404")


@pytest.fixture
def changed(host: Host) -> Iterator[Host]:
    """The host, which goes back afterwards to what it was."""
    yield host
    host.restore(READY)


def planned(host: Host, wanted: str) -> dict[str, str]:
    """Name -> version of what apt would install."""
    status, text = say(host, f"{APT} --simulate install {wanted}")
    assert status == 0, text
    return dict(re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", text, re.M))


@pytest.mark.parametrize(
    ("line", "folder", "terms"),
    [("580-server-open", "nvidia-580srv-open", "Dual MIT/GPL"), ("580", "nvidia-580", "NVIDIA")],
)
def test_compiled_modules(changed: Host, tmp_path: Path, line: str, folder: str, terms: str) -> None:
    changed.shell(f"{APT} install linux-modules-nvidia-{line}-generic", timeout=INSTALL_SECONDS)
    path = f"/usr/lib/modules/{KERNEL}/kernel/{folder}/nvidia.ko"
    found = {name: changed.run(["modinfo", f"--field={name}", "nvidia"]).strip() for name in ("version", "license")}
    assert found == {"version": newest(580).version, "license": terms}
    assert changed.run(["modinfo", "--field=signer", path]).strip() == "Canonical Ltd. Kernel Module Signing"
    assert changed.run(["modinfo", "--field=vermagic", path]).startswith(f"{KERNEL} ")
    assert not changed.succeeds("command -v dkms")
    assert signature_is_valid((changed.root / path.lstrip("/")).read_bytes(), tmp_path)
    changed.shell("modprobe nvidia-uvm && grep --quiet ^nvidia_uvm /proc/modules")
    changed.shell(f"modprobe --remove nvidia-uvm nvidia; {APT} remove linux-modules-nvidia-{line}-{KERNEL}")
    assert not changed.succeeds("modinfo nvidia")


def signature_is_valid(module: bytes, folder: Path) -> bool:
    """Whether what is appended to a module (admin-guide/module-signing.rst) is a signature of the rest."""
    magic = b"~Module signature appended~\n"
    assert module.endswith(magic)
    rest = module[: -len(magic)]
    size = int.from_bytes(rest[-4:], "big")
    content, signature = rest[: -12 - size], rest[-12 - size : -12]
    for name, data in (("content", content), ("signature", signature)):
        (folder / name).write_bytes(data)
    certificate = folder / "certificate.pem"
    convert: list[str | Path] = [
        "openssl",
        "x509",
        "-inform",
        "DER",
        "-in",
        module_key("canonical").certificate,
        "-out",
        certificate,
    ]
    subprocess.run(convert, check=True)
    command: list[str | Path] = [
        "openssl",
        "cms",
        "-verify",
        "-binary",
        "-inform",
        "DER",
        "-in",
        folder / "signature",
        "-content",
    ]
    command += [folder / "content", "-certfile", certificate, "-nointern", "-noverify", "-out", folder / "out"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def test_modules_and_driver_of_two_releases_do_not_fit(host: Host) -> None:
    """Open modules of one release want its kernel-common; the newest packages of that line are of another."""
    wanted = "linux-modules-nvidia-595-server-open-generic nvidia-headless-no-dkms-595-server-open"
    status, text = say(host, f"{APT} --simulate install {wanted}")
    assert status == 100
    assert f"Depends: nvidia-kernel-common-595-server (<= 595.71.05-1) but 595.84{ARCHIVE} is to be installed" in text
    parts = (
        "nvidia-headless-no-dkms-595-server-open nvidia-kernel-source-595-server-open nvidia-kernel-common-595-server"
    )
    parts += " libnvidia-compute-595-server nvidia-compute-utils-595-server libnvidia-cfg1-595-server"
    exact = " ".join(f"{part}=595.71.05{ARCHIVE}" for part in parts.split())
    found = planned(host, f"linux-modules-nvidia-595-server-open-generic {exact}")
    assert found["nvidia-kernel-common-595-server"] == f"595.71.05{ARCHIVE}"
    assert found["nvidia-firmware-595-server-595.71.05"] == f"595.71.05{ARCHIVE}"
    # Binary modules take a later one.
    assert (
        planned(host, "linux-modules-nvidia-595-server-generic")["nvidia-kernel-common-595-server"]
        == f"595.84{ARCHIVE}"
    )


def test_names_of_a_former_branch_bring_the_present_one(host: Host) -> None:
    found = planned(host, "nvidia-headless-570-server-open")
    version = f"{newest(580).version}{ARCHIVE}"
    assert found["nvidia-headless-570-server-open"] == found["nvidia-dkms-580-server-open"] == version


def test_dkms_of_the_archive_has_a_name_of_its_own(changed: Host) -> None:
    changed.shell(f"{APT} install linux-headers-generic nvidia-dkms-580-server-open", timeout=INSTALL_SECONDS)
    assert changed.run(["dkms", "status"]).strip() == f"nvidia-srv/{newest(580).version}, {KERNEL}, x86_64: installed"
    assert (
        changed.run(["modinfo", "--field=filename", "nvidia"]).strip()
        == f"/lib/modules/{KERNEL}/updates/dkms/nvidia.ko"
    )


def test_names_of_nvidias_repository(host: Host) -> None:
    found = planned(host, "nvidia-headless-580-open=580.178.04-1ubuntu1")
    assert found["libnvidia-compute-580"] == found["nvidia-dkms-580-open"] == "580.178.04-1ubuntu1"
    newer = planned(host, "libnvidia-compute nvidia-dkms-open")
    assert {newer[name] for name in ("libnvidia-compute", "nvidia-dkms-open", "nvidia-firmware")} == {
        f"{newest(620).version}-1ubuntu1"
    }
    assert say(host, f"{APT} --simulate install nvidia-utils-595")[0] == 100
    assert planned(host, "nvidia-driver-570-open")["nvidia-compute-utils-570"] == f"{newest(570).version}-0ubuntu1"
    assert say(host, f"{APT} --simulate install nvidia-driver-570-open=570.172.08-0ubuntu1")[0] == 100


def test_version_of_a_whole_set_brings_a_newer_one(changed: Host) -> None:
    found = planned(changed, "nvidia-open=595.71.05-1ubuntu1")
    assert found["nvidia-open"] == "595.71.05-1ubuntu1"
    assert found["nvidia-driver-open"] == f"{newest(620).version}-1ubuntu1"
    recommended = planned(changed, "--install-recommends nvidia-open")
    assert "nvidia-driver-pinning-620" in recommended
    changed.shell(f"{APT} install nvidia-driver-pinning-595")
    assert planned(changed, "nvidia-open")["nvidia-driver-open"] == f"{newest(595).version}-1ubuntu1"
