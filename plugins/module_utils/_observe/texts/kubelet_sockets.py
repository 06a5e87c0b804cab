# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the kubelet's folder of device plugins: its listing and its checkpoint. Private to this collection."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

KUBELET, CHECKPOINT, DEPRECATION = "kubelet.sock", "kubelet_internal_checkpoint", "DEPRECATION"
SOCKET = re.compile(r"[\w.-]{1,200}\.sock$")
# The device plugin's socket in 2018; then nvidia-gpu.sock, and nvidia-mig-<profile>.sock with strategy mixed.
OLD_NAME = "nvidia.sock"


def read_device_plugin_folder(text: str) -> dict[str, Any]:
    """``ls`` of /var/lib/kubelet/device-plugins, in any of its forms.

    ``kubelet_sock``, ``checkpoint``, ``deprecation``: whether the file is there; ``plugin_socks``: NVIDIA's sockets;
    ``other_socks``: those of other plugins; ``old_name``: the socket has the name of 2018.
    """
    names = {word.rsplit("/", 1)[-1] for line in text.splitlines() for word in line.split()}
    sockets = sorted(n for n in names if SOCKET.match(n) and n != KUBELET)
    ours = [n for n in sockets if n.startswith("nvidia")]
    return {
        "kubelet_sock": KUBELET in names,
        "plugin_socks": ours,
        "other_socks": [n for n in sockets if n not in ours],
        "old_name": OLD_NAME in ours,
        "checkpoint": CHECKPOINT in names,
        "deprecation": DEPRECATION in names,
    }


def read_device_plugin_checkpoint(text: str) -> dict[str, Any]:
    """kubelet_internal_checkpoint.

    ``registered``: resource -> number of devices that the kubelet knows; ``allocated``: resource -> number of devices
    that containers hold. ``lost_registration``: nothing is registered although containers hold devices, or at all:
    whatever a plugin's log says. ``valid``: the text is the checkpoint; else ``error`` says why not.
    """
    document, error = _document(text)
    data = document.get("Data")
    data = data if isinstance(data, Mapping) else {}
    devices, entries = data.get("RegisteredDevices"), data.get("PodDeviceEntries")
    registered = {
        str(name): len(ids) if isinstance(ids, list) else 0
        for name, ids in (devices.items() if isinstance(devices, Mapping) else ())
    }
    allocated: dict[str, int] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("ResourceName"), str):
            name = entry["ResourceName"]
            allocated[name] = allocated.get(name, 0) + _devices(entry.get("DeviceIDs"))
    return {
        "registered": registered,
        "allocated": allocated,
        "lost_registration": not any(registered.values()) if error is None else None,
        "valid": error is None,
        "error": error,
    }


def _document(text: str) -> tuple[Mapping[str, Any], str | None]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        return {}, str(problem)
    if not isinstance(document, Mapping) or "Data" not in document:
        return {}, "it has no key Data"
    return document, None


def _devices(ids: Any) -> int:
    """Device ids by NUMA node (Kubernetes 1.20 and later), or one list."""
    if isinstance(ids, Mapping):
        return sum(len(v) for v in ids.values() if isinstance(v, list))
    return len(ids) if isinstance(ids, list) else 0
