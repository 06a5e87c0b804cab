# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flavour rule by GPU, branch and option."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog import branches, fabrics, gpus
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import Kernel, PciFunction
from ansible_collections.gpu.fleet.plugins.module_utils._plan.flavour import decide_flavour, gpus_of
from ansible_collections.gpu.fleet.plugins.module_utils._plan.release_findings import find_build_limits, find_too_early


def gpu(device: str, *, number: int = 1, pci_class: str = "0302") -> PciFunction:
    return PciFunction(f"0000:{number:02x}:00.0", "10de", device, "", pci_class, None)


H100, A100, T4, V100, P100, B200, GH200, K80 = "2330", "20b0", "1eb8", "1db1", "15f8", "2901", "2342", "102d"
B300, L4, UNLISTED_BLACKWELL = "3182", "27b8", "2bff"


@pytest.mark.parametrize(
    ("devices", "branch", "wanted", "flavour", "findings"),
    [
        ([H100], 595, "auto", "open", []),
        ([A100], 580, "auto", "open", []),
        ([T4], 570, "auto", "open", []),
        ([T4], 550, "auto", "proprietary", []),
        ([T4], 595, "proprietary", "proprietary", []),
        ([V100], 580, "auto", "proprietary", []),
        ([P100], 570, "auto", "proprietary", []),
        ([V100], 595, "auto", None, ["GPU-KRN-024"]),
        ([V100], 580, "open", None, ["GPU-KRN-024"]),
        ([K80], 570, "auto", None, ["GPU-KRN-024"]),
        ([B200], 595, "auto", "open", []),
        ([B200], 595, "proprietary", None, ["GPU-KRN-024"]),
        ([GH200], 580, "auto", "open", []),
        ([GH200], 580, "proprietary", None, ["GPU-KRN-024"]),
        ([T4, H100], 595, "auto", "open", []),
        ([V100, T4], 580, "auto", "proprietary", []),
        ([V100, B200], 580, "auto", None, ["GPU-KRN-102"]),
        (["4000"], 595, "auto", None, ["GPU-KRN-101"]),
        (["4000"], 595, "open", "open", ["GPU-KRN-101"]),
        ([T4], 620, "proprietary", None, ["GPU-KRN-103"]),
        ([T4], 615, "proprietary", "proprietary", ["GPU-KRN-103"]),
        ([T4], 620, "auto", "open", []),
        ([V100], 620, "auto", None, ["GPU-KRN-024"]),
        ([A100], 470, "auto", "proprietary", []),
        ([A100], 470, "open", None, ["GPU-KRN-103"]),
        ([B200], 550, "auto", None, ["GPU-KRN-024"]),
        ([B200], 570, "auto", "open", []),
        ([B300], 570, "open", None, ["GPU-KRN-024"]),
        ([B300], 580, "auto", "open", []),
        ([H100], 470, "auto", None, ["GPU-KRN-024"]),
        ([L4, B200], 515, "proprietary", None, ["GPU-KRN-024"]),
        ([UNLISTED_BLACKWELL], 565, "open", None, ["GPU-KRN-024"]),
    ],
)
def test_flavour(devices, branch, wanted, flavour, findings):
    found = [gpu(d, number=n) for n, d in enumerate(devices, 1)]
    decided = decide_flavour(found, branch=branches.branch_of(branch), wanted=wanted)
    assert decided.name == flavour
    assert sorted({f.id for f in decided.findings}) == sorted(set(findings))


def test_a_gpu_that_is_too_old_names_the_last_branch():
    decided = decide_flavour([gpu(V100)], branch=branches.branch_of(595))
    assert decided.findings[0].remedy == "set driver_branch to '580' for this host"
    assert "Tesla V100 SXM2 16GB (10de:1db1) at 0000:01:00.0" in decided.findings[0].summary


def test_a_gpu_that_is_too_new_names_the_first_branch():
    decided = decide_flavour([gpu(B300)], branch=branches.branch_of(570))
    assert decided.findings[0].remedy == "set driver_branch to '580' or a later one for this host"
    assert "older than B300 SXM6 AC (10de:3182) at 0000:01:00.0" in decided.findings[0].summary


def test_only_display_functions_of_nvidia_are_gpus():
    functions = [
        gpu(H100),
        gpu("22a3", number=2, pci_class="0680"),
        gpu("22ba", number=3, pci_class="0403"),
        PciFunction("0000:04:00.0", "1a03", "2000", "", "0300", "ast"),
        gpu("1e07", number=5, pci_class="0300"),
    ]
    assert [g.address for g in gpus_of(functions)] == ["0000:01:00.0", "0000:05:00.0"]


@pytest.mark.parametrize("board", gpus.BOARDS, ids=lambda b: f"{b.device:04x}")
def test_every_board_lies_in_a_range_of_its_architecture(board):
    row = gpus.range_of(board.device)
    assert row is not None
    assert row.architecture == board.architecture
    assert board.source
    assert board.as_of


@pytest.mark.parametrize("row", gpus.RANGES, ids=lambda r: f"{r.first:04x}")
def test_every_range_has_its_architecture(row):
    architecture = gpus.architecture_of(row.architecture)
    assert row.last_branch == architecture.last_branch
    assert architecture.guest in ("open", "proprietary", "both")
    assert architecture.source
    assert architecture.as_of


@pytest.mark.parametrize("board", [b for b in gpus.BOARDS if b.since], ids=lambda b: f"{b.device:04x}")
def test_releases_of_a_board_rise_and_begin_with_its_architecture(board):
    numbers = [int(release.partition(".")[0]) for release in board.since]
    assert numbers == sorted(set(numbers))
    # The open modules know boards of Ampere since 515; the first releases of that architecture are older.
    assert numbers[0] >= min(gpus.architecture_of(board.architecture).first_branch, 515)
    assert all("." in release for release in board.since[:-1]), "only the last one may be a whole branch"
    assert gpus.first_branch(board.device) <= numbers[0]


