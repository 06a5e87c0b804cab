# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flavour rule by GPU, branch and option."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._catalog import branches, gpus
from ansible_collections.gpu.fleet.plugins.module_utils._plan.facts import PciFunction
from ansible_collections.gpu.fleet.plugins.module_utils._plan.flavour import decide_flavour, gpus_of


def gpu(device: str, *, number: int = 1, pci_class: str = "0302") -> PciFunction:
    return PciFunction(f"0000:{number:02x}:00.0", "10de", device, "", pci_class, None)


H100, A100, T4, V100, P100, B200, GH200, K80 = "2330", "20b0", "1eb8", "1db1", "15f8", "2901", "2342", "102d"


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
