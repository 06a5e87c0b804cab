# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How modules end that plan packages and leave the doing to builtin modules. Private to this collection."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ._act.ownership import Ownership
from ._plan.packages import packages_of
from ._plan.work import Work


def planned_result(work: Work) -> dict[str, Any]:
    """The result of a plan, with the names of packages by what happens to them."""
    result = {"changed": work.plan.changed, "diff": work.plan.diff(), **work.result()}
    result["plan"]["packages"] = packages_of(work.plan.steps)
    return result


def end_planned(module: AnsibleModule, work: Work, result: dict[str, Any], record: Ownership) -> None:
    """Ends the module: with what blocks the plan, or with its result after ``record`` has what will be ours.

    Nothing is recorded in check mode.
    """
    if work.plan.blocked:
        module.fail_json(msg=work.plan.message(), **{**result, "changed": False})
    if not module.check_mode:
        try:
            record.take(work.objects, gone=work.gone)
        except OSError as error:
            module.fail_json(msg=str(error), **{**result, "changed": False})
    module.exit_json(**result)
