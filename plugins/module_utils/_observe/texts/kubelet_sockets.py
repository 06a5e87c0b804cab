# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the kubelet's folder of device plugins: its listing and its checkpoint. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .documents import parse_json, rows_of, table_of, texts_of

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
    data = table_of(document.get("Data"))
    registered = {str(name): _devices(ids) for name, ids in table_of(data.get("RegisteredDevices")).items()}
    allocated: dict[str, int] = {}
    for entry in rows_of(data.get("PodDeviceEntries")):
        name = str(entry.get("ResourceName"))
        allocated[name] = allocated.get(name, 0) + _devices(entry.get("DeviceIDs"))
    return {
        "registered": registered,
        "allocated": allocated,
        "lost_registration": not any(registered.values()) if error is None else None,
        "valid": error is None,
        "error": error,
    }


def _document(text: str) -> tuple[Mapping[str, Any], str | None]:
    parsed = parse_json(text)
    if parsed.error or "Data" not in parsed.table:
        return {}, parsed.error or "it has no key Data"
    return parsed.table, None


def _devices(ids: Any) -> int:
    """Device ids by NUMA node (Kubernetes 1.20 and later), or one list."""
    lists = [*table_of(ids).values()] if isinstance(ids, Mapping) else [ids]
    return sum(len(texts_of(one)) for one in lists)
