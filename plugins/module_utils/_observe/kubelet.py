# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what a host's kubelet is and how it was started. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .files import HostRoot
from .texts.kubelet_sockets import read_device_plugin_checkpoint

PROGRAMS = ("/usr/local/bin/kubelet", "/usr/bin/kubelet", "/opt/bin/kubelet")
CONFIGS = ("/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet.yaml", "/etc/kubernetes/kubelet-config.yaml")
DEFAULT_ROOT = "/var/lib/kubelet"
SOCKETS = "/var/lib/kubelet/device-plugins"
CHECKPOINT = f"{SOCKETS}/kubelet_internal_checkpoint"

# kubelet's own defaults (KubeletConfiguration v1beta1)
DEFAULT_CGROUP_DRIVER = "cgroupfs"


@dataclass(frozen=True)
class Kubelet:
    """``present``: it runs, or its program or config is there. Texts are empty where unknown.

    ``engine`` is the engine's name taken from the runtime endpoint; ``sockets`` are those of device plugins;
    ``registered``: resource -> number of devices that the kubelet knows, None where it has noted nothing.
    """

    present: bool
    running: bool
    root: str
    cgroup_driver: str
    endpoint: str
    node_name: str
    sockets: tuple[str, ...]
    registered: Mapping[str, int] | None = None

    @property
    def engine(self) -> str:
        """containerd, crio or docker; empty where the endpoint says none of them."""
        return next((e for e in ("containerd", "crio", "docker") if e in self.endpoint), "")


def read_kubelet(host: HostRoot) -> Kubelet:
    """The running process's flags win over its config file, as in the kubelet itself."""
    flags = _running_flags(host)
    path = (flags or {}).get("config", "")
    text = next((t for t in (host.text(p) for p in (path, *CONFIGS) if p) if t is not None), None)
    config = parse_config(text or "")
    known = flags or {}
    return Kubelet(
        present=flags is not None or text is not None or any(host.exists(p) for p in PROGRAMS),
        running=flags is not None,
        root=known.get("root-dir", DEFAULT_ROOT),
        cgroup_driver=known.get("cgroup-driver") or config.get("cgroupDriver", DEFAULT_CGROUP_DRIVER),
        endpoint=known.get("container-runtime-endpoint") or config.get("containerRuntimeEndpoint", ""),
        node_name=known.get("hostname-override", ""),
        sockets=tuple(n for n in host.names(SOCKETS) if n.endswith(".sock") and n != "kubelet.sock"),
        registered=_registered(host),
    )


def _registered(host: HostRoot) -> Mapping[str, int] | None:
    """A plugin's socket and its own log say nothing about what the kubelet took (read_device_plugin_checkpoint)."""
    text = host.text(CHECKPOINT)
    found = None if text is None else read_device_plugin_checkpoint(text)
    return found["registered"] if found and found["valid"] else None


def _running_flags(host: HostRoot) -> Mapping[str, str] | None:
    for pid in (n for n in host.names("/proc") if n.isdigit()):
        if host.line(f"/proc/{pid}/comm") == "kubelet":
            return parse_flags((host.text(f"/proc/{pid}/cmdline") or "").split("\0"))
    return None


def parse_flags(arguments: list[str]) -> dict[str, str]:
    """``--name=value`` and ``--name value`` to name -> value."""
    found: dict[str, str] = {}
    for number, argument in enumerate(arguments):
        name, sign, value = argument.partition("=")
        if not name.startswith("--"):
            continue
        following = arguments[number + 1] if number + 1 < len(arguments) else ""
        found[name[2:]] = value if sign else ("" if following.startswith("-") else following)
    return found


def parse_config(text: str) -> dict[str, str]:
    """The top-level texts of a KubeletConfiguration; nested keys are not needed."""
    rows = re.findall(r'^(\w+):[ \t]*["\']?([^"\'#\n]+?)["\']?[ \t]*$', text, re.MULTILINE)
    return dict(rows)
