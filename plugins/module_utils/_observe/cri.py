# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a running engine what it offers through the Container Runtime Interface. Private to this collection."""

from __future__ import annotations

import time
from collections.abc import Sequence

from .command import Run
from .texts.crictl_info import CriStatus, parse_info

ENDPOINTS = {"containerd": "unix:///run/containerd/containerd.sock", "crio": "unix:///var/run/crio/crio.sock"}
POLL_SECONDS = 1.0


def read_cri(run: Run, runtime: str) -> CriStatus:
    """One answer of ``crictl info`` (CRI Status)."""
    status, out, err = run(["crictl", "--runtime-endpoint", ENDPOINTS[runtime], "info"])
    if status != 0:
        return CriStatus(False, error=(err or out).strip() or f"crictl ended with status {status}")
    return parse_info(out)


def wait_for_handlers(run: Run, runtime: str, names: Sequence[str], *, seconds: float) -> CriStatus:
    """The first answer in which the runtime is ready with all ``names``, or the last one after ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        status = read_cri(run, runtime)
        if (status.ready and set(names) <= set(status.handlers)) or time.monotonic() >= end:
            return status
        time.sleep(POLL_SECONDS)
