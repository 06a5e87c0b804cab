# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the kubelets and pods of KWOK's nodes: logs of GFD at port 10250, metrics of the exporter at 9400.

Every node has an address of its own; one process listens at all of them and tells the nodes apart by the address that
was called. Started by kwok.py: `kubelets.py NODES CERTIFICATE KEY PORT METRICS_PORT`, NODES a JSON file, address ->
{"log": text, "metrics": text}.
"""

from __future__ import annotations

import json
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

METRICS_PORT = 9400
LOGS = "/containerLogs/"


class Server(ThreadingHTTPServer):
    """Listens at every address of the lab."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, nodes: dict[str, dict[str, str]], context: ssl.SSLContext | None) -> None:
        super().__init__(("0.0.0.0", port), Answer)
        self.nodes = nodes
        if context:  # the handshake is the thread's, not that of the loop which accepts
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)


class Answer(BaseHTTPRequestHandler):
    """Answers for the node whose address was called."""

    protocol_version = "HTTP/1.1"
    server: Server
    timeout = 60

    def do_GET(self) -> None:
        """A log below /containerLogs/, metrics at /metrics, 404 for everything else and for other addresses."""
        node = self.server.nodes.get(self.connection.getsockname()[0], {})
        path = self.path.partition("?")[0]
        text = node.get("metrics") if path == "/metrics" else node.get("log") if path.startswith(LOGS) else None
        body = (f"no {path} here\n" if text is None else text).encode()
        self.send_response(404 if text is None else 200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, _format: str, *_arguments: object) -> None:
        """A line a request would fill the log."""


def main(arguments: list[str]) -> None:
    """Serves until it is ended."""
    nodes = json.loads(Path(arguments[0]).read_text())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments[1], arguments[2])
    threading.Thread(target=Server(int(arguments[4]), nodes, None).serve_forever, daemon=True).start()
    Server(int(arguments[3]), nodes, context).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
