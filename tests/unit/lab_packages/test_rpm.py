# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages for dnf and their signed index, made with the real tools and read by rpm."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml

from lab.packages import dnf_index, keys, rpm
from lab.packages.package import Package

from .conftest import Told

COMMON = Package(
    name="nvidia-kmod-common",
    version="3:570.172.08-1.el9",
    summary="what all share",
    architecture="noarch",
    relations={"Requires": "nvidia-modprobe, nvidia-kmod = 3:570.172.08", "Conflicts": ""},
    trees=("nvidia-kmod-common", "nvidia-kmod-common@570", "nvidia-kmod-common@absent"),
    links={"usr/lib64/libx.so.1": "libx.so.570.172.08"},
)


def write(tmp_path: Path, *packages: Package) -> list[Path]:
    folder, scratch = tmp_path / "pool", tmp_path / "scratch"
    for path in (folder, scratch):
        path.mkdir(exist_ok=True)
    rpm.write(packages, folder, scratch, keys.key("cuda-rpm"))
    return [folder / rpm.file_name(package) for package in packages]


def test_name_tags_and_relations(tmp_path: Path, told: Told) -> None:
    (path,) = write(tmp_path, COMMON)
    assert path.name == "nvidia-kmod-common-570.172.08-1.el9.noarch.rpm"
    form = "%{NAME} %{EPOCH} %{VERSION} %{RELEASE} %{ARCH} %{SUMMARY}"
    assert told("rpm", "-qp", "--nosignature", "--qf", form, path) == (
        "nvidia-kmod-common 3 570.172.08 1.el9 noarch what all share (simulated)"
    )
    wanted = told("rpm", "-qp", "--nosignature", "--requires", path).splitlines()
    assert {line for line in wanted if not line.startswith("rpmlib")} == {
        *("nvidia-modprobe", "nvidia-kmod = 3:570.172.08", "/bin/sh"),
    }
    assert told("rpm", "-qp", "--nosignature", "--conflicts", path) == ""


def test_files_belong_to_root_and_configuration_is_marked(tmp_path: Path, told: Told) -> None:
    (path,) = write(tmp_path, COMMON)
    form = "[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME}\\n]"
    found = dict(line.split(" ", 1) for line in told("rpm", "-qp", "--nosignature", "--qf", form, path).splitlines())
    assert found["/usr/lib/modprobe.d/nvidia.conf"] == "-rw-r--r-- root"
    assert found["/usr/sbin/nvidia-boot-update"] == "-rwxr-xr-x root"
    assert found["/usr/lib64/libx.so.1"].startswith("lrwxrwxrwx")
    assert told("rpm", "-qp", "--nosignature", "--configfiles", path) == "/etc/modprobe.d/nvidia-modeset.conf\n"
    assert not [name for name in found if "RPM" in name or "DEBIAN" in name]


def test_scripts_run_by_the_shell(tmp_path: Path, told: Told) -> None:
    (path,) = write(tmp_path, COMMON)
    text = told("rpm", "-qp", "--nosignature", "--scripts", path)
    assert "postinstall scriptlet (using /bin/sh):\n/usr/sbin/nvidia-boot-update post" in text
    assert 'preuninstall scriptlet (using /bin/sh):\nif [ "$1" -eq "0" ]' in text


def test_packages_with_the_same_file_and_name_are_written_at_once(tmp_path: Path, told: Told) -> None:
    later = Package(**{**vars(COMMON), "version": "3:570.211.01-1.el9"})
    paths = write(tmp_path, COMMON, later)
    assert [told("rpm", "-qp", "--nosignature", "--qf", "%{VERSION}", path) for path in paths] == [
        "570.172.08",
        "570.211.01",
    ]


def test_a_package_is_the_same_whenever_it_is_built_up_to_the_signature(tmp_path: Path, told: Told) -> None:
    def state() -> str:
        (path,) = write(tmp_path, COMMON)
        form = "%{SHA256HEADER} %{PAYLOADDIGEST} %{BUILDTIME} %{BUILDHOST}"
        return told("rpm", "-qp", "--nosignature", "--qf", form, path)

    first = state()
    time.sleep(1.1)
    assert state() == first


@pytest.mark.parametrize(("signer", "good"), [("cuda-rpm", True), ("cuda-next", False)])
def test_signature_is_checked_by_rpm(tmp_path: Path, told: Told, signer: str, good: bool) -> None:
    (path,) = write(tmp_path, COMMON)
    base = f"--dbpath={tmp_path / 'db'}"
    told("rpmkeys", base, "--import", keys.key(signer).public)
    rpm.sign([path], keys.key("cuda-rpm"))  # signing again leaves one signature
    found = told("sh", "-c", f"rpmkeys {base} --checksig --verbose {path} || :")
    assert ("NOKEY" not in found) is good
    assert found.count("Signature") >= 1


@pytest.mark.parametrize(
    ("version", "expected"),
    [("3:595.71.05-1.el9", ("3", "595.71.05", "1.el9")), ("2025.06.11-1", ("", "2025.06.11", "1"))],
)
def test_parts_of_a_version(version: str, expected: tuple[str, str, str]) -> None:
    assert rpm.split(version) == expected


def test_index_lists_packages_and_streams_and_is_signed(tmp_path: Path, told: Told) -> None:
    (path,) = write(tmp_path, COMMON)
    signer = keys.key("cuda-rpm")
    dnf_index.write(path.parent, signer, yaml.safe_dump({"document": "modulemd"}))
    metadata = path.parent / "repodata/repomd.xml"
    assert {'type="primary"', 'type="modules"'} <= set(metadata.read_text().replace(">", " ").split())
    told("gpgv", "--keyring", signer.binary, metadata.with_name("repomd.xml.asc"), metadata)
    assert sorted(entry.name for entry in path.parent.iterdir()) == [path.name, "repodata"]
