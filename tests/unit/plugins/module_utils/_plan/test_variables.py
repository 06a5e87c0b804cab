# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that nothing reads."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._catalog import variables as catalog
from ansible_collections.gpu.fleet.plugins.module_utils._plan.variables import unread_variables

ROOT = Path(__file__).parents[5]
ROLES = ("driver_version", "driver_branch", "mig_selected_config", "toolkit_runtime_handlers")

# variable -> remedy, None where it is no finding
NAMES = {
    "driver_versoin": "write driver_version",
    "mig_select_config": "write mig_selected_config",
    "toolkit_runtime_handler": "write toolkit_runtime_handlers",
    "gpu_fleet_mig_stratgey": "write gpu_fleet_mig_strategy",
    "gpu_fleet_xyz": "remove gpu_fleet_xyz, or look for its name in README.md",
    "driver_version": None,
    "gpu_fleet_registry": None,
    "driver_result": None,
    "driver_license_plate": None,
    "validation_of_something_else": None,
    "gpu_fleet_plan_only": None,
    "gpu_fleet_findings": None,
}


@pytest.mark.parametrize(("name", "remedy"), NAMES.items())
def test_only_what_looks_like_ours_and_is_not_is_named(name, remedy):
    found = unread_variables([name], known=ROLES)
    assert [f["remedy"] for f in found] == ([] if remedy is None else [remedy])
    assert all(f["severity"] == "warning" and name in f["summary"] for f in found)


def test_findings_are_in_the_order_of_names():
    found = unread_variables(sorted(NAMES, reverse=True), known=ROLES)
    names = [f["summary"].split()[1] for f in found]
    assert names == sorted(n for n, remedy in NAMES.items() if remedy)


def test_readme_has_every_shared_variable():
    text = (ROOT / "README.md").read_text()
    rows = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `gpu_fleet_")}
    assert rows == set(catalog.SHARED)


def test_the_playbooks_check_every_shared_variable():
    tasks = yaml.safe_load((ROOT / "playbooks/tasks/look.yml").read_text())
    (checked,) = [task["vars"]["__look_shared"] for task in tasks if "__look_shared" in task.get("vars", {})]
    assert checked == list(catalog.SHARED)
