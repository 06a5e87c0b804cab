# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KWOK: as many nodes as wanted that only the API server knows, beside the lab's real ones.

    with Kwok(plane, make_nodes([KwokGroup.parse("1000:h100x8")], mig_strategy="mixed")):
        ...

Their pods become Running, GFD's log and the exporter's metrics can be read; no container runs in them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from dev.progress import step, tail
from lab.cluster import certs, kubelets
from lab.cluster.controlplane import ControlPlane, ControlPlaneFailed
from lab.cluster.kwok_nodes import KUBELET_PORT, NETWORK, KwokNode
from lab.cluster.programs import program
from lab.cluster.spawned import Spawned

STAGES = Path(__file__).resolve().parent / "kwok_files/stages.kwok"
USER = "kwok"
READY_SECONDS, CREATE_SECONDS = 120, 300
READY = '{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}'
AT_ONCE = 250  # nodes that one kubectl creates; more would only wait in its queue


class Kwok:
    """KWOK and the stand-in for its nodes' kubelets, as processes of a lab; may be used from inside and outside."""

    def __init__(self, plane: ControlPlane, nodes: Sequence[KwokNode]) -> None:
        self.plane = plane
        self.nodes = nodes
        self.folder = plane.folder / "kwok"
        self._started: dict[str, Spawned] = {}

    def start(self) -> None:
        """Returns when all nodes are Ready. Raises ControlPlaneFailed, CommandFailed."""
        program("kwok")
        self.folder.mkdir(exist_ok=True)
        with step(f"adding {len(self.nodes)} KWOK nodes"):
            self.plane.lab.run(["ip", "route", "replace", "local", NETWORK, "dev", "lo"])
            self._spawn("kubelets", self._kubelets())
            self._spawn("kwok", self._kwok())
            for number, manifest in enumerate(self._manifests()):
                self._create(number, manifest)
            self._wait_ready()

    def stop(self) -> None:
        """Takes the nodes away, with their pods, and ends what was started."""
        if self.nodes:
            names = [f"node/{node.name}" for node in self.nodes]
            self.plane.kubectl("delete", "--wait=false", "--ignore-not-found", *names, timeout=CREATE_SECONDS)
        for spawned in self._started.values():
            spawned.stop()
        self._started.clear()

    def __enter__(self) -> Kwok:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _spawn(self, name: str, command: list[str | Path]) -> None:
        self._started[name] = Spawned(self.plane.lab, command, self.plane.folder / f"{name}.log")
        self._started[name].start()

    def _kwok(self) -> list[str | Path]:
        config = self.folder / "kwok.yaml"
        broken = ", ".join(node.name for node in self.nodes if node.broken) or '""'
        config.write_text(STAGES.read_text().replace('"@broken@"', broken))
        kubeconfig = self.plane.user_kubeconfig(USER, group=certs.MASTERS)
        return [program("kwok"), f"--kubeconfig={kubeconfig}", f"--config={config}"]

    def _kubelets(self) -> list[str | Path]:
        table, pki = self.folder / "nodes.json", self.plane.paths.pki
        rows = {node.address: {"log": node.log(), "metrics": node.metrics()} for node in self.nodes}
        table.write_text(json.dumps(rows))
        pair = certs.server(certs.Pair.read(pki, "ca"), "kwok-kubelets", [node.address for node in self.nodes])
        pair.write(self.folder, "kubelets")
        keys = [self.folder / "kubelets.crt", self.folder / "kubelets.key"]
        return [sys.executable, kubelets.__file__, table, *keys, str(KUBELET_PORT), str(kubelets.METRICS_PORT)]

    def _manifests(self) -> Iterator[str]:
        for first in range(0, len(self.nodes), AT_ONCE):
            items = [node.manifest() for node in self.nodes[first : first + AT_ONCE]]
            yield json.dumps({"apiVersion": "v1", "kind": "List", "items": items})

    def _create(self, number: int, manifest: str) -> None:
        path = self.folder / f"nodes-{number}.json"
        path.write_text(manifest)
        self.plane.kubectl("create", "--filename", str(path), "--output=name", timeout=CREATE_SECONDS)

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while missing := {node.name for node in self.nodes} - self._ready():
            dead = [name for name, spawned in self._started.items() if spawned.ended()]
            if dead or time.monotonic() > deadline:
                what = f"{dead[0]} ended" if dead else f"waited {READY_SECONDS} s"
                said = tail(self.plane.folder / f"{dead[0] if dead else 'kwok'}.log")
                raise ControlPlaneFailed(f"{len(missing)} KWOK nodes are not Ready, {what}:\n{said}")
            time.sleep(1)

    def _ready(self) -> set[str]:
        rows = self.plane.kubectl("get", "nodes", f"--output=jsonpath={READY}").splitlines()
        return {row.split()[0] for row in rows if row.endswith(" True")}
