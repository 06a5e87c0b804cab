# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbooks say where inventory or variables are wrong."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
SECONDS = 300

INVENTORIES = {
    "hosts as a list": ("gpu_hosts:\n  hosts: [gpu1, gpu2]\n", "is there, but has no host"),
    "no hosts": ("gpu_hosts:\n", "{gpu_hosts: {hosts: {gpu1: {}, gpu2: {}}}}"),
    "another group": ("gpus:\n  hosts:\n    gpu1:\n", "no group gpu_hosts (found groups: gpus)"),
}

# The cluster's part as it runs after the hosts' variables were refused.
REFUSED = """\
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    gpu_fleet_cluster: yess
    gpu_fleet_plan_only: true
    gpu_fleet_parts: "{{{{ ansible_run_tags | gpu.fleet.chosen_parts(skip=ansible_skip_tags) }}}}"
  tasks:
    - ansible.builtin.set_fact:
        gpu_fleet_variables_wrong: true
    - ansible.builtin.import_tasks: {tasks}
    - ansible.builtin.debug:
        msg: "reason: [{{{{ gpu_fleet_cluster_reason | default('') }}}}]"
"""


def play(folder: Path, playbook: Path, inventory: str) -> tuple[int, str]:
    """Exit status of ansible-playbook, and what it said in one line."""
    (folder / "inventory.yml").write_text(inventory)
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "0"}
    command = ["ansible-playbook", "-i", str(folder / "inventory.yml"), str(playbook)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=folder, timeout=SECONDS, check=False
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize(("inventory", "said"), INVENTORIES.values(), ids=INVENTORIES)
def test_an_inventory_without_a_gpu_host_is_refused_by_what_it_has(tmp_path, inventory, said):
    status, text = play(tmp_path, PLAYBOOKS / "inventory.yml", inventory)
    assert status == 2
    assert said in text


def test_a_refused_gpu_fleet_cluster_is_not_taken_for_false(tmp_path):
    playbook = tmp_path / "refused.yml"
    playbook.write_text(REFUSED.format(tasks=PLAYBOOKS / "tasks/cluster.yml"))
    status, text = play(tmp_path, playbook, "gpu_hosts:\n  hosts:\n    gpu1:\n")
    assert status == 0, text
    assert "reason: []" in text
