# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a lab host a Kubernetes node: containerd and kubelet as units of the very host that Ansible manages.

    plane = ControlPlane(lab)
    plane.start()
    host = lab.add_host("gpu1", "bookworm", "h100x2", layers=[node.layer()], extra_setup=[node.setup(plane)])
    host.wait()
    node.wait_ready(plane, host)

What is NVIDIA's comes from the collection under test, never from here.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from dev.cache import artifact
from dev.progress import CommandFailed
from lab.cluster import pki
from lab.cluster.controlplane import ControlPlane, route_pods
from lab.cluster.images import images_tar
from lab.cluster.programs import program
from lab.host import Host

FILES = Path(__file__).resolve().parent / "node_files"
PROGRAMS = ("containerd", "containerd-shim-runc-v2", "ctr", "crictl", "kubelet", "kube-proxy")
UNITS = ("lab-mounts", "containerd", "lab-images", "kubelet", "kube-proxy")
READY_SECONDS = 60


class NodeNotReady(CommandFailed):
    """A node did not become Ready in time; the text has Kubernetes' reason and what the units said last."""


def layer() -> Path:
    """A read-only layer below a host's root, with the programs and the image archive: nothing is copied per host."""
    sources = {f"usr/local/bin/{name}": program(name) for name in PROGRAMS}
    sources["usr/local/share/lab/images.tar"] = images_tar()
    return artifact("node-layer", [f"{name}={path}" for name, path in sources.items()], lambda out: _link(sources, out))


def setup(plane: ControlPlane) -> Callable[[Path], None]:
    """What `lab.add_host(extra_setup=[...])` calls with the host's root before it boots."""
    return lambda root: _lay_out(plane, root, *_identity(root))


def pod_network(address: str) -> str:
    """The pods' network of the node with this address: 10.244.<last number>.0/24."""
    return f"10.244.{address.rpartition('.')[2]}.0/24"


def wait_ready(plane: ControlPlane, host: Host, seconds: float = READY_SECONDS) -> None:
    """Waits until the host's node is Ready and its images are there; NodeNotReady otherwise."""
    route_pods(plane.lab, [(pod_network(host.address), host.address)])
    deadline = time.monotonic() + seconds
    while (reason := _not_ready(plane, host)) is not None:
        if time.monotonic() > deadline:
            journal = host.shell("journalctl --no-pager -n 20 -o cat -u containerd -u lab-images -u kubelet")
            raise NodeNotReady(f"Node {host.name} is not Ready after {seconds:.0f} s: {reason}\n{journal}")
        time.sleep(0.3)


def _not_ready(plane: ControlPlane, host: Host) -> str | None:
    """Why not, None when Ready. What Kubernetes remembers of the time before a reboot does not count."""
    ask = f"systemctl is-active {' '.join(UNITS)} || true; cat /proc/sys/kernel/random/boot_id"
    *active, boot_id = host.shell(ask).split()
    if active != ["active"] * len(UNITS):
        return f"units {' '.join(UNITS)} are {' '.join(active)}"
    try:
        status = json.loads(plane.kubectl("get", "node", host.name, "-o", "json"))["status"]
    except CommandFailed as error:
        return str(error)
    if status["nodeInfo"]["bootID"] != boot_id:
        return "the kubelet has not yet reported since the host booted"
    ready = next((c for c in status["conditions"] if c["type"] == "Ready"), {"status": "absent", "message": ""})
    return None if ready["status"] == "True" else f"condition Ready is {ready['status']}: {ready['message']}"


def _identity(root: Path) -> tuple[str, str]:
    """Name and address, as the lab has written them into the root."""
    name = (root / "etc/hostname").read_text().strip()
    for line in (root / "etc/hosts").read_text().splitlines():
        address, *names = line.split()
        if name in names:
            return name, address
    raise LookupError(f"{root}/etc/hosts has no address of {name}")


def _lay_out(plane: ControlPlane, root: Path, name: str, address: str) -> None:
    values = {"name": name, "address": address, "pod_network": pod_network(address)}
    for source in sorted(path for path in FILES.rglob("*") if path.is_file()):
        _fill(source, root / source.relative_to(FILES), values)
    _credentials(pki.make_node(plane.paths, name, address), root)
    (root / "etc/kubernetes/manifests").mkdir(exist_ok=True)
    wants = root / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    for unit in UNITS:
        (wants / f"{unit}.service").symlink_to(f"../{unit}.service")


def _credentials(made: Path, root: Path) -> None:
    places = {
        "ca.crt": "etc/kubernetes/pki/ca.crt",
        "kubelet.conf": "etc/kubernetes/kubelet.conf",
        "kube-proxy.conf": "etc/kubernetes/kube-proxy.conf",
        "kubelet.crt": "var/lib/kubelet/pki/kubelet.crt",
        "kubelet.key": "var/lib/kubelet/pki/kubelet.key",
    }
    for name, place in places.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(made / name, root / place)


def _fill(source: Path, target: Path, values: dict[str, str]) -> None:
    text = source.read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    target.chmod(source.stat().st_mode & 0o777)


def _link(sources: dict[str, Path], out: Path) -> None:
    for name, source in sources.items():
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(source, target)
