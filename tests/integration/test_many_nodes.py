# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster's part of site over a hundred KWOK nodes beside the real ones; `./dev scale` takes a thousand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from lab import claims, cluster_pass, proving
from lab.cluster.controlplane import ControlPlane
from lab.cluster.kwok import Kwok
from lab.cluster.kwok_nodes import KwokGroup, KwokNode, make_nodes
from lab.cluster_pass import Pass
from lab.lab import Lab
from lab.watched import Watched

GROUPS = ("90:h100x8", "9:a100x2,mig=all-balanced", "1:t4x1,wrong=1")
WRONG = "kwok-t4x1-0001"
WAIT = {"device_plugin_timeout": 60}  # one of them never gets ready


@pytest.fixture(scope="module")
def nodes(plane: ControlPlane, repeated: Watched) -> Iterator[Sequence[KwokNode]]:
    groups = [KwokGroup.parse(text) for text in GROUPS]
    made = make_nodes(groups, mig_strategy=str(proving.COMMON["gpu_fleet_mig_strategy"]))
    with Kwok(plane, made):
        yield made


@pytest.fixture(scope="module")
def first(lab: Lab, nodes: Sequence[KwokNode]) -> Pass:
    return cluster_pass.run(lab, {node.name: node.facts for node in nodes}, variables=WAIT)


@pytest.fixture(scope="module")
def second(lab: Lab, nodes: Sequence[KwokNode], first: Pass) -> Pass:
    """With nothing to do, over those that get ready."""
    facts = {node.name: node.facts for node in nodes if node.name != WRONG}
    return cluster_pass.run(lab, facts, variables=WAIT)


def test_only_the_node_that_is_wrong_is_not_ready_and_says_why(first: Pass) -> None:
    assert first.not_ready() == {WRONG: ["allocatable nvidia.com/gpu is 0, predicted 1"]}, first.run.end()


def test_only_its_host_fails(first: Pass) -> None:
    failed = {host for host, row in first.run.recap.items() if row["failed"]}
    assert failed == {WRONG}


def test_every_node_is_patched_once(first: Pass, nodes: Sequence[KwokNode]) -> None:
    assert first.node_patches == {node.name: 1 for node in nodes}


def test_nothing_else_is_written_as_the_operands_are_there(first: Pass) -> None:
    assert {(r.verb, r.resource) for r in first.writes} == {("patch", "nodes")}


def test_a_pass_with_nothing_to_do_writes_nothing(second: Pass) -> None:
    assert second.writes == []


def test_list_calls_do_not_grow_with_the_nodes(second: Pass) -> None:
    """Six kinds for each of four states, nodes twice for labels, and three lists for each of three operands."""
    assert second.lists <= 40


def test_real_nodes_keep_what_they_have(plane: ControlPlane, first: Pass) -> None:
    found = {name: claims.allocatable(plane, name) for name in proving.RESOURCES}
    assert found == proving.RESOURCES
