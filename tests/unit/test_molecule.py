# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the molecule scenarios have in common: one for each role, the same files, and no proof by the role itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.states import HOST_ROLES
from dev import integration

ROOT = Path(__file__).parents[2]
MOLECULE = ROOT / "extensions/molecule"
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
FILES = {"molecule.yml", "converge.yml", "verify.yml", "side_effect.yml"}
GUARD = MOLECULE / "resources/hosts.yml"
# All that molecule runs but what a user would write, and what does nothing.
UNGUARDED = ("molecule.yml", "converge.yml", "destroy.yml")
GUARDED = sorted(path for path in MOLECULE.glob("*/*.yml") if path.name not in UNGUARDED)
IMPORT = "ansible.builtin.import_playbook"


def load(path):
    return yaml.safe_load(path.read_text())


def test_every_role_has_a_scenario_that_is_run():
    scenarios = {path.parent.name for path in MOLECULE.glob("*/molecule.yml")}
    assert scenarios == {"default", *ROLES}
    assert sorted(integration.ROLES) == ROLES


def test_roles_of_hosts_are_run_in_the_order_of_site():
    assert integration.ROLES[: len(HOST_ROLES)] == HOST_ROLES


@pytest.mark.parametrize("role", ROLES)
def test_scenario_has_the_files_that_the_sequence_wants(role):
    found = {path.name for path in (MOLECULE / role).iterdir()}
    assert found - {"prepare.yml"} == FILES | {"gone.yml"}


@pytest.mark.parametrize("role", ROLES)
def test_scenario_brings_its_role_and_nothing_else(role):
    (play,) = load(MOLECULE / role / "converge.yml")
    assert play["hosts"] == "gpu_hosts"
    names = [entry if isinstance(entry, str) else entry["role"] for entry in play["roles"]]
    assert names == [f"gpu.fleet.{role}"]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", ["verify.yml", "gone.yml", "side_effect.yml"])
def test_what_is_proved_and_broken_is_done_by_other_programs(role, name):
    assert "gpu.fleet." not in (MOLECULE / role / name).read_text()


@pytest.mark.parametrize("path", GUARDED, ids=lambda path: str(path.relative_to(MOLECULE)))
def test_playbook_looks_at_the_inventory_first(path):
    while path != GUARD:
        first = load(path)[0]
        assert IMPORT in first, path
        path = (path.parent / first[IMPORT]).resolve()
