# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev unit`: pytest over tests/unit on the oldest and the newest ansible-core."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from . import collection, progress, venvs
from .machine import CHECKOUT
from .tally import Tally, from_junit

UNIT_SECONDS = 1800


def run(options: argparse.Namespace) -> int:
    return check(options.pytest).report()


def check(arguments: list[str] | None = None) -> Tally:
    """Runs the tests on every leg; `arguments` go to pytest."""
    tally = Tally()
    for leg in venvs.legs():
        environment = venvs.environment(leg)
        tally.add(pytest(environment, ["-n", "auto", *(arguments or ["tests/unit"])], f"unit tests, {leg.title}"))
    return tally


def pytest(environment: Path, arguments: list[str], title: str) -> Tally:
    """Runs pytest of a virtual environment in the checkout."""
    report = progress.log_path().with_name(f"{title.replace(' ', '-')}.xml")
    settings = {
        "ANSIBLE_COLLECTIONS_PATH": collection.search_path(),
        "ANSIBLE_HOME": str(collection.LOCAL_CACHE / "ansible"),
        "PYTHONPATH": collection.search_path(),
        "PATH": f"{environment}/bin:{os.environ['PATH']}",
    }
    command = [str(environment / "bin/python"), "-m", "pytest", "-q", f"--junitxml={report}", *arguments]
    said = Tally()
    said.command(title, command, cwd=CHECKOUT, env=settings, timeout=UNIT_SECONDS)
    counted = from_junit(report, title)
    if said.failures and not counted.failures:  # it died after its last test, or before its first
        counted.failures += said.failures
    return counted
