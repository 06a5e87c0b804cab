# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook runs of which everything is seen: what they say, change on hosts, write to the cluster and run on hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import file_tree, proving
from .cluster import audit
from .file_tree import Tree
from .host import Host
from .lab import Lab
from .proving import Run

USER = "gpu-fleet-test"  # its own user, so that its requests are told apart from those of Kubernetes itself


@dataclass(frozen=True)
class Watched:
    """One run. By host: file trees before and after, and remote module runs. `writes`: its requests that changed."""

    run: Run
    before: Mapping[str, Tree]
    after: Mapping[str, Tree]
    writes: Sequence[audit.Request]
    module_runs: Mapping[str, int]

    def changes(self) -> dict[str, list[str]]:
        """What the run changed in the files of each host."""
        return {name: file_tree.differences(self.before[name], self.after[name]) for name in self.before}

    def not_ready(self) -> list[str]:
        """What the report says of states that are neither ready nor disabled."""
        return not_ready(self.run)

    def steps(self) -> Counter[tuple[str, str, str, str]]:
        """(host, role, action, target) of each step in the report."""
        return steps(self.run)


@dataclass(frozen=True)
class Calm:
    """A host without a cluster that one site has brought from bare to ready, and its files before and after."""

    host: Host
    bare: Tree
    ready: Tree
    run: proving.Run
    spec: str = "bookworm:a100x1"
    variables: str = "gpu_fleet_cluster=false mig_selected_config=all-balanced"


def watch(lab: Lab, playbook: str, *arguments: str, env: Mapping[str, str] | None = None) -> Watched:
    """Runs a playbook as proving.play, under a user of its own in the cluster."""
    hosts, plane = lab.hosts, proving.plane_of(lab)
    kubeconfig = str(plane.user_kubeconfig(USER, group="system:masters"))
    before = {host.name: file_tree.snapshot(host) for host in hosts}
    since = audit.position(plane.audit_log)
    proving.reset_counts(hosts)
    settings = {"KUBECONFIG": kubeconfig, "K8S_AUTH_KUBECONFIG": kubeconfig, **(env or {})}
    run = proving.play(lab, playbook, *arguments, env=settings)
    counts = proving.counts(hosts)
    made = [request for request in audit.requests(plane.audit_log, since) if request.user == USER]
    after = {host.name: file_tree.snapshot(host) for host in hosts}
    return Watched(run, before, after, audit.writes(made), counts)


def steps(run: Run) -> Counter[tuple[str, str, str, str]]:
    """(host, role, action, target) of each step in a run's report."""
    rows = run.report.get("plan", [])
    return Counter((row["host"], row["role"], row["action"], row["target"]) for row in rows)


def not_ready(run: Run) -> list[str]:
    """As Watched.not_ready."""
    rows = [row for row in run.report["states"] if row["value"] not in ("ready", "disabled")]
    return [f"{row['host']}: {row['state']} is {row['value']}: {row['reason']}" for row in rows]
