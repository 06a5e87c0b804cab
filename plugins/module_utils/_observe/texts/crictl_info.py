# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``crictl info``: the Status message of the CRI, and the engine's configuration. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .container_log import read_container_log
from .documents import parse_json, rows_of, table_of

NVIDIA = "nvidia"


@dataclass(frozen=True)
class CriStatus:
    """``ready``: the runtime says so; ``handlers`` that pods can name. ``error``: why it could not be asked."""

    ready: bool
    handlers: tuple[str, ...] = ()
    error: str = ""


def parse_info(text: str) -> CriStatus:
    """The answer of a running engine; ``error`` for a text that is none."""
    parsed = parse_json(text)
    if not isinstance(parsed.document, Mapping):
        return CriStatus(False, error=parsed.error or "crictl info printed no object")
    document = parsed.table
    conditions = rows_of(table_of(document.get("status")).get("conditions"))
    ready = any(c.get("type") == "RuntimeReady" and c.get("status") for c in conditions)
    named = [str(h.get("name") or "") for h in rows_of(document.get("runtimeHandlers"))]
    containerd = table_of(table_of(document.get("config")).get("containerd"))
    return CriStatus(ready, tuple(sorted({*named, *table_of(containerd.get("runtimes"))} - {""})))


def read_crictl_info(text: str) -> dict[str, Any]:
    """``ready``: the runtime says so (None: it was not asked); ``handlers`` that pods can name; ``nvidia_runtime``:
    whether NVIDIA's is one. ``valid``, else ``error`` and the keys of read_container_log.
    """
    status = parse_info(text)
    if status.error:
        log = read_container_log(text)
        return {**log, "ready": None, "handlers": [], "nvidia_runtime": None, "valid": False, "error": status.error}
    return {
        "ready": status.ready,
        "handlers": list(status.handlers),
        "nvidia_runtime": any(NVIDIA in name for name in status.handlers),
        "valid": True,
        "error": None,
    }
