# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What --tags and --skip-tags leave of the playbooks; the roles here only say that they ran."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.parts import ALL, GROUPS, PARTS

ROOT = Path(__file__).parents[2]
SECONDS = 300
HOST = {"gpu1": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}}
PLAY = """\
- hosts: gpu_hosts
  gather_facts: false
  tags: [always]
  vars:
    gpu_fleet_plan_only: true
    gpu_fleet_parts: "{{ ansible_run_tags | gpu.fleet.chosen_parts(skip=ansible_skip_tags) }}"
  tasks:
    - ansible.builtin.import_tasks: "@tasks@/parts.yml"
    - ansible.builtin.set_fact:
        gpu_fleet_stopped: ''
        gpu_fleet_results: {}
        gpu_fleet_cluster_results: {}
        gpu_fleet_operand_results: {}
        gpu_fleet_cluster_hosts: [gpu1]
        prereq_cluster_result: {}
    - ansible.builtin.include_tasks: "@tasks@/hosts.yml"
    - ansible.builtin.include_tasks: "@tasks@/operand.yml"
      loop: "{{ gpu_fleet_parts.cluster }}"
      loop_control: {loop_var: __operands_role}
    - ansible.builtin.debug:
        msg: "states: {{ gpu_fleet_results | list | sort | join(' ') }}."
- hosts: gpu_hosts
  gather_facts: false
  tags: [web]
  tasks:
    - ansible.builtin.debug: {msg: other playbook}
"""
# A role of its own file, since a file that is included must keep the tags too.
MAIN = "- ansible.builtin.include_tasks: inner.yml\n"
INNER = """\
- ansible.builtin.debug: {msg: "role @role@ ran"}
- ansible.builtin.set_fact:
    @role@_result: {state: ready, reason: '', plan: [], findings: [], hosts: {}, cluster: {}}
"""


@pytest.fixture(scope="module")
def collections(tmp_path_factory):
    """The collection with roles that do nothing."""
    top = tmp_path_factory.mktemp("collections")
    fleet = top / "ansible_collections/gpu/fleet"
    fleet.mkdir(parents=True)
    for name in ("plugins", "meta", "galaxy.yml", "playbooks"):
        (fleet / name).symlink_to(ROOT / name)
    for role in ALL:
        tasks = fleet / "roles" / role / "tasks"
        tasks.mkdir(parents=True)
        (tasks / "main.yml").write_text(MAIN)
        (tasks / "inner.yml").write_text(INNER.replace("@role@", role))
    return top


def ansible(folder, playbook, *options, collections):
    (folder / "inventory.yml").write_text(yaml.safe_dump({"gpu_hosts": {"hosts": HOST}}))
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_COLLECTIONS_PATH": str(collections)}
    command = ["ansible-playbook", "-i", "inventory.yml", str(playbook), *options]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=folder, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# options -> roles that ran
RUNS = {
    "none": ([], ALL),
    "one host role brings prereq": (["--tags", "driver"], ("prereq", "driver")),
    "an operand": (["--tags", "dcgm"], ("dcgm",)),
    "one is skipped": (["--skip-tags", "driver,gfd"], tuple(r for r in ALL if r not in ("driver", "gfd"))),
    "another playbook's": (["--tags", "web"], ()),
}


@pytest.mark.parametrize(("options", "roles"), RUNS.values(), ids=RUNS)
def test_what_tags_leave_runs_with_all_its_tasks(tmp_path, collections, options, roles):
    (tmp_path / "play.yml").write_text(PLAY.replace("@tasks@", str(ROOT / "playbooks/tasks")))
    said = ansible(tmp_path, "play.yml", *options, collections=collections)
    assert re.findall(r"role (\w+) ran", said) == list(roles), said
    # The states of the others are looked at; where nothing was chosen, no host is.
    hosts = "driver mig prereq toolkit validation"
    assert re.findall(r"states: (.*?)\.", said) == ([hosts] if roles else [])
    assert ("other playbook" in said) is ("--tags" not in options or "web" in options)


@pytest.mark.parametrize("playbook", ["site", "plan", "status"])
def test_every_part_is_listed(tmp_path, collections, playbook):
    said = ansible(tmp_path, ROOT / f"playbooks/{playbook}.yml", "--list-tags", collections=collections)
    listed = re.findall(r"TASK TAGS: \[(.*)\]", said)[-1].split(", ")
    assert set(listed) == {"always", *GROUPS, *PARTS}


def test_every_part_is_in_the_readme():
    text = (ROOT / "README.md").read_text()
    assert [name for name in (*GROUPS, *PARTS) if f"| `{name}` |" not in text] == []


def test_every_play_of_the_playbooks_is_always_looked_at():
    for path in (ROOT / "playbooks").glob("*.yml"):
        for play in yaml.safe_load(path.read_text()):
            # uninstall is not divided: with tags it does nothing.
            wanted = [] if path.stem == "uninstall" else ["always"]
            assert "ansible.builtin.import_playbook" in play or play.get("tags", []) == wanted, path
