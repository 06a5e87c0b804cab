# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev scale`: the cluster's part of site over two real nodes and a thousand of KWOK, under faults too."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from lab import cluster_pass, proving
from lab.cluster import audit, certs
from lab.cluster.fault_proxy import FaultProxy
from lab.cluster.faults import Fault
from lab.cluster.kwok import Kwok
from lab.cluster.kwok_nodes import KwokGroup, make_nodes
from lab.cluster_pass import Pass
from lab.fleet import bring_up
from lab.lab import Lab

from . import progress
from .tally import Tally

GROUPS = ("900:h100x8", "60:a100x2,mig=all-balanced", "40:t4x1")
# One request in thirty meets a fault, all kinds of them; and at the start the API server is not there at all.
FAULTS = (
    "unavailable:count=3",
    "gone:verb=patch,count=2",
    "lost:verb=patch,resource=nodes,skip=5,count=2",
    "cut:verb=list,resource=nodes,count=1",
    "conflict:verb=patch,resource=nodes,skip=10,count=2",
    "throttle:probability=0.01,seconds=1",
    "error:probability=0.01",
    "gone:probability=0.005",
    "slow:probability=0.01,seconds=0.5",
)
SEED = 7
USER = "faulty"
PEAK_MIB = 500
Facts = Mapping[str, Mapping[str, Any]]


def run(options: argparse.Namespace) -> int:
    return check(options.kwok or GROUPS, options.fault or FAULTS).report()


def check(groups: Sequence[str] = GROUPS, faults: Sequence[str] = FAULTS) -> Tally:
    """Counts can fail; times are only printed, since they depend on the machine."""
    parsed = [KwokGroup.parse(text) for text in groups]
    spoilers = [Fault.parse(text) for text in faults]
    tally = Tally()
    with Lab.start() as lab:
        bring_up(lab, proving.SPECS, cluster=True)
        proving.write_variables(lab)
        with progress.step("bringing the real hosts to ready"):
            _succeeded(proving.play(lab, "gpu.fleet.site"))
        real = cluster_pass.real_facts(lab)
        few = _pass(lab, tally, "nothing to do, 2 nodes", real)
        nodes = make_nodes(parsed, mig_strategy=str(proving.COMMON["gpu_fleet_mig_strategy"]))
        with Kwok(proving.plane_of(lab), nodes):
            _many(lab, tally, {**real, **{node.name: node.facts for node in nodes}}, few, spoilers)
    return tally


def _many(lab: Lab, tally: Tally, facts: Facts, few: Pass, faults: Sequence[Fault]) -> None:
    plane = proving.plane_of(lab)
    size = f"{len(facts)} nodes"
    first = _pass(lab, tally, f"first pass, {size}", facts)
    _hold(tally, "every node is patched at most once", max(first.node_patches.values()) == 1)
    second = _pass(lab, tally, f"nothing to do, {size}", facts)
    _hold(tally, f"nothing is written where nothing changed ({len(second.writes)} writes)", not second.writes)
    told = f"as many list calls for {size} as for 2 ({second.lists} and {few.lists})"
    _hold(tally, told, second.lists == few.lists)
    wanted = cluster_pass.end_state(plane)
    with progress.step("taking labels and operands away"):
        cluster_pass.undo(plane)
    with FaultProxy(plane, faults, seed=SEED) as proxy:
        config = proxy.kubeconfig(USER, group=certs.MASTERS)
        _pass(lab, tally, f"first pass, {size}, an API server with faults", facts, kubeconfig=config, user=USER)
        spoilt = proxy.spoilt()
    kinds = sorted({kind for kind, _verb, _resource in spoilt})
    _hold(tally, f"faults were met: {spoilt.total()} of {', '.join(kinds)}", bool(kinds))
    found = cluster_pass.end_state(plane)
    different = sorted(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))
    _hold(
        tally,
        f"the end state under faults is the same (different: {', '.join(different[:5]) or 'nothing'})",
        not different,
    )


def _pass(lab: Lab, tally: Tally, title: str, facts: Facts, **more: Any) -> Pass:
    with progress.step(title):
        found = cluster_pass.run(lab, facts, **more)
    print(f"           {audit.said(found.requests)}; peak {found.peak_mib} MiB", flush=True)
    bad = found.not_ready()
    _hold(
        tally,
        f"{title}: all are ready",
        found.run.status == 0 and not bad,
        found.run.end() if found.run.status else bad,
    )
    _hold(tally, f"{title}: peak of {found.peak_mib} MiB, budget {PEAK_MIB}", found.peak_mib < PEAK_MIB)
    return found


def _hold(tally: Tally, claim: str, holds: bool, found: object = "") -> None:
    progress.say(f"{'holds' if holds else 'FAILS'}: {claim}")
    if holds:
        tally.passed += 1
    else:
        print(found, flush=True)
        tally.failures.append(f"scale: {claim}")


def _succeeded(run: proving.Run) -> None:
    if run.status != 0:
        raise progress.CommandFailed(f"gpu.fleet.site failed: {run.end()}")
