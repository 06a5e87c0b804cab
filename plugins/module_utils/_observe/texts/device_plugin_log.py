# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the log of NVIDIA's device plugin. Private to this collection.

``Registered`` is the plugin's own word: it stands there too when the kubelet has lost it since.
"""

from __future__ import annotations

import re
from typing import Any

from .container_log import read_container_log

STARTING = re.compile(r"Starting GRPC server for '([^']{1,200})'")
SERVING = re.compile(r"Starting to serve '([^']{1,200})' on (\S{1,300})")
# A checkpoint of the kubelet that was copied along.
NOTHING_REGISTERED = re.compile(r'"?RegisteredDevices\\?"?\s*:\s*(?:\{\s*\}|null|map\[\])')
REGISTERED = re.compile(r"Registered device plugin for '([^']{1,200})' with Kubelet")


def read_device_plugin_log(text: str) -> dict[str, Any]:
    """What the plugin says that it offers, and what went wrong.

    ``resources``: rows of ``resource``, ``socket`` (path; None where it is not told) and ``registered``: ``claimed``,
    or None. The keys of the first row stand at the top. ``confirm_with``: what proves a claim; ``lost_registration``:
    True where a checkpoint of the kubelet beside the log has no device. Further keys as in
    read_container_log.
    """
    sockets = dict(SERVING.findall(text))
    claimed = set(REGISTERED.findall(text))
    names = dict.fromkeys([*STARTING.findall(text), *sockets, *sorted(claimed)])
    rows = [{"resource": n, "socket": sockets.get(n), "registered": "claimed" if n in claimed else None} for n in names]
    first: dict[str, Any] = rows[0] if rows else {"resource": None, "socket": None, "registered": None}
    lost = True if NOTHING_REGISTERED.search(text) else None
    confirm = "socket in host listing" if claimed else None
    return {**read_container_log(text), **first, "resources": rows, "confirm_with": confirm, "lost_registration": lost}
