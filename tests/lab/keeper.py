# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Process 1 of a lab: lays out its mounts and network, serves packages over HTTP, collects orphans.

Started as `keeper.py FOLDER CONTROLLERS...` in fresh mount, pid, net, cgroup, ipc and uts namespaces. When it dies, the
kernel kills all that runs in the lab and takes away its mounts, interfaces and addresses.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

NETWORK = "198.51.100"  # TEST-NET-2 of RFC 5737: never routed
GATEWAY = f"{NETWORK}.1"
BRIDGE = "br0"
CGROUP2, CGROUP1 = Path("/sys/fs/cgroup"), Path("/run/lab/cgroup1")


class Packages(http.server.SimpleHTTPRequestHandler):
    """Serves files; keeps connections, as apt asks for many."""

    protocol_version = "HTTP/1.1"


def main(folder: Path, controllers: list[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal; the owner ends the lab in order
    _mounts(folder, controllers)
    _network()
    _serve(folder / "www")
    (folder / "ready.tmp").write_text(json.dumps({"namespace": os.readlink("/proc/self/ns/pid")}))
    (folder / "ready.tmp").rename(folder / "ready")
    _collect_orphans()


def _mounts(folder: Path, controllers: list[str]) -> None:
    _do("mount", "-t", "sysfs", "sysfs", "/sys")
    _do("mount", "-t", "cgroup2", "cgroup2", CGROUP2)
    _do("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    _cgroup2_leaf()
    for names in controllers:
        (CGROUP1 / names).mkdir(parents=True)
        _do("mount", "-t", "cgroup", "-o", names, "cgroup", CGROUP1 / names)
    for name in ("hosts", "resolv.conf"):
        if Path("/etc", name).is_file():  # a link into /run points nowhere now, which is as good
            _do("mount", "--bind", folder / "etc" / name, f"/etc/{name}")
    if _is_overlay(folder):  # an overlay cannot have its upper layer on an overlay
        _do("mount", "-t", "tmpfs", "tmpfs", folder / "hosts")


def _cgroup2_leaf() -> None:
    """Moves to a leaf, so that the controllers (where v2 has them) may be handed down to the hosts."""
    leaf = CGROUP2 / "keeper"
    leaf.mkdir()
    (leaf / "cgroup.procs").write_text("0")
    controllers = (CGROUP2 / "cgroup.controllers").read_text().split()
    for name in controllers if "memory" in controllers else []:
        (CGROUP2 / "cgroup.subtree_control").write_text(f"+{name}")


def _is_overlay(folder: Path) -> bool:
    return subprocess.check_output(["stat", "-f", "-c", "%T", folder], text=True).strip() == "overlayfs"


def _network() -> None:
    _do("ip", "link", "set", "lo", "up")
    _do("ip", "link", "add", BRIDGE, "type", "bridge")
    _do("ip", "address", "add", f"{GATEWAY}/24", "dev", BRIDGE)
    _do("ip", "link", "set", BRIDGE, "up")
    _do("hostname", "lab")


def _serve(folder: Path) -> None:
    handler = functools.partial(Packages, directory=str(folder))
    server = http.server.ThreadingHTTPServer((GATEWAY, 80), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def _collect_orphans() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        try:
            os.wait()
        except ChildProcessError:
            signal.sigtimedwait([signal.SIGCHLD], 1)


def _do(*args: str | Path) -> None:
    subprocess.run([str(a) for a in args], check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
