# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet of demo and integration tests: two hosts that differ in all they can, and the runs of gpu.fleet on it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dev import progress

from . import access, module_runs
from .cluster.controlplane import ControlPlane
from .fleet import DEFAULT_HOSTS, HostSpec
from .host import Host
from .lab import Lab

SPECS = tuple(HostSpec.parse(text) for text in DEFAULT_HOSTS)
COMMON = {"gpu_fleet_mig_strategy": "mixed"}
OWN = {"gpu2": {"mig_selected_config": "all-balanced"}}
# What 2 whole H100 are, and 2 A100-40 in the balanced layout (mig-parted's all-balanced: 2x1g + 2g + 3g on each).
RESOURCES = {
    "gpu1": {"nvidia.com/gpu": 2},
    "gpu2": {"nvidia.com/mig-1g.5gb": 4, "nvidia.com/mig-2g.10gb": 2, "nvidia.com/mig-3g.20gb": 2},
}
# On each node, what a pod asks for, and the device nodes of a GPU that it must see then.
ASKED = {"gpu1": "nvidia.com/gpu", "gpu2": "nvidia.com/mig-1g.5gb"}
PLAYBOOK_SECONDS = 1500
_RECAP = re.compile(
    r"^(?P<host>\S+)\s+: ok=(?P<ok>\d+)\s+changed=(?P<changed>\d+)"
    r"\s+unreachable=(?P<unreachable>\d+)\s+failed=(?P<failed>\d+)",
    re.M,
)


@dataclass(frozen=True)
class Run:
    """What one playbook run said: exit status, its whole text, numbers of the recap by host, and the report."""

    status: int
    text: str
    recap: dict[str, dict[str, int]]
    report: dict[str, Any]

    def end(self, lines: int = 40) -> str:
        """The last lines of what it said, for messages of failures."""
        return "\n".join([f"exit status {self.status}", *self.text.splitlines()[-lines:]])

    def total(self, kind: str) -> int:
        """The sum over all hosts of `changed`, `failed`, `ok` or `unreachable`."""
        return sum(row[kind] for row in self.recap.values())

    def table(self) -> str:
        """The state table at the end of the run: its head and a row for each host."""
        lines = self.text.splitlines()
        begin = next((i for i, line in enumerate(lines) if re.match(r"host\s+prereq", line)), len(lines))
        rows = [line for line in lines[begin + 1 :] if line.split(" ")[0] in self.recap and "ok=" not in line]
        return "\n".join(lines[begin : begin + 1] + rows)

    def states(self) -> dict[str, dict[str, str]]:
        """Host -> state, by the operator's name -> ready, not_ready, disabled, ignored or error."""
        found: dict[str, dict[str, str]] = {}
        for row in self.report.get("states", []):
            found.setdefault(row["host"], {})[row["state"]] = row["value"]
        return found


def write_variables(
    lab: Lab, *, common: dict[str, object] | None = None, own: dict[str, dict[str, object]] | None = None
) -> None:
    """Adds variables to the inventory: `common` for all GPU hosts, `own` by host."""
    group = lab.folder / f"inventory/group_vars/{access.GROUP}.yml"
    variables = {
        **json.loads(group.read_text()),
        **COMMON,
        "gpu_fleet_report_path": str(report_path(lab)),
        **(common or {}),
    }
    access.write_group_vars(lab, variables)
    folder = lab.folder / "inventory/host_vars"
    folder.mkdir(exist_ok=True)
    for host, values in (OWN if own is None else own).items():
        (folder / f"{host}.yml").write_text(json.dumps(values) + "\n")


def report_path(lab: Lab) -> Path:
    """Where the runs of this lab leave their JSON report."""
    return lab.folder / "report.json"


def play(
    lab: Lab, playbook: str, *arguments: str, env: dict[str, str] | None = None, through: Sequence[str] = ()
) -> Run:
    """Runs a playbook in the lab, whatever its exit status is; `through` is a command that starts another."""
    report_path(lab).unlink(missing_ok=True)
    log = lab.folder / "play.log"
    log.unlink(missing_ok=True)
    command = [*through, "ansible-playbook", playbook, *arguments]
    status = lab.run(command, env={**lab.ansible_env(), **(env or {})}, log=log, timeout=PLAYBOOK_SECONDS, check=False)
    text = log.read_text()
    with progress.log_path().open("a") as whole:
        whole.write(text)
    recap = {m["host"]: {k: int(v) for k, v in m.groupdict().items() if k != "host"} for m in _RECAP.finditer(text)}
    report = json.loads(report_path(lab).read_text()) if report_path(lab).exists() else {}
    return Run(status, text, recap, report)


def plane_of(lab: Lab) -> ControlPlane:
    """The control plane that runs in the lab."""
    return ControlPlane(lab)


def reset_counts(hosts: Sequence[Host]) -> None:
    """Starts counting remote module runs anew."""
    for host in hosts:
        module_runs.reset(host.root)


def counts(hosts: Sequence[Host]) -> dict[str, int]:
    """Remote module runs on each host since the last reset."""
    return {host.name: module_runs.count(host) for host in hosts}
