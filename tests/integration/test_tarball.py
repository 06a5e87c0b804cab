# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as it is published: built, installed into another folder, and run from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from dev import collection
from dev.machine import CHECKOUT
from lab import proving
from lab.lab import Lab
from lab.watched import Watched, watch


@pytest.fixture(scope="module")
def installed(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds `ansible_collections/gpu/fleet`, out of the tarball."""
    folder = tmp_path_factory.mktemp("installed")
    galaxy = ["ansible-galaxy", "collection"]
    lab.run([*galaxy, "build", CHECKOUT, "--output-path", folder], env=lab.ansible_env(), timeout=300)
    (tarball,) = folder.glob("gpu-fleet-*.tar.gz")
    lab.run(
        [*galaxy, "install", tarball, "--no-deps", "-p", folder],
        env={**lab.ansible_env(), **away_from_checkout(folder)},
        timeout=300,
    )
    return folder


@pytest.fixture(scope="module")
def planned_from_there(lab: Lab, repeated: Watched, installed: Path) -> Watched:
    """plan of the installed collection; the checkout is not on the search path."""
    return watch(lab, "gpu.fleet.plan", "-v", env=away_from_checkout(installed))


def away_from_checkout(folder: Path) -> dict[str, str]:
    """Settings under which Ansible finds the collection in `folder` alone; it also looks along PYTHONPATH."""
    return {"ANSIBLE_COLLECTIONS_PATH": f"{folder}:{collection.dependencies()}", "PYTHONPATH": ""}


def test_tarball_holds_no_tests_caches_or_tools(installed: Path) -> None:
    names = {path.name for path in (installed / "ansible_collections/gpu/fleet").iterdir()}
    assert names & {".git", ".cache", ".ci", "dev"} == set()
    assert {"plugins", "roles", "playbooks", "meta", "LICENSE", "README.md"} <= names


def test_plan_runs_from_the_other_folder(planned_from_there: Watched) -> None:
    assert planned_from_there.run.status == 0, planned_from_there.run.end()
    assert planned_from_there.steps().total() == 0
    assert "Nothing would change." in planned_from_there.run.text
    assert {row["host"] for row in planned_from_there.run.report["states"]} == set(proving.RESOURCES)


def test_nothing_of_the_checkout_was_used(planned_from_there: Watched, installed: Path) -> None:
    used = [line for line in planned_from_there.run.text.splitlines() if "ansible_collections/gpu/fleet" in line]
    assert used, planned_from_there.run.end()
    assert [line for line in used if str(installed) not in line] == []
