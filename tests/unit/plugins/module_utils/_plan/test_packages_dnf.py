# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dnf's excludes and module file say, held against how dnf reads them (dnf.conf(5))."""

from __future__ import annotations

import fnmatch

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import DnfSource
from ansible_collections.gpu.fleet.plugins.module_utils._plan.packages_dnf import lock, render_stream, stream_of
from ansible_collections.gpu.fleet.plugins.module_utils._plan.repository_dnf import DnfRepository, find_dnf_conflicts

VERSIONS = (
    "570.158.01", "580.65.06", "580.90.01", "580.142", "580.142.01", "580.178.04", "595", "595.7", "595.58.03",
    "595.71", "595.71.05", "595.71.050", "595.71.06", "595.84", "60.1", "5950.1.1", "620.57.04",
)  # fmt: skip


def left_by(patterns: tuple[str, ...], name: str, epoch: int, versions: tuple[str, ...]) -> list[str]:
    """The versions that dnf still sees.

    It takes a pattern apart: a name, an epoch and a version, each compared for itself. Where nothing fits, the pattern
    is held against all of name-epoch:version-release.machine.
    """
    gone: set[str] = set()
    for pattern in patterns:
        left, _colon, tail = pattern.partition(":")
        head, _dash, number = left.rpartition("-")
        same = fnmatch.fnmatchcase(name, head) and int(number) == epoch
        found = {v for v in versions if same and fnmatch.fnmatchcase(v, tail)}
        whole = {v for v in versions if fnmatch.fnmatchcase(f"{name}-{epoch}:{v}-1.el9.x86_64", pattern)}
        gone |= found or whole
    return [v for v in versions if v not in gone]


@pytest.mark.parametrize(
    ("prefix", "left"),
    [
        ("595.71.05", ["595.71.05"]),
        ("595.71.05-1.el9", ["595.71.05"]),
        ("580.142", ["580.142"]),
        ("580", ["580.65.06", "580.90.01", "580.142", "580.142.01", "580.178.04"]),
        ("", list(VERSIONS)),
    ],
)
@pytest.mark.parametrize(
    ("name", "epoch"),
    [("nvidia-driver-cuda", 3), ("kmod-nvidia-open-dkms", 3), ("nvidia-imex", 0), ("nvidia-fabricmanager", 0)],
)
def test_excludes_leave_what_is_locked_and_nothing_else(prefix, left, name, epoch):
    assert left_by(lock(prefix), name, epoch, VERSIONS) == left
    for version in left:
        assert left_by(lock(prefix), name, epoch, (version,)) == [version]


@pytest.mark.parametrize(
    ("name", "version"), [("cuda-toolkit-13-0", "13.0.1"), ("nvlsm", "2025.06.11"), ("nvidia-fs", "2.28.4")]
)
def test_what_is_no_part_of_the_set_stays(name, version):
    assert left_by(lock("595.71.05"), name, 0, (version,)) == [version]


def test_no_pattern_has_what_ends_one_in_the_file():
    assert not [p for p in lock("595.71.05") if set(p) & set(" ,\t\n")]


@pytest.mark.parametrize("stream", ["580", "580-open", "595-dkms"])
def test_the_stream_is_read_as_it_was_written(stream):
    assert stream_of(render_stream(stream)) == stream


@pytest.mark.parametrize("text", [None, "", "[nvidia-driver]\nname=nvidia-driver\nstream=\nstate=\n"])
def test_no_stream(text):
    assert stream_of(text) is None


REPOSITORY = DnfRepository("cuda", "http://a/rhel9/x86_64/", "http://a/k.pub", "A" * 32 + "D42D0685")


def test_the_file_trusts_one_key_and_checks_packages():
    lines = REPOSITORY.render(("a-3:[!5]*", "b"), all_streams=False).splitlines()
    assert "gpgcheck=1" in lines
    assert "gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-gpu-fleet-cuda" in lines
    assert "excludepkgs=a-3:[!5]* b" in lines
    assert not [line for line in lines if line.startswith("module_hotfixes")]
    assert "module_hotfixes=1" in REPOSITORY.render(all_streams=True).splitlines()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (DnfSource("/etc/yum.repos.d/cuda-rhel9.repo", "cuda-rhel9-x86_64", "http://a/rhel9/x86_64"), ["GPU-PKG-001"]),
        (DnfSource(REPOSITORY.source_path, "gpu-fleet-cuda", "http://a/rhel9/x86_64"), []),
        (DnfSource("/etc/yum.repos.d/base.repo", "baseos", "http://a/BaseOS"), []),
    ],
)
def test_another_section_for_the_repository_is_refused(source, found):
    assert [f.id for f in find_dnf_conflicts(REPOSITORY, (source,))] == found
