# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits until something on ADDRESS PORT speaks first, as sshd does; status 1 when it does not within SECONDS."""

from __future__ import annotations

import socket
import sys
import time


def speaks(address: str, port: int) -> bool:
    """Whether a connection is accepted and gets a greeting within one second."""
    try:
        with socket.create_connection((address, port), timeout=1) as connection:
            connection.settimeout(1)
            return bool(connection.recv(1))
    except OSError:
        return False


def main(address: str, port: int, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while not speaks(address, port):
        if time.monotonic() > deadline:
            return 1
        time.sleep(0.1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
