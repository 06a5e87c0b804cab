# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``ls -l /dev/nvidia*``. Private to this collection. Source: ls(1); ApolloAuto/apollo#13130."""

from __future__ import annotations

import re
from typing import Any

DIRECTORY = re.compile(r"^(?P<path>/\S*):$")
NODE = re.compile(
    r"^(?P<type>[cb])(?P<permissions>[rwxsStT-]{9})[.+@]?\s+\d+\s+(?P<owner>\S+)\s+(?P<group>\S+)\s+"
    r"(?P<major>\d+),\s*(?P<minor>\d+)\s+(?P<rest>.*)$"
)
GPU = re.compile(r"/dev/(nvidia\d+)")
# Name in the result -> node whose numbers it has.
NODES = {
    "nvidiactl": "/dev/nvidiactl",
    "modeset": "/dev/nvidia-modeset",
    "uvm": "/dev/nvidia-uvm",
    "uvm_tools": "/dev/nvidia-uvm-tools",
}


def read_device_nodes(text: str) -> dict[str, Any]:
    """Device nodes.

    ``nodes``: rows of ``path``, ``type`` (c, b), ``permissions`` (rw-rw-rw-), ``owner``, ``group``, ``major``,
    ``minor``. ``gpus``: names such as nvidia0. ``nvidia_major`` (of the GPUs, else of nvidiactl), ``uvm_major``,
    ``caps_major``, ``imex_major``, ``nvidiactl_minor``, ``modeset_minor``, ``uvm_minor``, ``uvm_tools_minor``: None
    where the node is absent. ``caps``: names in /dev/nvidia-caps.
    """
    nodes = _nodes(text)
    by_path = {node["path"]: node for node in nodes}
    gpus = [found.group(1) for found in (GPU.fullmatch(path) for path in by_path) if found]
    of_gpus = [by_path[f"/dev/{name}"]["major"] for name in gpus]
    minors = {f"{name}_minor": by_path.get(path, {}).get("minor") for name, path in NODES.items()}
    return {
        "nodes": nodes,
        "gpus": gpus,
        "nvidia_major": of_gpus[0] if of_gpus else by_path.get("/dev/nvidiactl", {}).get("major"),
        "uvm_major": by_path.get("/dev/nvidia-uvm", {}).get("major"),
        "caps_major": _major_below(nodes, "/dev/nvidia-caps/"),
        "imex_major": _major_below(nodes, "/dev/nvidia-caps-imex-channels/"),
        **minors,
        "caps": [path.rsplit("/", 1)[1] for path in by_path if path.startswith("/dev/nvidia-caps/")],
    }


def _nodes(text: str) -> list[dict[str, Any]]:
    """A directory among the arguments is listed behind its name, with bare names in it."""
    nodes: list[dict[str, Any]] = []
    directory = "/dev"
    for line in text.splitlines():
        heading, found = DIRECTORY.match(line.strip()), NODE.match(line.strip())
        if heading:
            directory = heading["path"].rstrip("/")
        elif found:
            name = found["rest"].split()[-1] if found["rest"].split() else ""
            path = name if name.startswith("/") else f"{directory}/{name}"
            fields = {field: found[field] for field in ("type", "permissions", "owner", "group")}
            nodes.append({"path": path, **fields, "major": int(found["major"]), "minor": int(found["minor"])})
    return nodes


def _major_below(nodes: list[dict[str, Any]], directory: str) -> int | None:
    return next((node["major"] for node in nodes if node["path"].startswith(directory)), None)
