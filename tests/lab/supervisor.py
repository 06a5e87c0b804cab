# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boots one host of a lab, and again whenever it reboots; runs inside the lab.

Started as `python -m lab.supervisor FOLDER MACHINE NAME [SOURCE:TARGET...]`. Ends when the host is powered off.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from . import cgroups, keeper

REBOOT = 133  # status of `systemd-nspawn --keep-unit` when the host asked for a reboot


def main(folder: Path, machine: str, name: str, binds: list[str]) -> None:
    status = REBOOT
    while status == REBOOT and not (folder / "stopped").exists():
        groups = prepare_cgroups(machine)
        status = subprocess.run(cgroups.joining(groups, nspawn(folder, machine, name, binds)), check=False).returncode


def prepare_cgroups(machine: str) -> list[Path]:
    """Fresh control groups of one host, in cgroup v2 and in every v1 hierarchy that the machine has.

    The host's processes start in them and get a cgroup namespace there. So a v1 hierarchy that is mounted inside the
    host (`mount -t cgroup -o memory cgroup DIR`, with the joint names of /proc/cgroups) shows this host's own folder as
    its root: a kubelet there needs no `cgroupRoot` and meets no other node's pods. CPUs and memory nodes of a v1 cpuset
    are filled in, for folders made below, too. What the last boot left is removed, as at a real reboot.
    """
    groups = [keeper.CGROUP2 / machine]
    if keeper.CGROUP1.exists():
        groups += [path / machine for path in keeper.CGROUP1.iterdir()]
    for group in groups:
        if group.exists():
            cgroups.remove_tree(group)
        group.mkdir(exist_ok=True)
    return groups


def nspawn(folder: Path, machine: str, name: str, binds: list[str]) -> list[str]:
    """The command that boots the host and ends with it."""
    return [
        "systemd-nspawn",
        *("--quiet", "--boot", "--register=no", "--keep-unit", "--console=read-only"),
        f"--directory={folder}/root",
        f"--machine={machine}",
        f"--hostname={name}",
        f"--network-bridge={keeper.BRIDGE}",
        "--capability=all",
        "--system-call-filter=add_key keyctl bpf perf_event_open",
        *(f"--bind={bind}" for bind in binds),
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
