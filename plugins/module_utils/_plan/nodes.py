# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which node of the cluster a host is, and what its labels have to be. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._catalog.labels import MIG_CORDON, MIG_STATE
from . import labels as rules
from .mig_nodes import is_cordoned_by_us, mig_labels
from .model import Finding, Plan, Step
from .proof import gpu_instances
from .resources import countable, predict_resources

UNKNOWN, REMOVED = "unknown", "removed"
SUCCESS = "success"
HOSTNAME_LABEL = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Host:
    """A host of the inventory.

    ``state`` is ready, not_ready (no operand may land), ignored (no GPU), planned (check mode), removed (no label of
    ours stays), or unknown (the node is left as it is). ``node`` is an explicit node name, empty for none; then
    ``names`` and ``addresses`` are tried. ``facts`` is the result of gpu_info, else empty. ``observed_at`` is when its
    GPUs were looked at last; ``relaid``: this run changes its MIG layout. ``mig_config`` and ``mig_state`` are values
    of mig-manager's labels, empty where nobody gave the host a layout.
    """

    name: str
    node: str
    names: tuple[str, ...]
    addresses: tuple[str, ...]
    state: str
    facts: Mapping[str, Any]
    observed_at: str = ""
    relaid: bool = False
    mig_config: str = ""
    mig_state: str = ""


def host_of(row: Mapping[str, Any]) -> Host:
    """The host of a module's row; what the row does not have is unknown."""
    return Host(
        name=row["name"],
        node=row["node"],
        names=tuple(row["names"]),
        addresses=tuple(row["addresses"]),
        state=row.get("state", UNKNOWN),
        facts=row.get("facts", {}),
        observed_at=row.get("observed_at") or "",
        relaid=bool(row.get("relaid")),
        mig_config=row.get("mig_config") or "",
        mig_state=row.get("mig_state") or "",
    )


@dataclass(frozen=True)
class NodeWish:
    """What a node has to show. ``changed`` is the patch of its labels, ``gpus`` are UUIDs, ``gpu_instances`` rows of
    proof.gpu_instances.

    ``operands``: whether operands may land; where not though the host is ready, ``reason`` says why. ``observed_at``
    and ``relaid`` are the host's. ``uncordon``: a MIG change that was killed has left the node cordoned.
    """

    host: str
    node: str
    labels: Mapping[str, str | None]
    changed: Mapping[str, str | None]
    resources: Mapping[str, int]
    gpus: tuple[str, ...]
    operands: bool
    reason: str
    observed_at: str = ""
    relaid: bool = False
    gpu_instances: tuple[Mapping[str, Any], ...] = ()
    uncordon: bool = False

    def patch(self) -> dict[str, Any]:
        """What the node is patched with; empty where nothing is to be done."""
        patch: dict[str, Any] = {"metadata": {"labels": dict(self.changed)}} if self.changed else {}
        if self.uncordon:
            patch.setdefault("metadata", {})["annotations"] = {MIG_CORDON: None}
            patch["spec"] = {"unschedulable": None}
        return patch


