# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a running engine what it offers through the Container Runtime Interface. Private to this collection."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from .._catalog.engines import DISTRIBUTIONS
from .command import Run
from .texts.crictl_info import CriStatus, parse_info
from .texts.docker_info import read_docker_info

ENDPOINTS = {"containerd": "unix:///run/containerd/containerd.sock", "crio": "unix:///var/run/crio/crio.sock"}
POLL_SECONDS = 1.0


def endpoint_of(runtime: str, distribution: str = "") -> str | None:
    """Where the engine answers; None for one without the interface."""
    row = DISTRIBUTIONS.get(distribution)
    return f"unix://{row.socket}" if row else ENDPOINTS.get(runtime)


def read_cri(run: Run, endpoint: str) -> CriStatus:
    """One answer of ``crictl info`` (CRI Status)."""
    status, out, err = run(["crictl", "--runtime-endpoint", endpoint, "info"])
    if status != 0:
        return CriStatus(False, error=(err or out).strip() or f"crictl ended with status {status}")
    return parse_info(out)


def read_docker(run: Run) -> CriStatus:
    """The same of Docker, which has no Container Runtime Interface."""
    status, out, err = run(["docker", "info", "--format", "{{json .}}"])
    found = read_docker_info(out)
    error = (err or out).strip() if status != 0 else "; ".join(found["errors"])
    return CriStatus(not error, tuple(sorted(found["runtimes"] or ())), error)


def wait_for_handlers(ask: Callable[[], CriStatus], names: Sequence[str], *, seconds: float) -> CriStatus:
    """The first answer of ``ask`` in which the runtime is ready with all ``names``, or the last after ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        status = ask()
        if (status.ready and set(names) <= set(status.handlers)) or time.monotonic() >= end:
            return status
        time.sleep(POLL_SECONDS)
