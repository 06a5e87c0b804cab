# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook status looks: whatever would have to be changed, nothing counts as changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

TASKS = Path(__file__).parents[2] / "playbooks/tasks"
SECONDS = 300
GPU = {
    "index": 0, "uuid": "GPU-0", "name": "NVIDIA A100-SXM4-40GB", "memory_mib": 40960, "compute_capability": "8.0",
    "pci_class": "0x030200", "mig": {"capable": True, "enabled": False, "devices": []},
}  # fmt: skip
NODE = {"metadata": {"name": "gpu1", "labels": {}}, "status": {}}
ANSWERS = {
    "/version": {"major": "1", "minor": "37", "gitVersion": "v1.37.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "groups": []},
    "/api/v1/nodes": {"items": [NODE]},
}
# A host on which everything is missing, and a cluster without any of our objects.
PLAY = """\
- hosts: gpu_hosts
  gather_facts: false
  check_mode: true
  module_defaults:
    gpu.fleet.host_program: {host_root: "@root@"}
    gpu.fleet.host_validation: {host_root: "@root@"}
  vars:
    gpu_fleet_verb: "@verb@"
    gpu_fleet_plan_only: true
    gpu_fleet_cluster: true
    gpu_fleet_parts: "{{ ansible_run_tags | gpu.fleet.chosen_parts(skip=ansible_skip_tags) }}"
    gpu_fleet_report_path: "@root@/report.json"
    gpu_fleet_operand_results: {}
    gpu_fleet_cluster_results: {}
    gpu_fleet_nodes: []
    prereq_cluster_result: {}
    device_plugin_result: {}
    dcgm_result: {}
    gfd_result: {}
  tasks:
    - ansible.builtin.set_fact:
        gpu_fleet_stopped: ''
        gpu_fleet_variables_wrong: false
        gpu_fleet_results: {}
    - ansible.builtin.include_tasks: "@tasks@/prove.yml"
    - ansible.builtin.set_fact:
        gpu_fleet_proved: "{{ gpu_fleet_results }}"
        gpu_fleet_results: "{{ dict(ready | product([{'state': 'ready'}])) }}"
      vars:
        ready: [prereq, driver, mig, toolkit, validation]
    - ansible.builtin.set_fact:
        gpu_fleet: {gpus: [@gpu@], driver: {loaded_version: 595.71.05, cuda_version: 13020}, machine: x}
        cacheable: true
    - ansible.builtin.import_tasks: "@tasks@/cluster.yml"
    - ansible.builtin.import_tasks: "@tasks@/report.yml"
    - ansible.builtin.debug:
        msg: "prereq of the host: {{ gpu_fleet_proved.prereq.state }}"
"""
CHANGED = re.compile(r"changed=(\d+) .*failed=0 .*rescued=0")


class Api(BaseHTTPRequestHandler):
    """An API server that has one node and nothing else."""

    def do_GET(self):
        body = json.dumps(ANSWERS.get(self.path.partition("?")[0], {"items": []})).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        """Keeps pytest's output quiet."""


@pytest.fixture
def kubeconfig(tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
    user = {"name": "u", "user": {"token": "x"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    config = {"kind": "Config", "clusters": [cluster], "users": [user], "contexts": [context], "current-context": "x"}
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps({"apiVersion": "v1", **config}))
    yield path
    server.shutdown()
    server.server_close()


@pytest.fixture
def root(tmp_path):
    """A host with one GPU and nothing of ours."""
    files = {"vendor": "0x10de", "device": "0x20b0", "class": "0x030200"}
    folder = tmp_path / "root/sys/bus/pci/devices/0000:41:00.0"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")
    (tmp_path / "root/etc").mkdir()
    (tmp_path / "root/etc/os-release").write_text('ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"\n')
    (tmp_path / "root/usr/bin").mkdir(parents=True)
    (tmp_path / "root/usr/bin/python3").touch(mode=0o755)
    return tmp_path / "root"


def play(folder: Path, verb: str, root: Path, kubeconfig: Path) -> str:
    """What ansible-playbook said."""
    host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (folder / "inventory.yml").write_text(yaml.safe_dump({"gpu_hosts": {"hosts": {"gpu1": host}}}))
    values = {"root": str(root), "verb": verb, "tasks": str(TASKS), "gpu": json.dumps(GPU)}
    text = re.sub("@([a-z]+)@", lambda found: values[found[1]], PLAY)
    (folder / "play.yml").write_text(text)
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "K8S_AUTH_KUBECONFIG": str(kubeconfig)}
    command = ["ansible-playbook", "-i", "inventory.yml", "play.yml"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=folder, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# verb -> whether what it would do counts as changed
VERBS = {"status": False, "plan": True}


@pytest.mark.parametrize(("verb", "counts"), VERBS.items(), ids=VERBS)
def test_only_a_plan_counts_what_would_change(tmp_path, root, kubeconfig, verb, counts):
    said = play(tmp_path, verb, root, kubeconfig)
    found = CHANGED.search(said)
    assert found, said
    assert (int(found[1]) > 0) is counts, said
    # Not counted is not the same as not seen.
    assert "prereq of the host: not_ready" in said
    steps = json.loads((root / "report.json").read_text())["plan"]
    assert {"node_labels", "prereq", "device_plugin", "dcgm", "gfd"} == {step["role"] for step in steps}