def match_node(host: Host, nodes: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The node of a host: by its explicit name, else by name, else by address. None where there is none."""
    return NodeIndex(nodes).find(host)


class NodeIndex:
    """Nodes by what a host may be found by."""

    def __init__(self, nodes: Iterable[Mapping[str, Any]]) -> None:
        seen = list(nodes)
        self.by_name = {n["metadata"]["name"]: n for n in seen}
        self.by_label = {(n["metadata"].get("labels") or {}).get(HOSTNAME_LABEL): n for n in seen}
        self.by_address = {a["address"]: n for n in seen for a in (n.get("status") or {}).get("addresses") or ()}

    def find(self, host: Host) -> Mapping[str, Any] | None:
        """The host's node, or None."""
        if host.node:
            return self.by_name.get(host.node)
        tables = ((self.by_name, host.names), (self.by_label, host.names), (self.by_address, host.addresses))
        return next((table[key] for table, keys in tables for key in keys if key in table), None)


def plan_nodes(
    hosts: Sequence[Host], nodes: Sequence[Mapping[str, Any]], *, mig_strategy: str
) -> tuple[Plan, tuple[NodeWish, ...]]:
    """One step for every node whose labels have to change. A host without a node is a warning: it may have no
    kubelet. No host at all with a node blocks: then it is another cluster, which nothing here may touch.
    """
    steps: list[Step] = []
    findings: list[Finding] = []
    wishes: list[NodeWish] = []
    index = NodeIndex(nodes)
    for host in hosts:
        node = index.find(host)
        if node is None:
            findings.append(_no_node(host, nodes))
            continue
        wish, found = _wish(host, node, mig_strategy) if host.state != UNKNOWN else (_as_it_is(host, node), ())
        wishes.append(wish)
        findings.extend(found)
        if wish.patch():
            steps.append(_step(wish, node))
    findings += _shared_nodes(wishes)
    if not wishes and any(h.state != "ignored" for h in hosts):
        findings.append(_other_cluster(hosts, nodes))
    return Plan(tuple(steps), tuple(findings)), tuple(wishes)


def _wish(host: Host, node: Mapping[str, Any], mig_strategy: str) -> tuple[NodeWish, tuple[Finding, ...]]:
    meta = node["metadata"]
    current = meta.get("labels") or {}
    known = host.state == "ready"
    predicted = rules.predict_labels(host.facts, mig_strategy=mig_strategy) if known else {}
    gpus = countable(host.facts["gpus"]) if known else []
    resources, findings = predict_resources(gpus, mig_strategy=mig_strategy, host=host.name)
    refused = "; ".join(f.sentence() for f in findings if f.severity == "error")
    deploy = rules.deploy_labels(
        current,
        present=host.state not in ("ignored", REMOVED),
        ready=host.state in ("ready", "planned") and not refused,
        mig_capable=rules.is_mig_capable(current, predicted),
        mig_done=host.mig_state == SUCCESS,
    )
    mig = mig_labels(config=host.mig_config, state=host.mig_state)
    wanted = {**(rules.gfd_labels(current, predicted) if known else {}), **deploy, **mig}
    if host.state == REMOVED:
        state = [MIG_STATE] if MIG_STATE in current else []
        wanted = {**rules.no_labels(current), **dict.fromkeys([*deploy, *state])}
    changed = rules.changed_labels(current, wanted, annotations=meta.get("annotations") or {})
    return NodeWish(
        host=host.name,
        node=meta["name"],
        labels=wanted,
        changed=changed,
        resources=resources,
        gpus=tuple(g["uuid"] for g in gpus),
        operands=known and not refused,
        reason=refused,
        observed_at=host.observed_at,
        relaid=host.relaid,
        uncordon=host.mig_state == SUCCESS and is_cordoned_by_us(node),
        gpu_instances=gpu_instances(gpus),
    ), findings


def _as_it_is(host: Host, node: Mapping[str, Any]) -> NodeWish:
    """What is not known of a host is no reason to touch its node, nor to wait for operands there."""
    return NodeWish(host.name, node["metadata"]["name"], {}, {}, {}, (), operands=False, reason="")


def _step(wish: NodeWish, node: Mapping[str, Any]) -> Step:
    current = node["metadata"].get("labels") or {}
    before = ", ".join(f"{k}={current[k]}" for k in wish.changed if k in current) or None
    after = ", ".join(f"{k}={v}" for k, v in wish.changed.items() if v is not None) or None
    reason = f"{len(wish.changed)} label(s) follow from host {wish.host}"
    if wish.uncordon:
        before, after = ", ".join(filter(None, (before, "cordoned"))), ", ".join(filter(None, (after, "schedulable")))
        reason += "; an earlier change of its MIG layout left it cordoned"
    return Step("label", f"Node {wish.node}", before, after, reason)


def _listed(nodes: Sequence[Mapping[str, Any]]) -> str:
    """What the API server has, for both findings about hosts without a node."""
    shown = ", ".join(n["metadata"]["name"] for n in nodes[:5])
    return f"{len(nodes)} nodes: {shown}{', ...' if len(nodes) > 5 else ''} (API server)"


def _no_node(host: Host, nodes: Sequence[Mapping[str, Any]]) -> Finding:
    tried = f"node {host.node}" if host.node else f"a node called or at {', '.join((*host.names, *host.addresses))}"
    return Finding(
        id="GPU-K8S-104",
        severity="warning",
        summary=f"host {host.name} is no node of the cluster",
        wanted=f"{tried} (inventory)",
        found=_listed(nodes),
        remedy=f"set gpu_fleet_node_name of {host.name}, or join the host to the cluster",
        source="gpu.fleet",
    )


def _shared_nodes(wishes: Sequence[NodeWish]) -> list[Finding]:
    """An error for each node that more than one host claims to be."""
    claims: dict[str, list[str]] = {}
    for wish in wishes:
        claims.setdefault(wish.node, []).append(wish.host)
    return [_shared(node, hosts) for node, hosts in claims.items() if len(hosts) > 1]


def _shared(node: str, hosts: Sequence[str]) -> Finding:
    return Finding(
        id="GPU-K8S-106",
        severity="error",
        summary=f"hosts {', '.join(hosts)} are one node",
        wanted="a node of its own for each host",
        found=f"node {node} for {' and '.join(hosts)} (by gpu_fleet_node_name, name or address)",
        remedy=f"set gpu_fleet_node_name of {hosts[-1]} to its own node",
        source="gpu.fleet",
    )


def _other_cluster(hosts: Sequence[Host], nodes: Sequence[Mapping[str, Any]]) -> Finding:
    return Finding(
        id="GPU-K8S-105",
        severity="error",
        summary="no host of the inventory is a node of this cluster",
        wanted=f"a node for at least one of {', '.join(h.name for h in hosts[:5])} (inventory)",
        found=_listed(nodes),
        remedy="point K8S_AUTH_KUBECONFIG at the hosts' own cluster, set gpu_fleet_node_name of the hosts, "
        "or leave the cluster out with gpu_fleet_cluster: false",
        source="gpu.fleet",
    )
