# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev test`: everything that has to be green."""

from __future__ import annotations

import argparse

from . import demo, integration, lint, sanity, unit
from .tally import Tally


def run(options: argparse.Namespace) -> int:
    """Runs every part, also after one has failed. `--full` adds what takes long."""
    tally = Tally()
    for part in (lint.check, unit.check, sanity.check, integration.check, demo.check):
        tally.add(part())
    return tally.report()
