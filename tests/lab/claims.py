# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must be true of a fleet that gpu.fleet made ready, asked of users' own programs: podman, kubectl, nvidia-smi."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from .cluster.controlplane import ControlPlane
from .cluster.images import SAMPLE as IMAGE
from .host import Host

IMAGES = "/usr/local/share/lab/images.tar"
LIST_NODES = "find /dev -name 'nvidia*' | sort"
POD_SECONDS = 60


class ClaimFailed(Exception):
    """Something that must be true is not; the text has what was wanted and what was found."""


def hold(title: str, *, wanted: object, found: object) -> None:
    """Raises ClaimFailed unless both are equal."""
    if wanted != found:
        raise ClaimFailed(f"{title}\n  wanted: {wanted}\n  found:  {found}")


def podman_nodes(host: Host, device: str) -> list[str]:
    """The /dev/nvidia* names in a container that asked podman for one CDI device, as nvidia.com/gpu=0."""
    if IMAGE not in host.run(["podman", "images", "--format", "{{.Repository}}:{{.Tag}}"]):
        host.run(["podman", "load", "--input", IMAGES])
    options = ["--rm", "--network=none", "--pull=never", f"--device={device}"]
    return host.run(["podman", "run", *options, IMAGE, "sh", "-c", LIST_NODES]).split()


def gpu_nodes(names: list[str]) -> list[str]:
    """Those that are a whole GPU: /dev/nvidia0, not /dev/nvidiactl."""
    return [n for n in names if n.removeprefix("/dev/nvidia").isdigit()]


def allocatable(plane: ControlPlane, node: str) -> dict[str, int]:
    """The node's allocatable nvidia.com resources that are not zero."""
    status = json.loads(plane.kubectl("get", "node", node, "-o", "json"))["status"]
    return {k: int(v) for k, v in status.get("allocatable", {}).items() if k.startswith("nvidia.com/") and int(v)}


def gpu_pod(node: str, resource: str, *, name: str) -> dict[str, Any]:
    """A pod that asks for one of `resource` on a node, lists its device nodes, and stays until it is deleted."""
    container = {
        "name": "sample",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", f"{LIST_NODES}; sleep 600"],
        "resources": {"limits": {resource: "1"}},
    }
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def pod_nodes(plane: ControlPlane, node: str, resource: str) -> list[str]:
    """The /dev/nvidia* names in a pod on `node` that asked the scheduler for one of `resource`."""
    name = f"sample-{node}"
    manifest = plane.folder / f"{name}.json"
    manifest.write_text(json.dumps(gpu_pod(node, resource, name=name)))
    plane.kubectl("delete", "pod", name, "--ignore-not-found", "--wait=true")
    plane.kubectl("apply", "-f", str(manifest))
    try:
        wait_for(f"pod {name} runs", lambda: _phase(plane, name) == "Running", POD_SECONDS)
        return plane.kubectl("exec", name, "--", "sh", "-c", LIST_NODES).split()
    except ClaimFailed as error:
        raise ClaimFailed(f"{error}\n{plane.kubectl('describe', 'pod', name)[-1500:]}") from error
    finally:
        plane.kubectl("delete", "pod", name, "--ignore-not-found", "--wait=true")


def wait_for(title: str, holds: Callable[[], bool], seconds: float) -> None:
    """Waits until `holds()`; ClaimFailed after `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise ClaimFailed(f"{title}: not within {seconds:.0f} s")
        time.sleep(0.5)


def _phase(plane: ControlPlane, name: str) -> str:
    return plane.kubectl("get", "pod", name, "-o", "jsonpath={.status.phase}").strip()
