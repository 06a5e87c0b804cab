# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dnf and rpm say, and what is asked of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.along import settle
from ansible_collections.gpu.fleet.plugins.module_utils._observe.ask_dnf import ask_dnf, exact
from ansible_collections.gpu.fleet.plugins.module_utils._observe.dnf_sources import read_dnf_sources
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._observe.rpm import NoRpm, parse_rpm_packages, read_rpm_packages
from ansible_collections.gpu.fleet.plugins.module_utils._observe.texts.dnf_transaction import read_dnf_transaction
from ansible_collections.gpu.fleet.plugins.module_utils._plan.ask import Ask
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import Resolution
from ansible_collections.gpu.fleet.plugins.module_utils._plan.repository_dnf import DnfRepository

# dnf 4.14, stub packages with NVIDIA's names; a table is wider where a name is.
SWITCH = """\
Last metadata expiration check: 0:00:01 ago on Tue Dec  1 09:23:46 2026.
Dependencies resolved.
===========================================================================================
 Package                                  Arch    Version            Repository        Size
===========================================================================================
Installing:
 kmod-nvidia-580.178.04-5.14.0-687.51.1   x86_64  3:580.178.04-1.el9 gpu-fleet-cuda   5.8 k
Removing dependent packages:
 kmod-nvidia-open-dkms                    x86_64  3:595.58.03-1.el9  @gpu-fleet-cuda    0
Downgrading:
 libnvidia-ml                             x86_64  3:580.178.04-1.el9 gpu-fleet-cuda   5.5 k
 nvidia-driver-cuda                       x86_64  3:580.178.04-1.el9 gpu-fleet-cuda   5.6 k

Transaction Summary
===========================================================================================
Install    1 Package
Remove     1 Package
Downgrade  2 Packages

Total size: 33 k
Operation aborted.
"""
REMOVAL = """\
Dependencies resolved.
================================================================================
 Package                   Arch     Version             Repository         Size
================================================================================
Removing:
 kmod-nvidia-open-dkms     x86_64   3:595.58.03-1.el9   @gpu-fleet-cuda     0
 nvidia-driver-cuda        x86_64   3:595.58.03-1.el9   @gpu-fleet-cuda     0
Removing dependent packages:
 cuda-toolkit              noarch   13.0.1-1            @cuda             5.5 M
Removing unused dependencies:
 dkms                      noarch   3.0.10-1.el9        @epel             180 k
 libnvidia-ml              x86_64   3:595.58.03-1.el9   @gpu-fleet-cuda     0

Transaction Summary
================================================================================
Remove  5 Packages

Freed space: 0
Operation aborted.
"""
# The form of fmtColumns() for a name that has no room.
LONG = """\
Installing:
 kmod-nvidia-open-dkms-with-a-name-that-is-longer-than-a-terminal
                x86_64   3:595.58.03-1.el9
                                     a-repository-with-a-long-name
                                                            55 k
Upgrading:
 nvidia-driver  x86_64   3:595.58.03-1.el9   cuda   5.5 M
     replacing  xorg-x11-drv-nvidia.x86_64 3:580.95.05-1.fc42
Transaction Summary
"""


# Nothing follows a size of 0 but the blanks of the unit that it lacks.
@pytest.mark.parametrize("text", [SWITCH, SWITCH.replace("    0\n", "    0  \n")])
def test_a_switch(text):
    assert read_dnf_transaction(text) == {
        "install": {
            "kmod-nvidia-580.178.04-5.14.0-687.51.1": "3:580.178.04-1.el9",
            "libnvidia-ml": "3:580.178.04-1.el9",
            "nvidia-driver-cuda": "3:580.178.04-1.el9",
        },
        "remove": ["kmod-nvidia-open-dkms"],
        "taken": ["kmod-nvidia-open-dkms"],
    }


def test_a_removal_tells_what_needs_the_packages_from_what_was_there_for_them():
    found = read_dnf_transaction(REMOVAL)
    assert found["taken"] == ["kmod-nvidia-open-dkms", "nvidia-driver-cuda", "cuda-toolkit"]
    assert found["remove"] == [*found["taken"], "dkms", "libnvidia-ml"]
    assert found["install"] == {}


def test_long_names_and_replaced_packages():
    found = read_dnf_transaction(LONG)
    assert found["install"] == {
        "kmod-nvidia-open-dkms-with-a-name-that-is-longer-than-a-terminal": "3:595.58.03-1.el9",
        "nvidia-driver": "3:595.58.03-1.el9",
    }
    assert found["remove"] == ["xorg-x11-drv-nvidia"]


