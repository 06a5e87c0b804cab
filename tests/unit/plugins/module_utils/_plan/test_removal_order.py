# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which roles have to go before others."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._catalog.states import HOST_ROLES
from ansible_collections.gpu.fleet.plugins.module_utils._plan.removal_order import EARLIER, find_not_removed

ROOT = Path(__file__).parents[5]

# records on the host, check mode -> (role, severity) of the findings
CASES = {
    "alone": (["driver", "prereq"], False, []),
    "nothing": ([], False, []),
    "mig": (["driver", "mig"], False, [("mig", "error")]),
    "mig, in check mode": (["driver", "mig"], True, [("mig", "warning")]),
    "toolkit": (["driver", "toolkit"], False, [("toolkit", "warning")]),
    "both": (["toolkit", "mig"], False, [("mig", "error"), ("toolkit", "warning")]),
}


@pytest.mark.parametrize(("records", "planned", "found"), CASES.values(), ids=CASES)
def test_driver_goes_after_what_needs_it(records, planned, found):
    findings = find_not_removed("driver", records, planned=planned)
    assert [(f.summary.split()[1], f.severity) for f in findings] == found
    for finding in findings:
        role = finding.summary.split()[1]
        assert f"{role}_state: absent" in finding.remedy
        assert finding.found == f"/var/lib/gpu-fleet/owned/{role}.json"


def test_the_last_roles_may_always_go():
    assert find_not_removed("validation", list(HOST_ROLES), planned=False) == ()


def test_playbook_uninstall_has_the_order():
    tasks = yaml.safe_load((ROOT / "playbooks/uninstall.yml").read_text())[1]["tasks"]
    (order,) = [task["loop"] for task in tasks if "loop" in task]
    assert sorted(order) == sorted(HOST_ROLES)
    for role, rows in EARLIER.items():
        assert all(order.index(row.role) < order.index(role) for row in rows)
