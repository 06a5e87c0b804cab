# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role mig on simulated hosts that are nodes of a cluster of a few objects: what happens to whom, in which order."""

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

from simulator.build import artifact_dir
from simulator.module_host import Host

SECONDS = 300
NAMES = ("a", "b", "c")
PLUGIN, PAUSED = "nvidia.com/gpu.deploy.device-plugin", "paused-for-mig-change"
CONFIG, STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"
UNKNOWN = 999
START = {
    "/version": {"major": "1", "minor": "37", "gitVersion": "v1.37.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "groups": []},
}
RECAP = re.compile(r"^(\w+) +: ok=\d+ +changed=(\d+) +unreachable=0 +failed=(\d+)", re.MULTILINE)


def merge(found, patch):
    """RFC 7386."""
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, dict):
            merge(found.setdefault(key, {}), value)
        else:
            found[key] = value


class Api(BaseHTTPRequestHandler):
    """Nodes that can be patched, each with a device plugin while its label is true, and users' pods."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        path, cluster = self.path.partition("?")[0], self.server.cluster
        with cluster.lock:
            text = json.dumps(cluster.answer(self.command, path, self.path.partition("?")[2], body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PATCH = do_POST = answer

    def log_message(self, *_words):
        """Keeps pytest's output quiet."""


class Cluster:
    """``log`` has what was written, in order; ``most`` is how many nodes were cordoned at a time."""

    def __init__(self):
        self.lock = threading.Lock()
        self.nodes = {n: {"metadata": {"name": n, "labels": {PLUGIN: "true"}}, "spec": {}, "status": {}} for n in NAMES}
        self.jobs = {}
        self.log, self.most = [], 0

    def answer(self, method, path, query, body):
        if path in START:
            return START[path]
        name = path.split("/")[4] if path.startswith("/api/v1/nodes/") else ""
        if method == "PATCH":
            merge(self.nodes[name], body)
            cordoned = [n for n, node in self.nodes.items() if node["spec"].get("unschedulable")]
            self.most = max(self.most, len(cordoned))
            self.log.append(f"{name} {self.label(name, STATE)}")
        if method == "POST":
            del self.jobs[path.split("/")[6]]
            self.log.append(f"evict {path.split('/')[6]}")
            return {}
        if path == "/api/v1/nodes":
            return {"items": list(self.nodes.values())}
        if path == "/api/v1/pods":
            where = query.rpartition("%3D")[2]
            return {"items": [*self.plugins(where), *(p for p in self.jobs.values() if p["spec"]["nodeName"] == where)]}
        return self.nodes.get(name, {"items": []})

    def label(self, name, key):
        return self.nodes[name]["metadata"]["labels"].get(key)

    def plugins(self, where):
        if self.label(where, PLUGIN) != "true":
            return []
        return [{"metadata": {"namespace": "n", "name": "p"}, "spec": {"nodeSelector": {PLUGIN: "true"}}, "status": {}}]

    def job(self, name, where):
        wants = {"resources": {"limits": {"nvidia.com/mig-1g.10gb": "1"}}}
        owner = {"kind": "ReplicaSet", "controller": True}
        meta = {"namespace": "ns", "name": name, "ownerReferences": [owner]}
        self.jobs[name] = {"metadata": meta, "spec": {"nodeName": where, "containers": [wants]}, "status": {}}


class Fleet:
    """Three hosts with a GPU of seven small instances each."""

    def __init__(self, folder):
        self.folder, self.cluster = folder, Cluster()
        self.hosts = {name: Host(folder / name, "h100x1") for name in NAMES}
        for host in self.hosts.values():
            host.want({"1g.10gb": 7})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
        self.server.cluster = self.cluster
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def play(self, *options, **variables):
        """Host -> (changed, failed), and what was said."""
        rows = {
            name: {
                "ansible_connection": "local",
                "ansible_python_interpreter": sys.executable,
                "simulated": {**host.box.environment, "PATH": f"{artifact_dir() / 'bin'}:{os.environ['PATH']}"},
                "tree": str(host.root),
            }
            for name, host in self.hosts.items()
        }
        (self.folder / "inventory.json").write_text(json.dumps({"gpu_hosts": {"hosts": rows}}))
        text = [
            {
                "hosts": "gpu_hosts",
                "gather_facts": False,
                "environment": "{{ simulated }}",
                "module_defaults": {"gpu.fleet.mig_config": {"host_root": "{{ tree }}"}},
                "roles": ["gpu.fleet.mig"],
                "vars": {"mig_max_unavailable": "1", "mig_selected_config": "all-3g.40gb", **variables},
            }
        ]
        (self.folder / "play.json").write_text(json.dumps(text))
        environment = {
            **os.environ, "ANSIBLE_NOCOLOR": "1", "K8S_AUTH_HOST": f"http://127.0.0.1:{self.server.server_port}",
            "K8S_AUTH_API_KEY": "x", "K8S_AUTH_VERIFY_SSL": "false",
        }  # fmt: skip
        command = ["ansible-playbook", "-i", "inventory.json", *options, "play.json"]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, cwd=self.folder, timeout=SECONDS, check=False
        )
        said = done.stdout + done.stderr
        return {name: (int(changed), int(failed)) for name, changed, failed in RECAP.findall(said)}, said

    def devices(self, name):
        return self.hosts[name].module("mig_info")["gpus"][0]["devices"]


