# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of the outer machine that all labs of one user share, and that no namespace widens."""

from __future__ import annotations

import os
from pathlib import Path

from dev import machine

from . import processes

INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
PER_HOST = 20  # measured on a node: systemd and kubelet 7 each, containerd 2, one each of four others


def require_inotify() -> None:
    """machine.Unfit where one more host would find no instance: its kubelet would say `too many open files`."""
    limit, used = int(INOTIFY.read_text()), inotify_instances()
    if used + PER_HOST > limit:
        raise machine.Unfit(
            f"{used} of the {limit} inotify instances of this user are taken, a lab host needs {PER_HOST}: stop labs "
            f"(`./dev lab status`, `./dev lab down --lab ID`), or raise fs.inotify.max_user_instances by sysctl"
        )


def inotify_instances() -> int:
    """How many inotify instances the processes hold that can be seen from here."""
    return sum(_held(pid) for pid in processes.all_pids())


def _held(pid: int) -> int:
    folder = f"/proc/{pid}/fd"
    try:
        return sum(os.readlink(f"{folder}/{number}") == "anon_inode:inotify" for number in os.listdir(folder))
    except (FileNotFoundError, ProcessLookupError, PermissionError):  # gone meanwhile, or not of this user
        return 0
