# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev test`: everything that has to be green."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

from . import bench, demo, demo_local, integration, lint, machine, progress, sanity, scale, unit
from .tally import Tally

# In this order: what fails fast comes first.
PARTS: dict[str, Callable[[], Tally]] = {
    "lint": lint.check,
    "unit": unit.check,
    "sanity": sanity.check,
    "integration": integration.collection_tests,
    "molecule": integration.short_molecule,
    "demo": demo.check,
}
FULL: dict[str, Callable[[], Tally]] = {
    **{title: partial(integration.long_tests, title) for title in integration.LONG},
    "all roles": integration.molecule,
    "MIG search": unit.mig_search,
    "damage search": unit.damage_search,
    "demo --local": demo_local.check,
    "bench": bench.check,
    "scale": scale.check,
}
# What a part may end with instead of a count: a command, the machine, or a lab that did not do its work.
BROKEN = (progress.CommandFailed, machine.Unfit, RuntimeError, TimeoutError)


def run(options: argparse.Namespace) -> int:
    """Runs every part, also after one has failed. `--full` adds what takes long."""
    tally, summary = Tally(), []
    for name, check in {**PARTS, **(FULL if options.full else {})}.items():
        begin = time.monotonic()
        found = part(name, check)
        summary.append(
            f"{name:14}{found.passed:6} passed,{len(found.failures):4} failed,{time.monotonic() - begin:8.1f} s"
        )
        progress.say(summary[-1])
        tally.add(found)
    print("\n".join(["", *summary]))
    return tally.report()


def part(name: str, check: Callable[[], Tally]) -> Tally:
    """What one part counted; when it broke off, that is its one failure."""
    try:
        return check()
    except BROKEN as error:
        progress.say(f"{name} broke off: {error}")
        return Tally(failures=[f"{name}: it broke off ({type(error).__name__})"])