@pytest.fixture
def fleet(tmp_path: Path):
    made = Fleet(tmp_path)
    yield made
    made.stop()


HALVES, SMALL = {"3g.40gb": 2}, {"1g.10gb": 7}


def test_node_after_node_is_paused_changed_and_goes_on(fleet):
    recap, said = fleet.play()
    assert [failed for _changed, failed in recap.values()] == [0, 0, 0], said
    assert [fleet.devices(n) for n in NAMES] == [HALVES] * 3, said
    assert fleet.cluster.log == [f"{n} {word}" for n in NAMES for word in ("pending", "success")], said
    assert fleet.cluster.most == 1
    for name in NAMES:
        assert (fleet.cluster.label(name, PLUGIN), fleet.cluster.label(name, CONFIG)) == ("true", "all-3g.40gb")
        assert fleet.cluster.nodes[name]["spec"] == {}

    writes = [host.box.writes[-1:] for host in fleet.hosts.values()]
    left = {"labels": {PLUGIN: PAUSED, STATE: "pending"}, "annotations": {"gpu.fleet/cordoned-for-mig-change": "true"}}
    merge(fleet.cluster.nodes["b"], {"metadata": left, "spec": {"unschedulable": True}})
    del fleet.cluster.log[:]
    _recap, said = fleet.play()
    assert fleet.cluster.log == ["b success"], said
    assert (fleet.cluster.label("b", PLUGIN), fleet.cluster.nodes["b"]["spec"]) == ("true", {})
    assert [host.box.writes[-1:] for host in fleet.hosts.values()] == writes


def test_check_mode_writes_nothing_and_shows_the_change(fleet):
    recap, said = fleet.play("--check")
    assert recap == dict.fromkeys(NAMES, (1, 0)), said
    assert (fleet.cluster.log, fleet.devices("a")) == ([], SMALL)


def test_a_node_with_users_is_left_as_it_is_and_the_others_change(fleet):
    fleet.cluster.job("train", "a")
    recap, said = fleet.play(mig_max_unavailable="70%")
    assert {n: failed for n, (_changed, failed) in recap.items()} == {"a": 1, "b": 0, "c": 0}
    assert "ns/train" in said
    assert [fleet.devices(n) for n in NAMES] == [SMALL, HALVES, HALVES]

    assert sorted(fleet.cluster.log[:3]) == ["a failed", "b pending", "b success"]
    assert fleet.cluster.log[3:] == ["c pending", "c success"]


def test_pods_are_evicted_where_that_is_allowed(fleet):
    fleet.cluster.job("train", "b")
    recap, said = fleet.play("--limit", "b", mig_drain=True)
    assert recap == {"b": (3, 0)}, said
    assert fleet.cluster.log == ["b pending", "evict train", "b success"]
    assert fleet.devices("b") == HALVES


def test_after_a_failed_change_the_others_are_left_and_the_operands_go_on(fleet):
    fleet.hosts["b"].box.fault("nvmlDeviceCreateGpuInstance", UNKNOWN)
    recap, said = fleet.play()
    assert {n: failed for n, (_changed, failed) in recap.items()} == {"a": 0, "b": 1, "c": 1}, said
    assert [fleet.cluster.label(n, STATE) for n in NAMES] == ["success", "failed", None], said
    assert {fleet.cluster.label(n, PLUGIN) for n in NAMES} == {"true"}
    assert {str(node["spec"]) for node in fleet.cluster.nodes.values()} == {"{}"}
    assert "the change of b failed" in said
    assert [fleet.devices(n) for n in "ac"] == [HALVES, SMALL]


def test_the_label_is_the_wish(fleet):
    for name, layout in (("a", "all-balanced"), ("b", "no-such-layout")):
        fleet.cluster.nodes[name]["metadata"]["labels"][CONFIG] = layout
    recap, said = fleet.play(mig_config_source="label")
    assert {n: failed for n, (_changed, failed) in recap.items()} == {"a": 0, "b": 1, "c": 0}, said
    assert fleet.devices("a") == {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}
    assert (fleet.devices("b"), fleet.devices("c")) == (SMALL, HALVES)
    assert [fleet.cluster.label(n, STATE) for n in NAMES] == ["success", "failed", "success"]
    assert fleet.cluster.label("b", CONFIG) == "no-such-layout"
