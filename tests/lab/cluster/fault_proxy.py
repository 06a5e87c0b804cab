# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A proxy before the API server that spoils requests, for one client with a kubeconfig of its own.

    with FaultProxy(plane, [Fault.parse("throttle:verb=patch,count=3")]) as proxy:
        lab.run(["ansible-playbook", ...], env={"KUBECONFIG": str(proxy.kubeconfig("somebody", group=MASTERS))})
    assert proxy.spoilt()["throttle", "patch", "nodes"] == 3

Users stay themselves: the proxy checks their certificates and hands their names on as the API server's front proxy
(Kubernetes, authenticating proxy). Watches are passed on; connections that are upgraded (exec, attach) are refused.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lab.cluster import pki
from lab.cluster.components import PORT
from lab.cluster.controlplane import ControlPlane, ControlPlaneFailed
from lab.cluster.faults import ANSWERS, Chooser, Fault, Target, status_body, target_of
from lab.cluster.spawned import Spawned

PROXY_PORT = 7443
START_SECONDS, ANSWER_SECONDS = 20, 300
PIECE = 64 * 1024
TESTS = Path(__file__).resolve().parents[2]
HOP_BY_HOP = {"connection", "keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade"}


class FaultProxy:
    """The proxy as a process of the lab."""

    def __init__(self, plane: ControlPlane, faults: Sequence[Fault], *, seed: int = 0, port: int = PROXY_PORT) -> None:
        self.plane = plane
        self.faults = faults
        self.seed = seed
        self.port = port
        self.log = plane.folder / f"faults-{port}.jsonl"
        settings = plane.folder / f"faults-{port}.json"
        command: list[str | Path] = [sys.executable, "-m", __name__, settings]
        said = plane.folder / f"fault-proxy-{port}.log"
        self._spawned = Spawned(plane.lab, command, said, environment={"PYTHONPATH": str(TESTS)})
        self._settings_path = settings

    def kubeconfig(self, user: str, *, group: str = "") -> Path:
        """A kubeconfig of a user that leads through the proxy."""
        path = self.plane.folder / f"{user}-through-{self.port}.kubeconfig"
        pki.write_kubeconfig(self.plane.paths, path, user, group=group, port=self.port)
        return path

    def spoilt(self) -> Counter[tuple[str, str, str]]:
        """How many requests met a fault, by its kind, verb and resource."""
        rows = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return Counter((row["fault"], row["verb"], row["resource"]) for row in rows)

    def __enter__(self) -> FaultProxy:
        self.log.unlink(missing_ok=True)
        self._settings_path.write_text(json.dumps(self._settings()))
        self._spawned.start()
        self._wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._spawned.stop()

    def _settings(self) -> dict[str, Any]:
        return {
            "faults": [asdict(fault) for fault in self.faults],
            "seed": self.seed,
            "address": self.plane.paths.address,
            "port": self.port,
            "pki": str(self.plane.paths.pki),
            "log": str(self.log),
        }

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while "listening" not in self._spawned.said():
            if time.monotonic() > deadline or self._spawned.ended():
                raise ControlPlaneFailed(f"the proxy for faults did not start:\n{self._spawned.said()}")
            time.sleep(0.05)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__((settings["address"], settings["port"]), _Handler)
        self.upstream_address = str(settings["address"])
        self.chooser = Chooser([Fault(**row) for row in settings["faults"]], settings["seed"])
        self.log = Path(settings["log"])
        self.lock = threading.Lock()
        folder = Path(settings["pki"])
        server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=folder / "ca.crt")
        server.load_cert_chain(folder / "apiserver.crt", folder / "apiserver.key")
        server.verify_mode = ssl.CERT_REQUIRED
        self.socket = server.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.upstream = ssl.create_default_context(cafile=folder / "ca.crt")
        self.upstream.load_cert_chain(folder / "front-client.crt", folder / "front-client.key")

    def choose(self, target: Target) -> Fault | None:
        """The fault that a request meets, recorded."""
        with self.lock:
            fault = self.chooser.choose(target)
            if fault:
                with self.log.open("a") as log:
                    log.write(json.dumps({"fault": fault.kind, **asdict(target)}) + "\n")
        return fault

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away, and our own closed connections, are the daily work here; others are logged."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError, TimeoutError)):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    connection: ssl.SSLSocket
    up: http.client.HTTPSConnection | None = None

    def do_GET(self) -> None:
        target = target_of(self.command, self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.choose(target)
        kind = fault.kind if fault else ""
        if fault and ANSWERS[kind][0]:
            self._refuse(fault, target)
        elif kind == "gone" or "Upgrade" in self.headers:
            self._hang_up()
        else:
            if fault and kind == "slow":
                time.sleep(fault.seconds)
            self._pass_on(body, kind)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET

    def _refuse(self, fault: Fault, target: Target) -> None:
        body = status_body(fault, target)
        self.send_response(ANSWERS[fault.kind][0])
        if fault.kind == "throttle" and fault.seconds:
            self.send_header("Retry-After", str(int(fault.seconds)))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _hang_up(self) -> None:
        """Without a word, as when an API server is killed."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _pass_on(self, body: bytes, kind: str) -> None:
        answer = self._ask(body)
        if kind == "lost":
            answer.read()
            self._hang_up()
            return
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in {*HOP_BY_HOP, "content-length"}:
                self.send_header(name, value)
        if answer.length is not None:
            self.send_header("Content-Length", str(answer.length))
            self.end_headers()
            self._copy(answer, kind, chunked=False)
        else:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self._copy(answer, kind, chunked=True)

    def _copy(self, answer: http.client.HTTPResponse, kind: str, *, chunked: bool) -> None:
        while piece := answer.read1(PIECE):
            if kind == "cut":
                piece = piece[: len(piece) // 2]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            if kind == "cut":
                self._hang_up()
                return
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _ask(self, body: bytes) -> http.client.HTTPResponse:
        """The API server's answer; its connection is kept as long as the client's."""
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        headers.update(self._user())
        if self.up is None:
            self.up = http.client.HTTPSConnection(
                self.server.upstream_address, PORT, timeout=ANSWER_SECONDS, context=self.server.upstream
            )
        self.up.request(self.command, self.path, body or None, headers)
        return self.up.getresponse()

    def _user(self) -> dict[str, str]:
        """The user and group of the client's certificate."""
        certificate: Any = self.connection.getpeercert() or {}
        names = {key: value for part in certificate.get("subject", ()) for key, value in part}
        group = names.get("organizationName")
        return {"X-Remote-User": names.get("commonName", ""), **({"X-Remote-Group": group} if group else {})}

    def log_message(self, _format: str, *_arguments: object) -> None:
        """What was spoilt has a log of its own."""


def main(arguments: list[str]) -> None:
    """Serves until it is ended."""
    server = _Server(json.loads(Path(arguments[0]).read_text()))
    print("listening", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
