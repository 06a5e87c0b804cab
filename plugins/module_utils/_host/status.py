# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu-fleet-host status: prints what this host has. Private to this collection."""

from __future__ import annotations

import json

from .._observe.gpu_stack import SUBSETS, missing_helpers, read_facts
from .._observe.lenient import LenientRoot
from .command import run as run_command
from .lines import complain, say


def run(*, host_root: str = "/") -> int:
    """Prints the facts of module gpu_info as JSON; exit status 1 where a Python package is missing."""
    host = LenientRoot(host_root)
    missing = missing_helpers(host, SUBSETS)
    if missing:
        complain(f"status: the Python packages {', '.join(missing)} are missing; run role gpu.fleet.prereq")
        return 1
    say(json.dumps(read_facts(host, run_command, SUBSETS), indent=2))
    return 0
