# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev demo`: the main job end to end, each step a claim that can fail."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from lab.fleet import DEFAULT_HOSTS, HostSpec, bring_up
from lab.lab import Lab

from .tally import Tally

SPECS = [HostSpec.parse(text) for text in DEFAULT_HOSTS]


def reachable(lab: Lab) -> str:
    """Ansible reaches every host over ssh."""
    lab.run(["ansible", "gpu_hosts", "-m", "ansible.builtin.ping"], env=lab.ansible_env())
    return f"{len(lab.hosts)} hosts answer Ansible over ssh"


# In order; each raises when its claim does not hold, and returns what was seen.
STEPS: tuple[Callable[[Lab], str], ...] = (reachable,)


def run(options: argparse.Namespace) -> int:
    return check().report()


def check() -> Tally:
    """Runs the steps in a lab of their own; the first that fails ends it."""
    tally = Tally()
    with Lab.start() as lab:
        bring_up(lab, SPECS, cluster=True)
        for step in STEPS:
            print(f"    {step(lab)}", flush=True)
            tally.passed += 1
    return tally
