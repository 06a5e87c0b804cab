# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev integration`: pytest over tests/integration and the molecule scenarios, inside a fresh lab."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from lab import access, proving
from lab.fleet import bring_up, make_bare
from lab.lab import Lab
from lab.suites import SUITES

from . import collection, progress
from .machine import CHECKOUT
from .tally import Tally, from_junit

# The order of site: what a role stands on is there already when its scenario comes.
ROLES = ("prereq", "driver", "mig", "toolkit", "validation", "device_plugin", "gfd", "dcgm")
TESTS = CHECKOUT / "tests/integration"
# What speaks of the test bed rather than of the collection, or takes long: title in `./dev test --full` -> tests.
LONG = {
    "test bed": "tests/integration/bed",
    "packages": "tests/integration/packages",
    "driver": "tests/integration/driver",
    "driver components": "tests/integration/components",
    "many nodes": "tests/integration/test_many_nodes.py",
}
# Of the parts of LONG, what `./dev test` has too, and the systems that it boots hosts of.
SHORT = tuple(
    f"tests/integration/driver/test_life_cycle.py::{name}[rhel9]"
    for name in ("test_install", "test_an_upgrade_of_everything_leaves_the_driver", "test_upgrade", "test_remove")
)
SHORT_SYSTEMS = ("rhel9",)
SHORT_ROLES = ("mig", "device_plugin")
PYTEST_SECONDS, MOLECULE_SECONDS = 3000, 900


def run(options: argparse.Namespace) -> int:
    """With arguments, they go to pytest; without, it is what `./dev test` runs, molecule included."""
    tally = in_lab(options.pytest) if options.pytest else collection_tests().add(molecule())
    return tally.report()


def collection_tests() -> Tally:
    """The tests of the collection: all but the long ones, and of those what stands for its kind."""
    tests = sorted(path.relative_to(CHECKOUT).as_posix() for path in TESTS.glob("test_*.py"))
    return in_lab([*(name for name in tests if name not in LONG.values()), *SHORT], also=SHORT_SYSTEMS)


def long_tests(title: str) -> Tally:
    """One part of LONG."""
    return in_lab([LONG[title]])


def in_lab(arguments: list[str], *, also: Iterable[str] = tuple(SUITES)) -> Tally:
    """Runs pytest in a lab with the usual two hosts; `arguments` go to it. `also`: systems that tests boot hosts of."""
    with Lab.start() as lab:
        bring_up(lab, proving.SPECS, cluster=True, also=also)
        return pytest(lab, arguments)


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


def short_molecule() -> Tally:
    """The playbook, a role of the hosts and one of the cluster: what `./dev test` runs."""
    return molecule(SHORT_ROLES)


def molecule(roles: Iterable[str] = ROLES) -> Tally:
    """Molecule scenarios, one after the other on the hosts of one lab: `default`, and those of `roles`."""
    tally = Tally()
    with Lab.start() as lab:
        bring_up(lab, proving.SPECS, cluster=True)
        proving.write_variables(lab)
        # The playbook site, on bare hosts and without a cluster; then each role, on bare hosts again.
        scenario(tally, lab, "default", dict.fromkeys(access.CLUSTER, ""))
        make_bare(lab)
        for role in roles:
            scenario(tally, lab, role)
    return tally


def scenario(tally: Tally, lab: Lab, name: str, more: Mapping[str, str] = MappingProxyType({})) -> None:
    """One molecule scenario as one check; `more` is added to its environment."""
    settings = {**lab.ansible_env(), "NO_COLOR": "1", **more}
    command = lab.command(["molecule", "test", "--scenario-name", name])
    tally.command(f"molecule {name}", command, cwd=CHECKOUT, env=settings, timeout=MOLECULE_SECONDS)
