# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev bench`: what a run costs that changes nothing, in remote module runs and against eleven pings."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from lab import module_runs
from lab.fleet import DEFAULT_HOSTS, HostSpec, bring_up
from lab.lab import Lab

from . import progress
from .tally import Tally

MODULE_RUNS = 11  # of an unchanged host in `site`, facts and gpu_info included
SITE_SECONDS = 1800
PINGS = {
    "hosts": "gpu_hosts",
    "gather_facts": False,
    "tasks": [{"name": f"Ping {number}", "ansible.builtin.ping": {}} for number in range(1, MODULE_RUNS + 1)],
}


def run(_options: argparse.Namespace) -> int:
    """The counts can fail; times are printed as a ratio, since they depend on the machine."""
    tally = Tally()
    with Lab.start() as lab:
        bring_up(lab, [HostSpec.parse(text) for text in DEFAULT_HOSTS], cluster=True)
        with progress.step("bringing the hosts to ready"):
            _play(lab, "gpu.fleet.site")
        for host in lab.hosts:
            module_runs.reset(host.root)
        unchanged = _play(lab, "gpu.fleet.site")
        _count(lab, tally)
        pings = lab.folder / "pings.yml"
        pings.write_text(json.dumps([PINGS]))
        print(f"unchanged site: {unchanged / _play(lab, pings):.1f} times the time of {MODULE_RUNS} pings")
    return tally.report()


def _play(lab: Lab, playbook: str | Path) -> float:
    """Runs a playbook in the lab; returns the seconds it took."""
    begin = time.monotonic()
    lab.run(["ansible-playbook", playbook], env=lab.ansible_env(), timeout=SITE_SECONDS)
    return time.monotonic() - begin


def _count(lab: Lab, tally: Tally) -> None:
    for host in lab.hosts:
        found = module_runs.count(host)
        print(f"{host.name}: {found} remote module runs on an unchanged host, budget {MODULE_RUNS}")
        if found <= MODULE_RUNS:
            tally.passed += 1
        else:
            tally.failures.append(f"{host.name}: {found} remote module runs, budget {MODULE_RUNS}")
