# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a command and writes the most memory that one of its processes had: `peak.py FILE COMMAND ...`, KiB in FILE."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path


def main(file: str, *command: str) -> int:
    """The command's exit status."""
    status = subprocess.run(command, check=False).returncode
    # Of all descendants that were waited for (getrusage(2)); in KiB on Linux.
    Path(file).write_text(f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}\n")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
