# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Libraries of the driver, their SONAMEs and links; device nodes and MIG minors."""

from __future__ import annotations

import pytest
from trees.elf import shared_object

from ansible_collections.gpu.fleet.plugins.module_utils._observe.elf import NotElf, read_soname
from ansible_collections.gpu.fleet.plugins.module_utils._observe.engines import find_runtime
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._observe.libraries import Libraries, so_name
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.capability import read_minors

NAMES = {
    "libx.so.1.2": "libx.so",
    "libx.so": "libx.so",
    "libx-1.2.so.3": "libx-1.2.so",
    "libx": "",
    "x.txt": "",
    "": "",
}


@pytest.mark.parametrize(("name", "plain"), NAMES.items())
def test_so_name(name, plain):
    assert so_name(name) == plain


@pytest.mark.parametrize("soname", ["libcuda.so.1", None])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_soname(tmp_path, soname, machine):
    (tmp_path / "lib.so").write_bytes(shared_object(soname, machine))
    assert read_soname(HostRoot(str(tmp_path)), "/lib.so") == soname


@pytest.mark.parametrize("data", [b"", b"text", shared_object("a")[:70], b"\x7fELF\x07" + b"\0" * 60])
def test_no_elf(tmp_path, data):
    (tmp_path / "lib.so").write_bytes(data)
    with pytest.raises(NotElf):
        read_soname(HostRoot(str(tmp_path)), "/lib.so")


def test_merged_usr_gives_each_library_once_and_newest_version_first(tmp_path):
    (tmp_path / "usr/lib64").mkdir(parents=True)
    (tmp_path / "lib64").symlink_to("usr/lib64")
    for version in ("570.9", "570.133.20", "99.1"):
        (tmp_path / f"usr/lib64/libcuda.so.{version}").write_bytes(shared_object("libcuda.so.1"))
    libraries = Libraries(HostRoot(str(tmp_path)))
    assert libraries.locate("libcuda.so.570.9") == ["/usr/lib64/libcuda.so.570.9"]
    assert libraries.versions() == ["570.133.20", "570.9", "99.1"]
    assert libraries.directories("99.1") == ("/usr/lib64",)


def test_mig_minors_of_other_forms_are_skipped():
    assert read_minors("config 1\nbad\ngpu0/gi1/access 3\ngpu0/gi1/ci0/access x\n\n")["minors"] == {
        "config": 1,
        "gpu0/gi1/access": 3,
    }


ENGINES = {
    "none": ([], "", None),
    "containerd by its program": (["usr/bin/containerd"], "", "containerd"),
    "docker brings a containerd": (["run/docker.sock", "run/containerd/containerd.sock"], "", "docker"),
    "the kubelet says": (
        ["run/docker.sock"],
        "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n",
        "containerd",
    ),
    "podman alone": (["usr/bin/podman"], "", "podman"),
}


@pytest.mark.parametrize(("paths", "kubelet", "runtime"), ENGINES.values(), ids=ENGINES)
def test_engine_of_a_host(tmp_path, paths, kubelet, runtime):
    (tmp_path / "var/lib/kubelet").mkdir(parents=True)
    (tmp_path / "var/lib/kubelet/config.yaml").write_text(kubelet)
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
        (tmp_path / path).chmod(0o755)
    assert find_runtime(HostRoot(str(tmp_path))) == runtime
