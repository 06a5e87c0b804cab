# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers on a simulated host: the edit of an OCI bundle, and the wrapper in place of the runtime."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from simulator import hardware
from simulator.bundle import HOOK, STATE_FOLDER, edit_bundle, with_driver

CONFIG = {"root": {"path": "rootfs"}, "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}]}
CDI_HOOK = {"path": "/usr/bin/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", "update-ldcache"]}


def test_driver_is_mounted_and_shown_before_other_hooks(tmp_path: Path) -> None:
    config = with_driver({**CONFIG, "hooks": {"createContainer": [CDI_HOOK], "poststop": []}}, tmp_path)
    assert [mount["destination"] for mount in config["mounts"]] == ["/proc", STATE_FOLDER]
    own = {"path": HOOK, "args": [HOOK, f"{tmp_path}/rootfs"]}
    assert config["hooks"] == {"createContainer": [own, CDI_HOOK], "poststop": []}


@pytest.mark.parametrize("hooks", [None, {}, {"createContainer": None}])
def test_bundle_without_hooks(tmp_path: Path, hooks: dict[str, None] | None) -> None:
    config = with_driver({"root": {"path": "/srv/root"}, "hooks": hooks}, tmp_path)
    assert config["hooks"]["createContainer"] == [{"path": HOOK, "args": [HOOK, "/srv/root"]}]


def test_second_edit_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    edit_bundle(tmp_path)
    first = path.read_text()
    edit_bundle(tmp_path)
    assert (first != json.dumps(CONFIG), path.read_text()) == (True, first)


def _rootfs(folder: Path) -> Path:
    (folder / "usr/sbin").mkdir(parents=True)
    (folder / "usr/bin").mkdir()
    (folder / "var/lib/dpkg").mkdir(parents=True)
    (folder / "usr/sbin/runc").write_text('#!/bin/sh\necho "real $*"\n')
    (folder / "usr/sbin/runc").chmod(0o755)
    (folder / "usr/bin/runc").symlink_to("../sbin/runc")
    return folder


def test_runtime_is_diverted_once(tmp_path: Path) -> None:
    rootfs = _rootfs(tmp_path)
    for _time in range(2):
        for program in hardware.RUNTIMES:
            hardware.divert(rootfs, program)
    assert (rootfs / "var/lib/dpkg/diversions").read_text() == "/usr/sbin/runc\n/usr/sbin/runc.real\n:\n"
    done = subprocess.run([rootfs / "usr/bin/runc", "state", "abc"], capture_output=True, text=True, check=True)
    assert done.stdout == "real state abc\n"