@pytest.mark.parametrize("text", ["", "Nothing to do.\nComplete!", "Installing:\n", "\x00\n Removing:\n a b c"])
def test_no_transaction(text):
    assert read_dnf_transaction(text) == {"install": {}, "remove": [], "taken": []}


RPM = (
    "nvidia-driver-cuda\t3\t595.71.05\t1.el9\tx86_64\n"
    "kernel-devel\t0\t5.14.0\t687.51.1.el9_8\tx86_64\n"
    "gpg-pubkey\t0\td42d0685\t62589a51\t(none)\n"
    "gpg-pubkey\t0\t3228467c\t613798eb\t(none)\n"
)


def test_installed_packages():
    found = parse_rpm_packages(RPM)
    assert {n: p.version for n, p in found.items()} == {
        "nvidia-driver-cuda": "3:595.71.05-1.el9",
        "kernel-devel": "5.14.0-687.51.1.el9_8",
        "gpg-pubkey-d42d0685": "d42d0685-62589a51",
        "gpg-pubkey-3228467c": "3228467c-613798eb",
    }
    assert not [p for p in found.values() if p.held or not p.installed]


@pytest.mark.parametrize(
    ("line", "held"),
    [
        ("nvidia-driver-cuda-3:595.71.05-1.el9.*", True),
        ("nvidia-driver-cuda-3:595.71.05-1.el9", True),
        ("*nvidia*595*", True),
        ("nvidia-driver-cuda", True),
        ("!nvidia-driver-cuda-3:595.71.05-1.el9.*", False),
        ("nvidia-driver-3:595.71.05-1.el9.*", False),
    ],
)
def test_what_versionlock_names_is_held(line, held):
    assert parse_rpm_packages(RPM, (line,))["nvidia-driver-cuda"].held is held


def test_versionlock_list_is_read_without_its_comments(tmp_path):
    path = tmp_path / "etc/dnf/plugins/versionlock.list"
    path.parent.mkdir(parents=True)
    path.write_text("# nvidia-driver-cuda\n\nkernel-devel-0:5*\n kernel-devel \n")
    asked = []

    def run(args):
        asked.append(list(args))
        return 0, RPM, ""

    found = read_rpm_packages(HostRoot(str(tmp_path)), run)
    assert [n for n, p in found.items() if p.held] == ["kernel-devel"]
    assert asked[0][:3] == ["rpm", "--root", str(tmp_path)]


def test_an_rpm_that_fails_is_no_empty_host():
    with pytest.raises(NoRpm, match="rpm --rebuilddb"):
        read_rpm_packages(HostRoot("/nowhere"), lambda args: (1, "", "error: db5 error"))


REPO = """\
[cuda-rhel9-x86_64]
name=cuda
baseurl=https://developer.example.com/rhel$releasever/$basearch/
enabled=1
gpgcheck=1

[off]
baseurl=http://a/
enabled=0

[two]
baseurl=http://a/ ,
    http://b/${basearch}
[mirrors]
mirrorlist=http://c/
"""


def repo_file(root, text):
    folder = root / "etc/yum.repos.d"
    folder.mkdir(parents=True)
    (folder / "x.repo").write_text(text)
    (folder / "x.repo.rpmsave").write_text(REPO)
    return read_dnf_sources(HostRoot(str(root)), release="9", machine="x86_64")


def test_sections_of_a_repo_file(tmp_path):
    found = repo_file(tmp_path, REPO)
    assert [(s.id, s.uri) for s in found] == [
        ("cuda-rhel9-x86_64", "https://developer.example.com/rhel9/x86_64"),
        ("two", "http://a"),
        ("two", "http://b/x86_64"),
        ("mirrors", ""),
    ]


@pytest.mark.parametrize("text", ["", "no section", "[a\nb", "\x00"])
def test_what_is_no_repo_file_has_no_sections(tmp_path, text):
    assert repo_file(tmp_path, text) == ()


@pytest.mark.parametrize(
    ("name", "version", "versioned", "found"),
    [
        ("nvidia-driver-cuda", "580.142", True, "nvidia-driver-cuda-580.142"),
        ("nvidia-driver-cuda", "", True, "nvidia-driver-cuda"),
        ("kernel-devel-5.14.0-1.el9", "580.142", False, "kernel-devel-5.14.0-1.el9"),
        ("kmod-nvidia-580.*-5.14.0-1", "580.142", True, "kmod-nvidia-580.142-5.14.0-1-580.142"),
        ("kmod-nvidia-580.*-5.14.0-1", "580.142", False, "kmod-nvidia-580.142-5.14.0-1"),
    ],
)
def test_names_with_the_version(name, version, versioned, found):
    assert exact(name, version, versioned=versioned) == found


