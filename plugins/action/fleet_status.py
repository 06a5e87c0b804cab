# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes, shows and writes the report of a run, on the controller."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.gpu.fleet.plugins.module_utils._act.files import write_atomically
from ansible_collections.gpu.fleet.plugins.module_utils._plan.report import (
    bad_hosts,
    make_report,
    report_lines,
    with_operands,
)

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "results": {"type": "dict", "required": True},
    "operands": {"type": "dict", "default": {}},
    "cluster": {"type": "dict", "default": {}},
    "cluster_reason": {"type": "str", "default": ""},
    "verb": {"type": "str", "choices": ["site", "status", "plan", "uninstall"], "default": "site"},
    "roles": {"type": "list", "elements": "str", "default": []},
    "report_path": {"type": "str", "default": ""},
    "display": {"type": "bool", "default": True},
}


class ActionModule(ActionBase):
    """Nothing is sent to a host."""

    _supports_check_mode = True
    _requires_connection = False
    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The module's documented result."""
        result = super().run(tmp, task_vars)
        _checked, given = self.validate_argument_spec(ARGUMENTS)
        report = make_report(
            given["hosts"],
            with_operands(given["hosts"], given["results"], given["operands"]),
            cluster=given["cluster"],
            cluster_reason=given["cluster_reason"],
            verb=given["verb"],
            roles=given["roles"],
        )
        lines = report_lines(report)
        if given["display"]:
            self._display.display("\n".join(["", *lines, ""]))
        if given["report_path"]:
            result.update(write_report(given["report_path"], report))
        result.update(
            changed=False,
            states=report["states"],
            conditions=report["conditions"],
            bad=bad_hosts(report),
            report=report,
            table=lines,
        )
        return result


def write_report(path: str, report: dict[str, Any]) -> dict[str, Any]:
    """Writes the JSON file; empty, or what fails the task."""
    document = {"generated_at": datetime.now(timezone.utc).isoformat(timespec="seconds"), **report}
    try:
        write_atomically(os.path.abspath(path), (json.dumps(document, indent=1) + "\n").encode())
    except OSError as error:
        return {
            "failed": True,
            "msg": f"report_path {path} cannot be written: {error.strerror}; set gpu_fleet_report_path",
        }
    return {}
