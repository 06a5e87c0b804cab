# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of KWOK from a short text."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._plan import proof
from dev import machine
from lab.cluster import kwok
from lab.cluster.kwok_nodes import KwokGroup, make_nodes

MODULE = Path(__file__).parents[3] / "plugins/modules/gpu_info.py"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1000:h100x8", KwokGroup(1000, "h100x8")),
        ("2:a100x2,mig=all-1g.5gb,wrong=1", KwokGroup(2, "a100x2", mig="all-1g.5gb", wrong=1)),
        ("3:t4x1,driver=570.172.08,broken=2", KwokGroup(3, "t4x1", driver="570.172.08", broken=2)),
    ],
)
def test_a_group_is_read_from_its_text(text: str, wanted: KwokGroup) -> None:
    assert KwokGroup.parse(text) == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("h100x8", "is not COUNT:PROFILE"),
        ("1:h100x8,", "is not COUNT:PROFILE"),
        ("1:h900x8", "GPU profile 'h900x8' is not known"),
        ("1:h100x8,colour=red", "no option colour"),
        ("1:h100x8,wrong=some", "wrong=some is no number"),
        ("1:t4x1,mig=all-balanced", "Tesla T4 has no MIG layout, not 'all-balanced'"),
        ("1:h100x8,mig=all-1g.5gb", "has all-1g.10gb, .*all-balanced, not 'all-1g.5gb'"),
    ],
)
def test_another_text_is_refused_with_what_is_wanted(text: str, said: str) -> None:
    with pytest.raises(machine.Unfit, match=f"--kwok {text!r}.*{said}"):
        KwokGroup.parse(text)


@pytest.mark.parametrize(
    ("text", "strategy", "wanted"),
    [
        ("1:h100x8", "mixed", {"nvidia.com/gpu": 8}),
        ("1:none", "mixed", {}),
        ("1:t4-a100", "single", {"nvidia.com/gpu": 2}),
        ("1:a100x2,mig=all-1g.5gb", "single", {"nvidia.com/gpu": 14}),
        ("1:a100x2,mig=all-1g.5gb", "mixed", {"nvidia.com/mig-1g.5gb": 14}),
        (
            "1:a100x2,mig=all-balanced",
            "mixed",
            {"nvidia.com/mig-1g.5gb": 4, "nvidia.com/mig-2g.10gb": 2, "nvidia.com/mig-3g.20gb": 2},
        ),
        ("1:A30x2,mig=all-balanced", "mixed", {"nvidia.com/mig-1g.6gb": 4, "nvidia.com/mig-2g.12gb": 2}),
        ("1:h100x1,mig=all-1g.10gb.me", "mixed", {"nvidia.com/mig-1g.10gb.me": 1}),
    ],
)
def test_a_node_allocates_what_its_gpus_are(text: str, strategy: str, wanted: dict[str, int]) -> None:
    (node,) = make_nodes([KwokGroup.parse(text)], mig_strategy=strategy)
    allocatable = node.manifest()["status"]["allocatable"]
    assert {k: int(v) for k, v in allocatable.items() if k.startswith("nvidia.com/")} == wanted == node.resources


def test_the_last_nodes_of_a_group_are_wrong_or_broken_where_that_is_asked() -> None:
    nodes = make_nodes([KwokGroup.parse("4:h100x8,wrong=2,broken=1")], mig_strategy="mixed")
    assert [node.allocatable["nvidia.com/gpu"] for node in nodes] == [8, 8, 7, 7]
    assert [node.broken for node in nodes] == [False, False, False, True]


def test_names_addresses_and_gpus_of_all_groups_differ() -> None:
    nodes = make_nodes([KwokGroup.parse(text) for text in ("300:h100x2", "10:h100x2,mig=all-1g.10gb")], mig_strategy="")
    uuids = [gpu["uuid"] for node in nodes for gpu in node.facts["gpus"]]
    assert len({node.name for node in nodes}) == len({node.address for node in nodes}) == 310
    assert len(set(uuids)) == 620
    assert Counter(node.name.rpartition("-")[0] for node in nodes) == {"kwok-h100x2": 310}


def test_facts_have_no_keys_that_gpu_info_has_not() -> None:
    text = MODULE.read_text()
    documented = yaml.safe_load(re.search(r'RETURN = r"""(.*?)"""', text, re.S)[1])  # type: ignore[index]
    (node,) = make_nodes([KwokGroup.parse("1:h100x1,mig=all-1g.10gb")], mig_strategy="mixed")
    assert node.facts.keys() <= documented.keys()
    gpu = documented["gpus"]
    assert node.facts["gpus"][0].keys() <= gpu["contains"].keys() | gpu["sample"][0].keys()
    assert node.facts["driver"].keys() <= documented["driver"]["sample"].keys()


def test_log_and_metrics_show_the_nodes_own_gpus() -> None:
    one, two = make_nodes([KwokGroup.parse("2:h100x2")], mig_strategy="mixed")
    assert "nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3\n" in one.log()
    assert all(gpu["uuid"] in one.metrics() and gpu["uuid"] not in two.metrics() for gpu in one.facts["gpus"])


@pytest.mark.parametrize("text", ["1:h100x2", "1:a100x2,mig=all-balanced"])
def test_the_metrics_prove_the_nodes_gpus_and_instances(text: str) -> None:
    (node,) = make_nodes([KwokGroup.parse(text)], mig_strategy="mixed")
    gpus = node.facts["gpus"]
    assert not proof.prove_series(node.metrics(), [gpu["uuid"] for gpu in gpus], proof.gpu_instances(gpus))


def test_stages_are_documents_that_kwok_knows() -> None:
    text = kwok.STAGES.read_text().replace('"@broken@"', "kwok-h100x8-0001")
    documents = list(yaml.safe_load_all(text))
    assert [d["kind"] for d in documents] == ["KwokConfiguration", *["Stage"] * (len(documents) - 1)]
    assert json.dumps(documents).count('["kwok-h100x8-0001"]') == 2
