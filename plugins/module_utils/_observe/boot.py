# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what says when, and in which boot, facts were read. Private to this collection."""

from __future__ import annotations

from datetime import datetime, timezone

from .files import HostRoot

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def read_boot_id(host: HostRoot) -> str | None:
    """The kernel's id of this boot (random(4)): facts of another boot say nothing about what hardware loses."""
    return host.line(BOOT_ID)


def now() -> str:
    """UTC, to the second: 2026-11-30T22:12:24Z."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
