# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev lint`: every linter, each with its settings in the checkout."""

from __future__ import annotations

import argparse
import sys

from . import collection
from .machine import CHECKOUT
from .tally import Tally

TYPED_TESTS = ["tests/dev", "tests/lab", "tests/simulator", "tests/integration"]
LINT_SECONDS = 600
ANSIBLE_LINT = ["ansible-lint", "--offline", "--nocolor", "--parseable", "--profile", "production", "--strict"]
CHECKS: dict[str, tuple[list[str], dict[str, str]]] = {
    "ruff": (["ruff", "check", "."], {}),
    "mypy, the collection": (["mypy", "plugins"], {}),
    "mypy, the test bed": (["mypy", *TYPED_TESTS], {"MYPYPATH": "tests"}),
    "ansible-lint": (ANSIBLE_LINT, {}),
    "antsibull-docs": (
        ["antsibull-docs", "lint-collection-docs", "--plugin-docs", "--validate-collection-refs", "self", "."],
        {},
    ),
    "antsibull-changelog": (["antsibull-changelog", "lint"], {}),
    "galaxy-importer and pages": ([sys.executable, "-m", "dev.publish"], {"PYTHONPATH": str(CHECKOUT / "tests")}),
}


def run(_options: argparse.Namespace) -> int:
    return check().report()


def check() -> Tally:
    """Runs every linter, also after one has failed."""
    tally = Tally()
    common = {
        "ANSIBLE_COLLECTIONS_PATH": collection.search_path(),
        "ANSIBLE_HOME": str(collection.LOCAL_CACHE / "ansible"),
        "NO_COLOR": "1",
    }
    for title, (command, settings) in CHECKS.items():
        tally.command(title, command, cwd=CHECKOUT, env={**common, **settings}, timeout=LINT_SECONDS)
    return tally