# Board, branch -> the release from which on it is driven, '' for all of them.
FIRST_RELEASES = {
    ("2330", 525): "525.85.05",
    ("2330", 535): "",
    ("2941", 570): "570.124.04",
    ("2941", 575): "",
    ("3182", 580): "580.82.07",
    ("3182", 595): "",
    ("1eb8", 580): "",
    ("1db1", 580): "",
    ("4000", 580): "",
}


@pytest.mark.parametrize(("asked", "release"), FIRST_RELEASES.items(), ids=str)
def test_first_release(asked, release):
    assert gpus.first_release(int(asked[0], 16), asked[1]) == release


# Board -> the first branch that drives it.
FIRST_BRANCHES = {"2330": 525, "2901": 570, "3182": 580, "20f3": 450, "1eb8": 410, "1db1": 384, "4000": None}


@pytest.mark.parametrize(("device", "branch"), FIRST_BRANCHES.items())
def test_first_branch(device, branch):
    assert gpus.first_branch(int(device, 16)) == branch


# Version, GPUs -> the release that is named instead.
TOO_EARLY = {
    ("580.65.06", B300): "580.82.07",
    ("580.82.07", B300): None,
    ("595.45.04", B300): None,
    ("570.86.15", "2941"): "570.124.04",
    ("525.60.13", H100): "525.85.05",
    ("525.85.05-1", H100): None,
    ("580.65.06", H100): None,
    ("580.65.06", "4000"): None,
}


@pytest.mark.parametrize(("asked", "release"), TOO_EARLY.items(), ids=str)
def test_a_release_before_the_gpu(asked, release):
    version, device = asked
    found = find_too_early(version, [gpu(device)])
    assert [f.wanted for f in found] == ([f"{release} or later of branch {release[:3]}"] if release else [])
    assert all((f.id, f.severity) == ("GPU-KRN-104", "error") for f in found)


# Packages that are about to come, kernel -> those that do not compile.
LIMITS = {
    ("nvidia-fs-dkms=2.26.6-1", "7.0.0-14-generic"): ["nvidia-fs-dkms 2.26.6"],
    ("nvidia-fs-dkms=2.28.4-1", "7.0.0-14-generic"): [],
    ("nvidia-fs-dkms=2.26.6-1", "6.8.0-149-generic"): [],
    ("gdrdrv-dkms=2.5.1-1", "6.17.0-1012-aws"): ["gdrdrv-dkms 2.5.1"],
    ("gdrcopy-kmod=2.5.1-1dkms.el10", "6.12.0-211.61.1.el10_2.x86_64"): [],
    ("nvidia-driver-cuda=595.71.05-1", "7.0.0-14-generic"): [],
}


@pytest.mark.parametrize(("asked", "found"), LIMITS.items(), ids=str)
def test_modules_that_do_not_compile_on_a_newer_kernel(asked, found):
    package, release = asked
    name, _equals, version = package.partition("=")
    rows = find_build_limits({name: version}, Kernel(release, "x86_64", headers=True, secure_boot=None))
    assert [f.summary.partition(" does")[0] for f in rows] == found
    assert all((f.id, f.severity) == ("GPU-PKG-141", "error") for f in rows)


FABRICS = {"2330": "nvswitch", "20b2": "nvswitch", "2901": "nvlink5", "3182": "nvlink5", "2941": "rack", "31c2": "rack"}


@pytest.mark.parametrize("board", gpus.BOARDS, ids=lambda b: f"{b.device:04x}")
def test_the_fabric_of_a_board_has_a_row(board):
    wanted = FABRICS.get(f"{board.device:04x}", board.fabric)
    assert board.fabric == wanted
    assert not board.fabric or fabrics.fabric_of(board.fabric) is not None


def test_what_fabrics_need():
    needs = {f.name: (f.fabric_manager, f.nvlsm, f.imex, "ib_umad" in f.modules) for f in fabrics.FABRICS}
    assert needs == {
        "nvswitch": (True, False, False, False),
        "nvlink5": (True, True, False, True),
        "rack": (False, False, True, False),
    }
    assert all(f.source and f.as_of and f.systems for f in fabrics.FABRICS)
    assert [(s.device, s.generation) for s in fabrics.SWITCHES] == [(0x1AC2, 1), (0x1AF1, 2), (0x22A3, 3)]
    assert fabrics.switch_of(0x22A3).generation == 3
    assert fabrics.switch_of(0x2330) is None


def test_boards_and_ranges_are_well_formed():
    assert len({b.device for b in gpus.BOARDS}) == len(gpus.BOARDS)
    assert all(r.first <= r.last and r.source and r.as_of for r in gpus.RANGES)


@pytest.mark.parametrize(
    ("device", "name", "mig"),
    [
        ("20b0", "A100 SXM4 40GB", True),
        ("20b2", "A100 SXM4 80GB", True),
        ("20b7", "A30", True),
        ("2330", "H100 SXM5 80GB", True),
        ("2335", "H200 SXM 141GB", True),
        ("2901", "B200", True),
        ("1eb8", "Tesla T4", False),
        ("27b8", "L4", False),
        ("26b9", "L40S", False),
        ("1db1", "Tesla V100 SXM2 16GB", False),
        ("15f8", "Tesla P100 PCIe 16GB", False),
    ],
)
def test_boards(device, name, mig):
    board = gpus.board_of(int(device, 16))
    assert (board.name, board.mig) == (name, mig)
