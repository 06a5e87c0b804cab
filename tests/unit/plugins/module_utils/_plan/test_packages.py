# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets of packages: what lacks, pins, holds; versions; the repository's files."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import AptSource, Package
from ansible_collections.gpu.fleet.plugins.module_utils._plan.packages import PackageSet, lacking
from ansible_collections.gpu.fleet.plugins.module_utils._plan.packages_apt import pin_version, plan_holds, render_pin
from ansible_collections.gpu.fleet.plugins.module_utils._plan.repository import (
    Repository,
    find_conflicts,
    plan_no_repository,
    plan_repository,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.versions import branch_number, satisfies, upstream_version
from ansible_collections.gpu.fleet.plugins.module_utils._plan.work import write_file


def package(name: str, version: str, *, state: str = "installed", held: bool = False) -> Package:
    return Package(name, version, "amd64", state, held)


def wanted(prefix: str, *, hold: bool = True) -> PackageSet:
    return PackageSet("driver", ("a", "b"), ("headers",), ("a", "b", "lib*"), prefix, hold)


HEADERS = package("headers", "6.1-1")


@pytest.mark.parametrize(
    ("prefix", "found", "missing"),
    [
        ("595", [], ("a", "b", "headers")),
        ("595", [package("a", "595.71.05-1"), package("b", "595.71.05-1"), HEADERS], ()),
        ("595", [package("a", "595.71.05-1"), package("b", "595.58.03-1"), HEADERS], ("a", "b")),
        ("595", [package("a", "570.172.08-1"), package("b", "595.58.03-1"), HEADERS], ("a",)),
        ("595.71.05", [package("a", "595.71.05-1"), package("b", "595.71.05-1"), HEADERS], ()),
        ("595.71.05", [package("a", "595.58.03-1"), package("b", "595.71.05-1"), HEADERS], ("a",)),
        ("595.71.05-1", [package("a", "595.71.05-1"), package("b", "595.71.05-2"), HEADERS], ("b",)),
        ("595", [package("a", "595.71.05-1", state="half-configured"), package("b", "595.71.05-1"), HEADERS], ("a",)),
        ("59", [package("a", "595.71.05-1"), package("b", "595.71.05-1"), HEADERS], ("a", "b")),
        ("", [package("a", "1.20.0-1"), package("b", "1.20.0-1"), HEADERS], ()),
        ("595", [package("a", "595.71.05-1"), package("b", "595.71.05-1")], ("headers",)),
    ],
)
def test_lacking(prefix, found, missing):
    assert lacking(wanted(prefix), {p.name: p for p in found}) == missing


@pytest.mark.parametrize(
    ("prefix", "hold", "pin"),
    [
        ("595", True, "595.71.05-*"),
        ("595", False, "595.*"),
        ("595.71.05", False, "595.71.05-*"),
        ("", True, "595.71.05-*"),
        ("", False, None),
    ],
)
def test_pin(prefix, hold, pin):
    assert pin_version(wanted(prefix, hold=hold), "595.71.05") == pin


def test_pin_file():
    text = render_pin(("a", "lib*"), "595.*")
    assert text.splitlines()[1:] == ["Package: a lib*", "Pin: version 595.*", "Pin-Priority: 1001"]


def test_holds_are_set_once_and_released_only_when_ours():
    found = {"a": package("a", "1", held=True), "b": package("b", "1")}
    assert [s.target for s in plan_holds(("a", "b"), found, hold=True, ours=()).steps] == ["b"]
    assert plan_holds(("a", "b"), found, hold=False, ours=()).steps == ()
    assert [s.target for s in plan_holds(("a", "b"), found, hold=False, ours=["hold:a"]).steps] == ["a"]


@pytest.mark.parametrize(
    ("version", "upstream"),
    [
        ("595.71.05-1", "595.71.05"),
        ("1:1.0.5-1", "1.0.5"),
        ("1.20.0~rc.1-1", "1.20.0~rc.1"),
        ("550.163.01-2~deb12u1", "550.163.01"),
        ("6.1", "6.1"),
    ],
)
def test_upstream_version(version, upstream):
    assert upstream_version(version) == upstream


def test_versions():
    assert branch_number("595.71.05") == 595
    assert branch_number("latest") is None
    assert satisfies("595.71.05-1", "595.71.05")
    assert not satisfies("595.71.05-1", "595.71")


REPOSITORY = Repository(
    "cuda", "https://x.example/debian12/x86_64/", "/", "amd64", "https://x.example/k.pub", "AB" * 20
)


def test_repository_files():
    work = plan_repository(REPOSITORY, {}, key="KEY")
    assert [s.target for s in work.steps] == [
        "/etc/apt/keyrings/gpu-fleet-cuda.asc",
        "/etc/apt/sources.list.d/gpu-fleet-cuda.sources",
    ]
    text = work.calls[1].args["content"]
    assert "URIs: https://x.example/debian12/x86_64/\nSuites: /\nArchitectures: amd64\n" in text
    assert "Signed-By: /etc/apt/keyrings/gpu-fleet-cuda.asc\n" in text
    files = {REPOSITORY.key_path: "KEY", REPOSITORY.source_path: text}
    assert plan_repository(REPOSITORY, files, key=None).steps == ()


def test_only_our_repository_files_are_removed():
    files = {REPOSITORY.key_path: "KEY", REPOSITORY.source_path: "x"}
    work = plan_no_repository(REPOSITORY, files, [f"file:{REPOSITORY.source_path}"])
    assert [s.target for s in work.steps] == [REPOSITORY.source_path]


@pytest.mark.parametrize(
    ("source", "conflict"),
    [
        (AptSource("/etc/apt/sources.list", "https://x.example/debian12/x86_64", "/", ""), True),
        (AptSource(REPOSITORY.source_path, "https://x.example/debian12/x86_64", "/", ""), False),
        (AptSource("/etc/apt/sources.list", "https://x.example/debian13/x86_64", "/", ""), False),
        (AptSource("/etc/apt/sources.list", "https://x.example/debian12/x86_64", "stable", ""), False),
    ],
)
def test_conflicts(source, conflict):
    assert bool(find_conflicts(REPOSITORY, [source])) is conflict


def test_a_changed_file_keeps_what_stood_there():
    work = write_file("/etc/x", "new\n", found="old\n", action="pin", reason="r")
    assert work.objects == {"file:/etc/x": ("old\n", "new\n")}
    assert (work.steps[0].before, work.steps[0].after) == ("old", "new")
    assert write_file("/etc/x", "new\n", found="new\n", action="pin", reason="r").steps == ()
