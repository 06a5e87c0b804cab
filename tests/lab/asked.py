# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions to a host's own programs."""

from __future__ import annotations

import subprocess

from .host import Host

SECONDS = 60


def say(host: Host, script: str, *, seconds: float = SECONDS) -> tuple[int, str]:
    """Exit status of a shell script on the host, and all that it prints; it has so many seconds."""
    done = subprocess.run(
        host.command(["sh", "-c", script]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )
    return done.returncode, done.stdout


def answers(host: Host) -> bool:
    """Whether its sshd shows its key to who asks over the network."""
    scan = host.lab.command(["ssh-keyscan", "-T", "2", "-t", "ed25519", host.address])
    done = subprocess.run(scan, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
    return host.public_key.split()[1] in done.stdout
