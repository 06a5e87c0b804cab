# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to an API server that answers what the test says, through the real client library."""

from __future__ import annotations

import json
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils import _kubernetes
from ansible_collections.gpu.fleet.plugins.module_utils._kubernetes import Cluster, ClusterError
from ansible_collections.gpu.fleet.plugins.module_utils._plan.patience import WAITS

NODES = (200, {"items": [{"metadata": {"name": "a"}}]}, {})
CUT = (200, NODES[1], {"Cut": "in the middle"})
BUSY = (500, {"message": "etcdserver: request timed out"}, {})
HANG_UP = (0, {}, {})
# One answer for all that the client asks for at its start: version and groups.
VERSION = (200, {"kind": "APIVersions", "versions": [], "groups": [], "major": "1", "minor": "37"}, {})


class Answers(BaseHTTPRequestHandler):
    """Gives the next of the server's answers; the last one again and again."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, self.headers.get("Content-Type"), body))
        status, answer, headers = self.server.answers[min(len(self.server.asked), len(self.server.answers)) - 1]
        if not status:
            self.close_connection = True
            return
        text = json.dumps(answer).encode()
        if "Cut" in headers:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text[:10])
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_PATCH = do_DELETE = do_GET

    def log_message(self, *_arguments):
        pass


class Module:
    """As much of a module as the client needs."""

    server_side_dry_run = False

    def __init__(self, host):
        self.params = {"host": host, "api_key": "x", "validate_certs": False}

    def requires(self, *_arguments, **_options):
        pass

    def warn(self, _text):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    """Set `answers`; `asked` has the requests, `pauses` the seconds that were not slept."""
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    # The client remembers what a server offers by its address, in a file that outlives the test; ports come again.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    made.daemon_threads = True
    made.asked, made.answers, made.pauses = [], [VERSION], []
    monkeypatch.setattr(_kubernetes.time, "sleep", made.pauses.append)
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def connected(server):
    return Cluster(Module(f"http://127.0.0.1:{server.server_port}"))


@pytest.fixture
def api(server):
    """(cluster, server, pauses), after the client has asked for the version."""
    cluster = connected(server)
    server.asked.clear()
    return cluster, server, server.pauses


def test_a_server_that_starts_is_waited_for(server):
    server.answers = [BUSY, BUSY, VERSION]
    connected(server)
    assert server.pauses == [1, 2]


def test_a_cluster_that_is_not_there_is_named_with_what_to_set(server):
    server.answers = [(401, {"message": "Unauthorized"}, {})]
    with pytest.raises(ClusterError, match="cannot be reached: .*401.*; set K8S_AUTH_KUBECONFIG or KUBECONFIG"):
        connected(server)
    assert server.pauses == []


@pytest.mark.parametrize(
    ("answers", "waited"),
    [
        ([NODES], []),
        ([BUSY, NODES], [1]),
        ([BUSY, BUSY, BUSY, NODES], [1, 2, 4]),
        ([(503, {"message": "x"}, {}), NODES], [1]),
        ([CUT, NODES], [1]),
        ([(429, {"message": "x"}, {}), NODES], [1]),
    ],
)
def test_a_list_waits_until_the_server_answers(api, answers, waited):
    cluster, server, pauses = api
    server.answers = answers
    assert [n["metadata"]["name"] for n in cluster.list("Node")] == ["a"]
    assert pauses == waited


@pytest.mark.parametrize(
    ("answers", "waited"),
    [
        ([BUSY, (200, {}, {})], [1]),
        ([(429, {"message": "x"}, {"Retry-After": "5"}), (200, {}, {})], [5]),
        ([(409, {"message": "the object has been modified"}, {}), (200, {}, {})], [1]),
        ([HANG_UP, (200, {}, {})], [1]),
    ],
)
def test_a_patch_is_sent_again(api, answers, waited):
    cluster, server, pauses = api
    server.answers = answers
    cluster.patch("/api/v1/nodes/a", {"metadata": {"labels": {"l": None}}})
    assert pauses == waited
    assert len(set(server.asked)) == 1
    method, path, content, body = server.asked[0]
    assert (method, path) == ("PATCH", "/api/v1/nodes/a?fieldManager=gpu.fleet")
    assert content == "application/merge-patch+json"
    assert json.loads(body) == {"metadata": {"labels": {"l": None}}}


@pytest.mark.parametrize("answers", [[(200, {}, {})], [BUSY, (200, {}, {})], [(404, {"message": "gone"}, {})]])
def test_what_is_to_go_may_be_gone_already(api, answers):
    cluster, server, pauses = api
    server.answers = answers
    cluster.delete("/api/v1/namespaces/n/pods/p")
    assert set(server.asked) == {("DELETE", "/api/v1/namespaces/n/pods/p", server.asked[0][2], b"")}
    assert len(pauses) == len(answers) - 1


def test_a_deletion_that_is_refused_is_told(api):
    cluster, server, _pauses = api
    server.answers = [(403, {"message": "forbidden"}, {})]
    with pytest.raises(ClusterError, match="DELETE /api/v1/namespaces/n/pods/p: 403 forbidden"):
        cluster.delete("/api/v1/namespaces/n/pods/p")


@pytest.mark.parametrize("status", [400, 403, 404, 422])
def test_what_does_not_pass_is_told_at_once(api, status):
    cluster, server, pauses = api
    server.answers = [(status, {"message": "no such thing"}, {})]
    with pytest.raises(ClusterError, match=f"PATCH /api/v1/nodes/a: {status} no such thing$") as caught:
        cluster.patch("/api/v1/nodes/a", {})
    assert caught.value.status == status
    assert pauses == []


def test_a_server_that_stays_broken_is_given_up_with_its_words(api):
    cluster, server, pauses = api
    server.answers = [BUSY]
    with pytest.raises(ClusterError, match=r"500 etcdserver: request timed out \(6 tries\)"):
        cluster.patch("/api/v1/nodes/a", {})
    assert pauses == list(WAITS)
    assert len(server.asked) == len(WAITS) + 1


def test_what_a_pod_serves_is_asked_for_once(api):
    cluster, server, pauses = api
    server.answers = [BUSY]
    with pytest.raises(ClusterError):
        cluster.text("/api/v1/namespaces/n/pods/p/log")
    assert pauses == []
