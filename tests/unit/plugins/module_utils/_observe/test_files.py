# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading below a host root, and nothing outside it."""

from __future__ import annotations

import os

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot


@pytest.fixture
def host(tmp_path):
    root = tmp_path / "host"
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/a").write_text("inside\n")
    (root / "lib").symlink_to("usr/lib")
    (root / "absolute").symlink_to("/usr/lib/a")
    (root / "up").symlink_to("../../../../../usr/lib/a")
    (root / "loop").symlink_to("loop")
    (root / "dangling").symlink_to("/nowhere")
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/a").write_text("outside\n")
    return HostRoot(str(root))


@pytest.mark.parametrize("path", ["/usr/lib/a", "/lib/a", "/absolute", "/up", "/../../usr/lib/a", "/lib/../lib/a"])
def test_every_way_stays_inside(host, path):
    assert host.text(path) == "inside\n"
    assert host.resolve(path) == "/usr/lib/a"


@pytest.mark.parametrize("path", ["/none", "/loop", "/dangling", "/usr/lib/a/b"])
def test_absent_is_none(host, path):
    assert host.text(path) is None
    assert host.names(path) == []
    assert not host.exists(path)


def test_kinds(host):
    assert host.is_dir("/lib")
    assert host.is_file("/absolute")
    assert not host.is_executable("/absolute")
    assert host.link("/lib") == "usr/lib"
    assert host.link("/usr") is None
    assert host.device("/absolute") is None
    assert host.names("/usr") == ["lib"]


def test_device_numbers_of_the_running_machine():
    node = HostRoot().device("/dev/null")
    assert (node.major, node.minor, node.path) == (1, 3, "/dev/null")
    assert node.uid == os.stat("/dev/null").st_uid


def test_a_directory_is_no_text(host):
    with pytest.raises(IsADirectoryError):
        host.text("/usr")
