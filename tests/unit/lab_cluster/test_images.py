# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container images made without a registry."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

import pytest

from lab.cluster import catalog, images, layers


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF")
    path.chmod(0o755)
    return path


def test_a_layer_is_the_same_for_the_same_files(program: Path) -> None:
    one, two = (layers.file_layer({"usr/bin/p": program}) for _round in range(2))
    assert one.digest == two.digest == hashlib.sha256(one.content).hexdigest()


def test_a_shared_layer_is_written_once(program: Path, tmp_path: Path) -> None:
    base = layers.file_layer({"bin/sh": program})
    top = layers.file_layer({"usr/bin/p": program})
    both = [images.Image(("a:1",), (base,)), images.Image(("b:1", "b:2"), (base, top), entrypoint=("p",))]
    images.write_archive(tmp_path / "images.tar", both)
    with tarfile.open(tmp_path / "images.tar") as archive:
        names = archive.getnames()
        manifest = json.load(archive.extractfile("manifest.json"))
        config = json.load(archive.extractfile(manifest[1]["Config"]))
    assert names.count(f"{base.digest}/layer.tar") == 1
    assert manifest[1]["RepoTags"] == ["b:1", "b:2"]
    assert manifest[1]["Layers"] == [f"{base.digest}/layer.tar", f"{top.digest}/layer.tar"]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{base.digest}", f"sha256:{top.digest}"]
    assert config["config"]["Entrypoint"] == ["p"]


def test_files_of_usr_merged_packages_lie_below_usr(tmp_path: Path) -> None:
    info = tmp_path / "var/lib/dpkg/info"
    info.mkdir(parents=True)
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/dash").write_bytes(b"")
    (tmp_path / "bin").symlink_to("usr/bin")
    for package in layers.SHELL:
        (info / f"{package}.list").write_text(
            "/.\n/bin\n/bin/dash\n/usr/share/doc/gone\n" if package == "dash" else "/.\n"
        )
    (tmp_path / "layer.tar").write_bytes(layers.debian_layer(tmp_path, layers.SHELL).content)
    with tarfile.open(tmp_path / "layer.tar") as archive:
        assert "usr/bin/dash" in archive.getnames()
        assert archive.getmember("bin").issym()
        assert "usr/share/doc/gone" not in archive.getnames()


def test_a_package_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="base-files"):
        layers.debian_layer(tmp_path, layers.SHELL)


def test_operands_have_the_names_of_the_collections_catalog() -> None:
    assert catalog.operand_images()["k8s-device-plugin"].startswith("nvcr.io/nvidia/k8s-device-plugin:v")


def test_the_stand_in_serves_the_26_default_fields() -> None:
    lines = [line for line in images.COUNTERS.read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) == 26
    assert {line.count(",") for line in lines} == {2}
