# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev integration`: pytest over tests/integration and the molecule scenarios, inside a fresh lab."""

from __future__ import annotations

import argparse
import sys

from lab import proving
from lab.fleet import bring_up
from lab.lab import Lab
from lab.suites import SUITES

from . import collection, progress
from .machine import CHECKOUT
from .tally import Tally, from_junit

SCENARIOS = CHECKOUT / "extensions/molecule"
PYTEST_SECONDS, MOLECULE_SECONDS = 3000, 2700


def run(options: argparse.Namespace) -> int:
    """With arguments, they go to pytest, and molecule is left out."""
    tally = in_lab(options.pytest)
    if not options.pytest:
        tally.add(molecule())
    return tally.report()


def in_lab(arguments: list[str] | None = None) -> Tally:
    """Runs pytest in a lab with the usual two hosts; `arguments` go to it."""
    with Lab.start() as lab:
        bring_up(lab, proving.SPECS, cluster=True, also=SUITES)
        return pytest(lab, arguments or ["tests/integration"])


def pytest(lab: Lab, arguments: list[str]) -> Tally:
    """Runs pytest inside the lab, where `Lab.current()` is the lab."""
    title = "integration tests"
    report = progress.log_path().with_name("integration.xml")
    settings = {**lab.ansible_env(), "PYTHONPATH": collection.search_path()}
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *arguments]
    said = Tally()
    said.command(title, lab.command(command), cwd=CHECKOUT, env=settings, timeout=PYTEST_SECONDS)
    counted = from_junit(report, title)
    if said.failures and not counted.failures:
        counted.failures += said.failures
    return counted


def molecule() -> Tally:
    """Every molecule scenario in a lab of its own, with bare hosts and no cluster."""
    tally = Tally()
    for scenario in sorted(path.parent.name for path in SCENARIOS.glob("*/molecule.yml")):
        with Lab.start() as lab:
            bring_up(lab, proving.SPECS, cluster=False)
            proving.write_variables(lab)
            settings = {
                **lab.ansible_env(),
                "GPU_FLEET_INVENTORY": str(lab.folder / "inventory"),
                "MOLECULE_EPHEMERAL_DIRECTORY": str(lab.folder / "molecule"),
            }
            command = lab.command(["molecule", "test", "--scenario-name", scenario])
            tally.command(f"molecule {scenario}", command, cwd=CHECKOUT, env=settings, timeout=MOLECULE_SECONDS)
    return tally
