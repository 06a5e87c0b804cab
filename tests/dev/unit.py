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
# The searches that every run does in part, as a whole: examples of MIG plans, kills before every NVML call.
MIG_SEARCH = {"GPU_FLEET_MIG_EXAMPLES": "20000", "GPU_FLEET_MIG_STRIDE": "1"}
MIG_TESTS = ["tests/unit/cases/test_mig_properties.py", "tests/unit/cases/test_mig_kills.py"]
SEARCH_SECONDS = 5400


# Damaged files of the loader, the kernel, the engines and CDI: minutes for each kind.
DAMAGE_SEARCH = {"GPU_FLEET_EXAMPLES": "1500"}
DAMAGE_TESTS = ["tests/unit/cases/test_cdi_engine_properties.py"]


def run(options: argparse.Namespace) -> int:
    return check(options.pytest).report()


def check(arguments: list[str] | None = None) -> Tally:
    """Runs the tests on every leg; `arguments` go to pytest."""
    tally = Tally()
    for leg in venvs.legs():
        environment = venvs.environment(leg)
        tally.add(pytest(environment, ["-n", "auto", *(arguments or ["tests/unit"])], f"unit tests, {leg.title}"))
    return tally


def mig_search() -> Tally:
    """The long form of the MIG searches, on the newest ansible-core."""
    environment = venvs.environment(venvs.legs()[-1])
    return pytest(environment, ["-n", "auto", *MIG_TESTS], "MIG search", settings=MIG_SEARCH, seconds=SEARCH_SECONDS)


def damage_search() -> Tally:
    """The long form of the search for files that readers and writers of the toolkit's part stumble over."""
    environment = venvs.environment(venvs.legs()[-1])
    arguments = ["-n", "auto", *DAMAGE_TESTS]
    return pytest(environment, arguments, "damage search", settings=DAMAGE_SEARCH, seconds=SEARCH_SECONDS)


def pytest(
    environment: Path,
    arguments: list[str],
    title: str,
    *,
    settings: dict[str, str] | None = None,
    seconds: int = UNIT_SECONDS,
) -> Tally:
    """Runs pytest of a virtual environment in the checkout; `settings` are further environment variables."""
    report = progress.log_path().with_name(f"{title.replace(' ', '-')}.xml")
    variables = {
        **(settings or {}),
        "ANSIBLE_COLLECTIONS_PATH": collection.search_path(),
        "ANSIBLE_HOME": str(collection.LOCAL_CACHE / "ansible"),
        "PYTHONPATH": collection.search_path(),
        "PATH": f"{environment}/bin:{os.environ['PATH']}",
    }
    command = [str(environment / "bin/python"), "-m", "pytest", "-q", f"--junitxml={report}", *arguments]
    said = Tally()
    said.command(title, command, cwd=CHECKOUT, env=variables, timeout=seconds)
    counted = from_junit(report, title)
    if said.failures and not counted.failures:  # it died after its last test, or before its first
        counted.failures += said.failures
    return counted
