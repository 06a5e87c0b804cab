# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One package, its signed index and a host's apt source, made with the real tools."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from lab.packages import deb, index, kernels, keys, sources
from lab.packages.package import Package
from lab.packages.variables import SERVER

from .conftest import Told

PACKAGE = Package(
    name="nvidia-kernel-support",
    version="1:570.172.08-1",
    summary="module options",
    relations={"Depends": "nvidia-modprobe (= 570.172.08-1)", "Conflicts": ""},
    trees=("nvidia-kernel-support", "nvidia-kernel-support@570", "nvidia-kernel-support@absent"),
    links={"usr/lib/x86_64-linux-gnu/libx.so.1": "libx.so.570.172.08"},
)


def write(tmp_path: Path, package: Package = PACKAGE) -> Path:
    folder = tmp_path / "pool"
    folder.mkdir(exist_ok=True)
    return deb.write(package, folder, tmp_path)


def test_control_fields_and_file_name(tmp_path: Path, told: Told) -> None:
    path = write(tmp_path)
    assert path.name == "nvidia-kernel-support_570.172.08-1_amd64.deb"
    fields = told("dpkg-deb", "--field", path)
    assert "Version: 1:570.172.08-1\n" in fields
    assert "Depends: nvidia-modprobe (= 570.172.08-1)\n" in fields
    assert "Conflicts" not in fields


def test_files_of_all_trees_belong_to_root_and_configuration_is_marked(tmp_path: Path, told: Told) -> None:
    path = write(tmp_path)
    listing = told("dpkg-deb", "--contents", path)
    for name in ("./usr/lib/udev/rules.d/60-nvidia.rules", "./etc/modprobe.d/nvidia.conf", "libx.so.1 -> libx.so.570"):
        assert name in listing
    assert all(line.split()[1] == "root/root" for line in listing.splitlines())
    assert "/etc/modprobe.d/nvidia.conf\n" in told("dpkg-deb", "--info", path, "conffiles")
    assert told("dpkg-deb", "--info", path, "triggers") == "activate-noawait ldconfig\n"


def test_tokens_are_replaced_in_names_and_contents_and_a_pin_is_no_configuration(tmp_path: Path, told: Told) -> None:
    tokens = {"VERSION": "595.71.05", "PACKAGES": "nvidia-open libcuda1"}
    package = Package(
        "nvidia-driver-pinning-595.71.05", "595.71.05-1", "pin", trees=("pinning-version",), tokens=tokens
    )
    path = write(tmp_path, package)
    told("dpkg-deb", "--extract", path, tmp_path / "root")
    pin = tmp_path / "root/etc/apt/preferences.d/nvidia-driver-pin"
    assert "Package: nvidia-open libcuda1\nPin: version 595.71.05-*\nPin-Priority: 1000\n" in pin.read_text()
    assert told("dpkg-deb", "--info", path, "conffiles") == ""


def test_a_package_is_the_same_whenever_it_is_built(tmp_path: Path) -> None:
    first = write(tmp_path).read_bytes()
    time.sleep(1.1)  # times in archives are whole seconds
    assert write(tmp_path).read_bytes() == first


def test_programs_and_scripts_are_executable(tmp_path: Path, told: Told) -> None:
    program = tmp_path / "nvidia-modprobe"
    program.write_text("#!/bin/sh\n")
    package = Package(
        "nvidia-persistenced", "1-1", "x", trees=("nvidia-persistenced",), files={"usr/bin/nvidia-modprobe": program}
    )
    path = write(tmp_path, package)
    assert told("dpkg-deb", "--contents", path).count("-rwsr-xr-x root/root") == 1
    told("dpkg-deb", "--control", path, tmp_path / "control")
    assert (tmp_path / "control/postinst").stat().st_mode & 0o777 == 0o755


def test_index_is_signed_and_lists_what_is_there(tmp_path: Path, told: Told) -> None:
    folder = write(tmp_path).parent
    name = keys.key("cuda")
    index.write(folder, "NVIDIA", "NVIDIA CUDA", name)
    told("gpgv", "--keyring", name.binary, folder / "InRelease")
    told("gpgv", "--keyring", name.binary, folder / "Release.gpg", folder / "Release")
    packages = (folder / "Packages").read_text()
    assert "Filename: ./nvidia-kernel-support_570.172.08-1_amd64.deb\n" in packages
    release = (folder / "Release").read_text()
    assert {"Origin: NVIDIA", "Label: NVIDIA CUDA"} <= set(release.splitlines())
    assert hashlib.sha256(packages.encode()).hexdigest() in release


def test_key_is_made_once(tmp_path: Path) -> None:
    first, again, other = keys.key("toolkit"), keys.key("toolkit"), keys.key("debian")
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert len(first.fingerprint) == 40
    assert first.fingerprint.endswith(first.short_id)
    assert first.secret.stat().st_mode & 0o077 == 0


def test_source_leaves_only_the_labs_debian(tmp_path: Path) -> None:
    root = tmp_path / "root"
    folder = root / "etc/apt/sources.list.d"
    folder.mkdir(parents=True)
    (root / "etc/apt/sources.list").write_text("deb http://mirror.example.org/debian trixie main\n")
    (folder / "0000debian.sources").write_text("Types: deb\n")
    sources.write_source(root, "debian", f"{SERVER}/debian/trixie", "./")
    assert [path.name for path in folder.iterdir()] == ["lab-debian.sources"]
    assert not (root / "etc/apt/sources.list").exists()
    text = (folder / "lab-debian.sources").read_text()
    assert "URIs: http://198.51.100.1/debian/trixie\nSuites: ./\n" in text
    keyring = root / "usr/share/keyrings/lab-debian.asc"
    assert f"Signed-By: /{keyring.relative_to(root)}\n" in text
    assert keyring.read_bytes() == keys.key("debian").public.read_bytes()


def test_recorded_kernel_is_installed_for_dpkg(tmp_path: Path, told: Told) -> None:
    (tmp_path / "var/lib/dpkg/info").mkdir(parents=True)
    status = tmp_path / "var/lib/dpkg/status"
    status.write_text("Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n\n")
    kernels.record(tmp_path, "linux-image-6.1.0-1-cloud-amd64", "6.1.2-1")
    form = "${Package} ${Version} ${db:Status-Status}\\n"
    listed = told("dpkg-query", f"--admindir={tmp_path}/var/lib/dpkg", "--show", f"--showformat={form}")
    assert listed == "dpkg 1 installed\nlinux-image-6.1.0-1-cloud-amd64 6.1.2-1 installed\n"
