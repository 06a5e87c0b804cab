# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster's part of gpu.fleet.site for hosts of which only the facts are there, and what it asks of the API server.

The playbook is `../scale/cluster.yml`. Nothing runs on the hosts, so there may be thousands of them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import access, peak, proving
from .cluster import audit, certs
from .cluster.controlplane import ControlPlane
from .lab import Lab

PLAYBOOK = Path(__file__).resolve().parents[1] / "scale/cluster.yml"
USER = "cluster-pass"
HOST_ROLES = ("prereq", "driver", "mig", "toolkit", "validation")
READY = {"state": "ready", "reason": "", "plan": [], "findings": [], "reboot_required": False, "version": ""}
NAMESPACE = "gpu-fleet"
OURS = "app.kubernetes.io/managed-by=gpu.fleet"
KINDS = "namespaces,runtimeclasses,serviceaccounts,configmaps,services,daemonsets"


@dataclass(frozen=True)
class Pass:
    """One pass: what it said, its requests in their order, and the most memory of one of its processes."""

    run: proving.Run
    requests: Sequence[audit.Request]
    peak_mib: int

    @property
    def lists(self) -> int:
        """List calls, refused ones too."""
        return sum(request.verb == "list" for request in self.requests)

    @property
    def writes(self) -> list[audit.Request]:
        """What it changed."""
        return audit.writes(self.requests)

    @property
    def node_patches(self) -> Counter[str]:
        """How often each node was patched."""
        return audit.objects(self.requests, "patch", "nodes")

    def not_ready(self) -> dict[str, list[str]]:
        """Host -> reasons of states that are neither ready nor disabled."""
        found: dict[str, list[str]] = {}
        for row in self.run.report.get("states", []):
            if row["value"] not in ("ready", "disabled"):
                found.setdefault(row["host"], []).append(row["reason"])
        return found


def run(
    lab: Lab,
    facts: Mapping[str, Mapping[str, Any]],
    *arguments: str,
    kubeconfig: Path | None = None,
    user: str = USER,
    variables: Mapping[str, object] | None = None,
) -> Pass:
    """One pass over the hosts of `facts` (host -> result of gpu_info); `kubeconfig` is that of `user`."""
    plane = proving.plane_of(lab)
    config = kubeconfig or plane.user_kubeconfig(user, group=certs.MASTERS)
    inventory = _inventory(lab, facts, variables or {})
    since = audit.position(plane.audit_log)
    measured = lab.folder / "peak"
    run = proving.play(
        lab,
        str(PLAYBOOK),
        f"--inventory={inventory}",
        *arguments,
        env={"KUBECONFIG": str(config), "K8S_AUTH_KUBECONFIG": str(config)},
        through=[sys.executable, peak.__file__, str(measured)],
    )
    made = [request for request in audit.requests(plane.audit_log, since) if request.user == user]
    return Pass(run, made, int(measured.read_text()) // 1024)


def real_facts(lab: Lab) -> dict[str, dict[str, Any]]:
    """What gpu_info says of the lab's own hosts."""
    folder = lab.folder / "gpu-info"
    lab.run(["ansible", access.GROUP, "-m", "gpu.fleet.gpu_info", f"--tree={folder}"], env=lab.ansible_env())
    return {path.name: json.loads(path.read_text())["ansible_facts"]["gpu_fleet"] for path in folder.iterdir()}


def end_state(plane: ControlPlane) -> dict[str, Any]:
    """What a pass is for: labels of all nodes, and our objects without what the API server adds."""
    nodes = json.loads(plane.kubectl("get", "nodes", "--output=json"))["items"]
    objects = json.loads(plane.kubectl("get", KINDS, "--all-namespaces", f"--selector={OURS}", "--output=json"))
    return {
        **{f"Node {node['metadata']['name']}": node["metadata"]["labels"] for node in nodes},
        **{f"{o['kind']} {o['metadata']['name']}": _content(o) for o in objects["items"]},
    }


def undo(plane: ControlPlane) -> None:
    """Takes away what a pass brings: our labels of all nodes, and our objects."""
    nodes = json.loads(plane.kubectl("get", "nodes", "--output=json"))["items"]
    keys = sorted({key for node in nodes for key in node["metadata"]["labels"] if key.startswith("nvidia.com/")})
    if keys:
        plane.kubectl("label", "nodes", "--all", *(f"{key}-" for key in keys), timeout=600)
    plane.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", timeout=600)
    plane.kubectl("delete", "runtimeclasses", f"--selector={OURS}", timeout=60)


def _content(found: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: found["metadata"].get(key) for key in ("labels", "annotations")}
    added = ("clusterIP", "clusterIPs")  # drawn anew for each Service
    spec = {key: value for key, value in (found.get("spec") or {}).items() if key not in added}
    return {"metadata": metadata, "spec": spec, **{key: found[key] for key in ("data", "handler") if key in found}}


def _inventory(lab: Lab, facts: Mapping[str, Mapping[str, Any]], variables: Mapping[str, object]) -> Path:
    folder = lab.folder / "cluster-pass"
    folder.mkdir(exist_ok=True)
    for host, known in facts.items():
        (folder / f"{host}.json").write_text(json.dumps({"gpu_fleet": known, "hostname": host}))
    common = {
        **proving.COMMON,
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "gpu_fleet_report_path": str(proving.report_path(lab)),
        "gpu_fleet_results": dict.fromkeys(HOST_ROLES, READY),
        "gpu_fleet_variables_wrong": False,
        "recorded_facts": str(folder),
        **variables,
    }
    path = lab.folder / "cluster-pass.json"
    hosts: dict[str, dict[str, object]] = {host: {} for host in facts}
    path.write_text(json.dumps({access.GROUP: {"hosts": hosts, "vars": common}}))
    return path
