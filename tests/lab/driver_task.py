# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One task of module gpu.fleet.driver on one host, and what it answered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import module_runs, proving
from .host import Host
from .lab import Lab
from .packages.distributions import ARCHITECTURE, DISTRIBUTIONS
from .packages.keys import key
from .packages.variables import CUDA, EL, SERVER
from .suites import SUITES


@dataclass(frozen=True)
class Answer:
    """One run. `result` is the module's, `module_runs` how many remote modules ran on the host for it."""

    run: proving.Run
    result: dict[str, Any]
    module_runs: int

    @property
    def steps(self) -> list[tuple[str, str]]:
        """(action, target) of each step of the plan."""
        return [(step["action"], step["target"]) for step in self.result["plan"]["steps"]]

    @property
    def findings(self) -> list[str]:
        """The ids of what was found."""
        return [finding["id"] for finding in self.result["findings"]]


def repository(host: Host) -> dict[str, object]:
    """The options that point the module at the lab's CUDA repository for this host."""
    folder = SUITES[host.suite].folder
    is_el = DISTRIBUTIONS[folder].family == EL
    signer = key("cuda-rpm" if is_el else "cuda")
    path = f"{CUDA}/{folder}/{ARCHITECTURE}" if is_el else CUDA
    return {
        "repository_url": f"{SERVER}/{CUDA}",
        "repository_key_url": f"{SERVER}/{path}/{signer.short_id}.pub",
        "repository_key_fingerprint": signer.fingerprint,
    }


def prepare(lab: Lab, host: Host) -> proving.Run:
    """Role prereq: with what it leaves on the host the module needs nothing sent to it."""
    playbook = lab.folder / "prereq.yml"
    playbook.write_text(json.dumps([{"hosts": host.name, "gather_facts": False, "roles": ["gpu.fleet.prereq"]}]))
    return proving.play(lab, str(playbook))


def bring(lab: Lab, host: Host, **options: object) -> Answer:
    """Runs the task with these options, whatever comes of it."""
    return _play(lab, host, options, [])


def foresee(lab: Lab, host: Host, **options: object) -> Answer:
    """The same in check mode."""
    return _play(lab, host, options, ["--check"])


def _play(lab: Lab, host: Host, options: dict[str, object], arguments: list[str]) -> Answer:
    kept = lab.folder / "driver-result.json"
    kept.unlink(missing_ok=True)
    task = {"gpu.fleet.driver": {**repository(host), **options}, "register": "found"}
    keep = {
        "ansible.builtin.copy": {"content": "{{ found | to_json }}", "dest": str(kept), "mode": "0600"},
        "delegate_to": "localhost",
        "check_mode": False,
    }
    play = {"hosts": host.name, "gather_facts": False, "tasks": [{"block": [task], "always": [keep]}]}
    playbook = lab.folder / "driver.yml"
    playbook.write_text(json.dumps([play]))
    module_runs.reset(host.root)
    run = proving.play(lab, str(playbook), *arguments)
    result = json.loads(kept.read_text()) if kept.exists() else {}
    return Answer(run, result, module_runs.count(host))