class Dnf:
    """Answers as dnf did; keeps the commands and what the repository's file said."""

    def __init__(self, offered: str, said: str, status: int = 1) -> None:
        self.offered, self.said, self.status = offered, said, status
        self.asked: list[list[str]] = []
        self.files: list[str] = []

    def __call__(self, args):
        words = list(args)
        self.asked.append([w for w in words if not w.startswith("--setopt")])
        folder = next(w for w in words if w.startswith("--setopt=reposdir=")).partition("reposdir=")[2]
        with open(f"{folder}/gpu-fleet-cuda.repo", encoding="utf-8") as file:
            self.files.append(file.read())
        return (0, self.offered, "") if "repoquery" in words else (self.status, self.said, "")


REPOSITORY = DnfRepository("cuda", "http://a/", "http://a/k.pub", "A" * 40)
ASK = Ask(
    "install",
    ("nvidia-driver-cuda", "kernel-devel-5.14.0-1.el9"),
    REPOSITORY,
    pin="[x]\n",
    kernel_package="kmod-nvidia-open-dkms",
    without=("kmod-nvidia-latest-dkms",),
    manager="dnf",
    prefix="580",
    of_set=("nvidia-driver-cuda",),
)


def test_dnf_is_asked_for_the_newest_version_of_the_branch(tmp_path):
    run = Dnf("3:580.142-1.el9\n\n3:595.71.05-1.el9\n3:580.178.04-1.el9\n0:1.0-1\n", SWITCH)
    answer = ask_dnf(HostRoot(str(tmp_path)), run, ASK, fetch=lambda url: b"")
    assert answer.versions == ("3:595.71.05-1.el9", "3:580.178.04-1.el9", "3:580.142-1.el9", "1.0-1")
    assert "nvidia-driver-cuda-580.178.04" in run.asked[-1]
    assert "kernel-devel-5.14.0-1.el9" in run.asked[-1]
    assert {"--assumeno", "--allowerasing"} <= set(run.asked[-1])
    assert set(run.files) == {"[x]\n"}
    assert answer.resolution.remove == ("kmod-nvidia-open-dkms",)


LATER = Resolution({"libnvidia-ml": "3:580.142-1"}, ("gone",))
OFFERED = {"nvidia-modprobe": ["3:595.71.05-1", "3:580.142-1"], "libnvidia-ml": ["3:580.142-1"], "old": ["3:570.1.1-1"]}


def test_what_follows_by_itself_is_not_asked_for():
    asked = []

    def install(names):
        asked.append(tuple(names))
        return LATER

    along = ("libnvidia-ml", "gone", "nvidia-modprobe", "old", "nowhere")
    found = settle(replace(ASK, along=along), ("a",), install, lambda n: OFFERED.get(n, []), lambda n: f"{n}-580")
    assert found == (LATER, ("nvidia-modprobe",))
    assert asked == [("a",), ("a", "nvidia-modprobe-580")]


def test_what_cannot_come_along_is_left():
    def install(names):
        return Resolution({}, (), "no") if len(names) > 1 else LATER

    along = ("nvidia-modprobe",)
    assert settle(replace(ASK, along=along), ("a",), install, lambda n: OFFERED[n]) == (LATER, ())


@pytest.mark.parametrize(("offered", "asked"), [("5.14.0-1.el9\n", True), ("", False)])
def test_what_is_welcome_is_asked_for_where_it_is_on_offer(tmp_path, offered, asked):
    run = Dnf(f"0:{offered}" if offered else "", SWITCH)
    ask_dnf(HostRoot(str(tmp_path)), run, replace(ASK, welcome=("kernel-devel-matched",)), fetch=lambda url: b"")
    assert ("kernel-devel-matched" in run.asked[-1]) is asked


def test_what_dnf_refuses_is_an_error_with_its_words(tmp_path):
    run = Dnf("", "No match for argument: nope\nError: Unable to find a match: nope\n")
    answer = ask_dnf(HostRoot(str(tmp_path)), run, ASK, fetch=lambda url: b"")
    assert "Unable to find a match: nope" in answer.resolution.error
    assert answer.resolution.failure["error"] == "package_not_found"
    assert (answer.versions, answer.resolution.install) == ((), {})
