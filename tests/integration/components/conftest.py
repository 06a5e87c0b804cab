# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host with NVLink switches, and plays of role driver on it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from lab import access, fleet, proving
from lab.fleet import HostSpec
from lab.host import Host
from lab.lab import Lab

NAME = "fabric"
PREPARED = "prepared"
KEEP = "{{ driver_result | default({}) | to_json }}"


@dataclass(frozen=True)
class Played:
    """One play of role driver: the run, what the role published, and the remote module runs."""

    run: proving.Run
    result: Mapping[str, Any]
    module_runs: int

    def steps(self) -> Counter[tuple[str, str]]:
        """(action, target) of each step."""
        return Counter((s["action"], s["target"]) for s in self.result.get("plan", []))

    def ids(self) -> list[str]:
        """Ids of the findings."""
        return [f["id"] for f in self.result.get("findings", [])]


Play = Callable[..., Played]


@pytest.fixture(scope="session")
def fabric(lab: Lab) -> Iterator[Host]:
    """Eight H100 behind four NVSwitches, and nothing of NVIDIA's on it but what the boot needs (role prereq)."""
    made = fleet.add(lab, HostSpec.parse(f"{NAME}=bookworm:hgx-h100"))
    made.wait()
    playbook = lab.folder / "prereq.yml"
    roles = [{"role": "gpu.fleet.prereq"}]
    playbook.write_text(json.dumps([{"hosts": NAME, "gather_facts": False, "roles": roles}]))
    run = proving.play(lab, str(playbook), "--extra-vars", "gpu_fleet_cluster=false")
    assert run.status == 0, run.end()
    made.snapshot(PREPARED)
    yield made
    made.down()
    access.write_inventory(lab)


@pytest.fixture(scope="session")
def play(lab: Lab) -> Play:
    """Plays role driver on the host with variables; ``check`` for check mode."""

    def role(host: Host, *, check: bool = False, **variables: Any) -> Played:
        kept = lab.folder / "driver.json"
        kept.unlink(missing_ok=True)
        copy = {"dest": str(kept), "content": KEEP, "mode": "0600"}
        tasks = [
            {"name": "Driver", "ansible.builtin.include_role": {"name": "gpu.fleet.driver"}},
            {"name": "Keep the result", "delegate_to": "localhost", "become": False, "check_mode": False,
             "vars": {"ansible_python_interpreter": "{{ ansible_playbook_python }}"}, "ansible.builtin.copy": copy},
        ]  # fmt: skip
        playbook = lab.folder / "driver.yml"
        playbook.write_text(
            json.dumps([{"hosts": host.name, "gather_facts": False, "vars": variables, "tasks": tasks}])
        )
        proving.reset_counts([host])
        run = proving.play(lab, str(playbook), *(["--check"] if check else []), "--diff")
        result = json.loads(kept.read_text()) if kept.exists() else {}
        return Played(run, result, proving.counts([host])[host.name])

    return role
