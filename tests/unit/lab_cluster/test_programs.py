# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of programs and the Go modules beside it."""

from __future__ import annotations

import re

import pytest

from lab.cluster import bookworm, programs

ALL = (*programs.PROGRAMS, *programs.JUDGES)


@pytest.mark.parametrize("row", [r for r in ALL if r.group != "exporter"], ids=lambda row: row.name)
def test_the_module_names_every_program(row: programs.Program) -> None:
    """Else go.sum may lack what the program needs, and the build ends at a `-mod=readonly` error."""
    assert f'"{row.package}"' in (programs.GO_MODULES / row.group / "tools.go").read_text()


@pytest.mark.parametrize(
    ("group", "module", "version"),
    [
        ("kubernetes", "k8s.io/kubernetes", programs.KUBERNETES_VERSION),
        ("kubernetes", "go.etcd.io/etcd/server/v3", programs.ETCD_VERSION),
        ("containerd", "github.com/containerd/containerd/v2", programs.CONTAINERD_VERSION),
        ("crictl", "sigs.k8s.io/cri-tools", programs.CRICTL_VERSION),
        ("kwok", "sigs.k8s.io/kwok", programs.KWOK_VERSION),
        ("toolkit", "github.com/NVIDIA/nvidia-container-toolkit", programs.TOOLKIT_VERSION),
        ("device_plugin", "github.com/NVIDIA/k8s-device-plugin", programs.DEVICE_PLUGIN_VERSION),
        ("dra_driver", "sigs.k8s.io/dra-driver-nvidia-gpu", programs.DRA_DRIVER_VERSION),
    ],
)
def test_programs_say_the_version_that_their_module_pins(group: str, module: str, version: str) -> None:
    pinned = re.search(rf"{re.escape(module)} (v\S+)", (programs.GO_MODULES / group / "go.mod").read_text())
    assert pinned is not None
    assert pinned[1] == version


def test_names_are_unique() -> None:
    names = [row.name for row in ALL]
    assert sorted(set(names)) == sorted(names)


def test_an_unknown_program_is_named() -> None:
    with pytest.raises(KeyError, match="kubeadm"):
        programs.program("kubeadm")


@pytest.mark.parametrize(
    ("libc", "wanted"),
    [("glibc 2.36", False), ("glibc 2.35", False), ("glibc 2.41", True), ("glibc 3.0", True), ("musl 1.2", True)],
)
def test_a_newer_libc_means_building_in_debian_12(libc: str, wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(bookworm.FORCE_VARIABLE, raising=False)
    assert bookworm.needed(libc) is wanted
