# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a running engine what it offers through the Container Runtime Interface. Private to this collection."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

from .command import Run

ENDPOINTS = {"containerd": "unix:///run/containerd/containerd.sock", "crio": "unix:///var/run/crio/crio.sock"}
POLL_SECONDS = 1.0


@dataclass(frozen=True)
class CriStatus:
    """``ready``: the runtime says so; ``handlers`` that pods can name. ``error``: why it could not be asked."""

    ready: bool
    handlers: tuple[str, ...] = ()
    error: str = ""


def read_cri(run: Run, runtime: str) -> CriStatus:
    """One answer of ``crictl info`` (CRI Status)."""
    status, out, err = run(["crictl", "--runtime-endpoint", ENDPOINTS[runtime], "info"])
    if status != 0:
        return CriStatus(False, error=(err or out).strip() or f"crictl ended with status {status}")
    return parse_info(out)


def parse_info(text: str) -> CriStatus:
    """``crictl info`` prints JSON: the Status message of the CRI, and the engine's configuration."""
    document = json.loads(text)
    conditions = document.get("status", {}).get("conditions", [])
    ready = any(c.get("type") == "RuntimeReady" and c.get("status") for c in conditions)
    named = [h.get("name", "") for h in document.get("runtimeHandlers") or []]
    configured = document.get("config", {}).get("containerd", {}).get("runtimes", {})
    return CriStatus(ready, tuple(sorted({*named, *configured} - {""})))


def wait_for_handlers(run: Run, runtime: str, names: Sequence[str], *, seconds: float) -> CriStatus:
    """The first answer in which the runtime is ready with all ``names``, or the last one after ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        status = read_cri(run, runtime)
        if (status.ready and set(names) <= set(status.handlers)) or time.monotonic() >= end:
            return status
        time.sleep(POLL_SECONDS)
